"""Which WARC files hold the pages of a day, and what is in them? Those in the folder here, and those on S3."""

import asyncio
import mmap
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from crawler.errors import Damaged, EngineUnavailable
from crawler.storage.files import MAX_FILE_BYTES
from crawler.storage.gzip_page import MAX_FILE_BYTES as MAX_RECORD_BYTES
from crawler.storage.layout import WARC
from crawler.storage.objects import Objects
from crawler.storage.warc_file import find_files
from crawler.storage.warc_index import (
    FINISHED,
    WARC_FILE,
    Entry,
    GrowingIndex,
    Lines,
    find_lines,
    read_finished,
    read_line,
)

INDEXES_KEPT = 64  # of files on S3, which never change; as mappings of nameless files, so they take no memory
_READ_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Volume:
    name: str  # the key of the WARC file
    lines: Lines
    is_here: bool

    def find(self, id_: str) -> Iterator[bytes]:
        return find_lines(self.lines, id_)


class Shelf:
    def __init__(self, remote: Objects | None, folder: Path) -> None:
        self._remote = remote
        self._folder = folder
        self._indexes: OrderedDict[str, Lines] = OrderedDict()
        self._looking = asyncio.Lock()  # an index that grows is read on by one at a time
        self._growing: dict[Path, GrowingIndex] = {}

    async def volumes(self, day: str) -> list[Volume]:
        # First those here: a file that is uploaded meanwhile is then seen twice, and not missed.
        async with self._looking:
            here = await asyncio.to_thread(self._volumes_here, day)
        if self._remote is None:
            return here
        names = {volume.name for volume in here}
        keys: set[str] = set()
        async for some in self._remote.list_keys(f"{WARC}/{day}"):
            keys.update(some)
        there = sorted(key for key in keys if key.endswith(WARC_FILE) and key not in names)
        return here + [Volume(key, await self._index(key, keys), False) for key in there]

    async def read(self, volume: Volume, entry: Entry) -> bytes:
        if not 0 < entry.length <= MAX_RECORD_BYTES:
            raise Damaged(f"the index of {volume.name} is damaged: a record of {entry.length} bytes")
        if volume.is_here:
            try:
                return await asyncio.to_thread(self._read_here, volume, entry)
            except FileNotFoundError:  # uploaded since
                if self._remote is None:
                    raise EngineUnavailable(f"{volume.name} was removed while it was read") from None
        assert self._remote is not None  # noqa: S101
        kept = await self._remote.read(volume.name, entry.length, start=entry.offset, whole=False)
        if kept is None:
            raise EngineUnavailable(f"{volume.name} was removed while it was read")
        return kept.data

    def find_finished(self, day: str, id_: str) -> list[Entry]:
        """Of the files here whose index is finished: cheap enough to ask while writing."""
        indexes = (read_finished(path) for path in find_files(self._folder / WARC / day))
        return [read_line(line) for lines in indexes if lines is not None for line in find_lines(lines, id_)]

    def _volumes_here(self, day: str) -> list[Volume]:
        volumes = []
        for path in find_files(self._folder / WARC / day):
            try:
                lines = read_finished(path)
                if lines is None:
                    lines, _ = self._growing.setdefault(path, GrowingIndex(path)).read()
                else:
                    self._growing.pop(path, None)
                volumes.append(Volume(f"{WARC}/{day}/{path.name}", lines, True))
            except FileNotFoundError:  # uploaded since it was listed
                self._growing.pop(path, None)
        return volumes

    def _read_here(self, volume: Volume, entry: Entry) -> bytes:
        with (self._folder / volume.name).open("rb") as file:
            file.seek(entry.offset)
            return file.read(entry.length)

    async def _index(self, key: str, keys: set[str]) -> Lines:
        if key not in self._indexes:
            assert self._remote is not None  # noqa: S101
            index_key = key.removesuffix(WARC_FILE) + FINISHED
            kept = await self._remote.read(index_key, MAX_FILE_BYTES) if index_key in keys else None
            self._indexes[key] = _map(kept.data) if kept is not None else await self._scan(self._remote, key)
            while len(self._indexes) > INDEXES_KEPT:
                self._indexes.popitem(last=False)
        self._indexes.move_to_end(key)
        return self._indexes[key]

    async def _scan(self, remote: Objects, key: str) -> Lines:
        """Somebody lost the index: the file is brought here and read through."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / key.rpartition("/")[2]
            with path.open("wb") as file:
                while kept := await remote.read(key, _READ_BYTES, start=file.tell(), whole=False):
                    if not kept.data:
                        break
                    await asyncio.to_thread(file.write, kept.data)
            lines, _ = await asyncio.to_thread(GrowingIndex(path).read)
        return _map(b"".join(lines))


def _map(data: bytes) -> Lines:
    if not data:
        return b""
    file: IO[bytes]
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
