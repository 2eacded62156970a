"""How does the index get into the store? Part by part, and the manifest last: without that there is no backup."""

import asyncio
import contextlib
import hashlib
from datetime import UTC, datetime

import msgspec

from crawler.backup.catalogue import clear_unfinished, delete_backup, mark_running
from crawler.backup.manifest import FOLDER, FORMAT, MANIFEST, RUNNING, Manifest, Part, key_of, new_version, part_name
from crawler.backup.parts import BATCH_BYTES, DOCUMENTS_AT_ONCE, PART_BYTES, PartWriter
from crawler.backup.progress import Progress
from crawler.errors import EngineError, EngineUnavailable
from crawler.search.document import Document
from crawler.search.index import Index
from crawler.storage.store import Store


async def make_backup(index: Index, store: Store, progress: Progress, part_bytes: int = PART_BYTES) -> Manifest:
    for version in await clear_unfinished(store):
        progress.say(f"removed {version}, a backup that was never finished")
    await index.refresh()
    stats = await index.stats()
    version = new_version()
    try:
        await mark_running(store, version)
        parts = await _write_parts(index, store, version, part_bytes, progress, stats.documents)
        manifest = Manifest(
            format=FORMAT, version=version, made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            engine=stats.engine, documents=sum(part.documents for part in parts), parts=parts,
        )  # fmt: skip
        # A crawl adds documents and removes none, so fewer than there were cannot be all.
        if manifest.documents < stats.documents:
            raise EngineUnavailable(
                f"only {manifest.documents:,} of {stats.documents:,} documents could be read: no backup was made; is "
                "the index being cleared, or a part of it away?"
            )
        kept = set(await store.list_files(f"{FOLDER}/{version}/"))
        if missing := [part.name for part in parts if key_of(version, part.name) not in kept]:
            raise EngineUnavailable(f"{missing[0]} of {version} is gone: did somebody clear it away? Make another")
        if not await store.put_file(key_of(version, MANIFEST), msgspec.json.encode(manifest), only_if_absent=True):
            raise EngineUnavailable(f"there is a backup {version} already; make another")
    except BaseException:
        # If this fails as well, or we are killed, the next backup does it.
        with contextlib.suppress(EngineError):
            await delete_backup(store, version)
        raise
    finally:
        progress.end()
    with contextlib.suppress(EngineError):  # the backup is there; the mark means nothing any more
        await store.delete_file(key_of(version, RUNNING))
    return manifest


async def _write_parts(
    index: Index, store: Store, version: str, part_bytes: int, progress: Progress, total: int
) -> list[Part]:
    parts: list[Part] = []
    writer = PartWriter()
    waiting: list[Document] = []
    waiting_bytes = 0

    async def end_part() -> None:
        nonlocal writer
        if not writer.documents:
            return
        data = await asyncio.to_thread(writer.finish)
        sha256 = await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())
        part = Part(part_name(len(parts)), len(data), sha256, writer.documents)
        await store.put_file(key_of(version, part.name), data)
        await mark_running(store, version)
        parts.append(part)
        writer = PartWriter()

    async for document in index.documents():
        waiting.append(document)
        waiting_bytes += len(document.content)
        if len(waiting) >= DOCUMENTS_AT_ONCE or waiting_bytes >= BATCH_BYTES:
            await asyncio.to_thread(writer.add, waiting)
            waiting, waiting_bytes = [], 0
            progress.tell("documents backed up", sum(part.documents for part in parts) + writer.documents, total)
            if writer.text_bytes >= part_bytes:
                await end_part()
    if waiting:
        await asyncio.to_thread(writer.add, waiting)
    await end_part()
    return parts
