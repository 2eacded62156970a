"""How does a backup become an index again, perhaps of another engine? Checked whole, before anything is changed.

The parts are copied to this machine as they are checked, so that a store that goes away later does no harm.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from crawler.backup.catalogue import choose_backup
from crawler.backup.manifest import Manifest, Part, key_of
from crawler.backup.parts import read_batches, read_documents
from crawler.backup.progress import Progress
from crawler.backup.workroom import forget_unfinished, note_unfinished
from crawler.errors import Damaged, EngineUnavailable
from crawler.search.index import Index, Poison
from crawler.storage.store import Store

MOST_TOLD = 20  # rejected documents that are named


class Restored(NamedTuple):
    manifest: Manifest
    documents: int
    rejected: int
    examples: Sequence[Poison]


async def restore_backup(index: Index, store: Store, version: str, room: Path, progress: Progress) -> Restored:
    """``room`` is empty, and has place for the backup. ``index`` is open, or of another version."""
    manifest = await choose_backup(store, version)
    command = f"scrapy search --restore {manifest.version}"
    await index.delete([])  # of an engine with one writer: asks to be it, before hours of work are in vain
    try:
        for number, part in enumerate(manifest.parts, 1):
            await _fetch(store, manifest.version, part, room)
            progress.tell(f"parts of {manifest.version} checked", number, len(manifest.parts))
        progress.say(f"{manifest.version} is whole: {manifest.documents:,} documents. Writing the index…")
        try:
            note_unfinished(room, command)
            restored = await _write(index, manifest, room, progress)
            forget_unfinished(room)
            return restored
        except EngineUnavailable as error:
            raise EngineUnavailable(f"{error}. The index is not whole now: run {command} again") from error
        except asyncio.CancelledError:
            progress.say(f"interrupted: the index is not whole. Run {command} again.")
            raise
    finally:
        progress.end()


async def _fetch(store: Store, version: str, part: Part, room: Path) -> None:
    key = key_of(version, part.name)
    data = await store.get_file(key)
    if data is None:
        raise _damaged(key, "it is missing")
    if len(data) != part.bytes:
        raise _damaged(key, f"it has {len(data)} bytes, and had {part.bytes} when it was made")

    def check() -> None:
        if hashlib.sha256(data).hexdigest() != part.sha256:
            raise _damaged(key, "its bytes are not those that were written (sha256)")
        path = room / part.name
        path.write_bytes(data)
        number = sum(1 for _ in read_documents(path, key))
        if number != part.documents:
            raise _damaged(key, f"it holds {number} documents, and {part.documents} are expected")

    await asyncio.to_thread(check)


def _damaged(key: str, what: str) -> Damaged:
    return Damaged(f"{key}: {what}. Nothing was changed; choose another backup, see scrapy search --backups")


async def _write(index: Index, manifest: Manifest, room: Path, progress: Progress) -> Restored:
    await index.clear()
    written = rejected = 0
    examples: list[Poison] = []
    for part in manifest.parts:
        batches = read_batches(room / part.name, part.name)
        while batch := await asyncio.to_thread(next, batches, None):
            poison = await index.write(batch)
            rejected += len(poison)
            written += len(batch) - len(poison)
            examples += poison[: MOST_TOLD - len(examples)]
            progress.tell("documents restored", written, manifest.documents)
        (room / part.name).unlink()
    await index.refresh()
    return Restored(manifest, written, rejected, examples)
