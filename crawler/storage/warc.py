"""How are pages kept as WARC files? One file per process and day, closed at a certain size, with an index beside it.

In a directory the files are written where they stay. For S3, which cannot append, they are written under DATA_DIR and
uploaded when they are full or the crawl ends; those of a process that died, by the next one that opens the store here.
Until then other machines do not see what is in them.
"""

import asyncio
import itertools
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from crawler.errors import Damaged, EngineError, EngineUnavailable
from crawler.storage import gzip_page
from crawler.storage.days import Days
from crawler.storage.disk_errors import explain
from crawler.storage.files import Files
from crawler.storage.layout import WARC, PageKey, check_id, check_info, is_day, read_page_key
from crawler.storage.objects import Objects
from crawler.storage.page import Page, PageInfo
from crawler.storage.warc_file import WarcFile, adopt, find_files, remove_unnamed
from crawler.storage.warc_index import FINISHED, WARC_FILE, Entry, index_path, merge, read_line
from crawler.storage.warc_record import decode_record, encode_record
from crawler.storage.warc_shelf import Shelf, Volume

MAX_OPEN_FILES = 3  # one for a day; more only while old pages come in from a spool
RECENT_PAGES = 10_000
_INFOS_AT_ONCE = 1000
_MAX_HOPS = 4

logger = logging.getLogger(__name__)
_T = TypeVar("_T")


class WarcStore(Files):
    def __init__(
        self, objects: Objects, folder: Path, *, uploads: bool, sync: bool, max_bytes: int, waiting_bytes: int
    ) -> None:
        """``folder`` is where files are written: the store itself, or with ``uploads`` a place to wait in."""
        super().__init__(objects)
        self._folder = folder
        self._uploads = uploads
        self._sync = sync
        self._max_bytes = max_bytes
        self._waiting_bytes = waiting_bytes
        self._shelf = Shelf(objects if uploads else None, folder)
        self._days = Days(objects, WARC)
        self._writing = asyncio.Lock()
        self._files: dict[str, WarcFile] = {}
        self._full: list[WarcFile] = []
        self._recent: dict[tuple[str, str], PageInfo] = {}
        self._uploading: set[asyncio.Task[None]] = set()
        host = "".join(letter if letter.isalnum() else "-" for letter in socket.gethostname()[:40])
        self._worker = f"{host}-{os.getpid()}-{time.time_ns() // 1_000_000:x}"
        self._serial = itertools.count()

    async def open(self) -> None:
        await self.objects.open()
        for day_folder in await self._in_thread(lambda: sorted(self._folder.glob(f"{WARC}/*/"))):
            await asyncio.to_thread(remove_unnamed, day_folder)
            for path in await self._in_thread(lambda folder=day_folder: find_files(folder)):  # type: ignore[misc]
                if self._uploads or not index_path(path, FINISHED).exists():
                    await self._take_over(path)

    async def close(self) -> None:
        async with self._writing:
            await self._in_thread(self._finish_all)
        self._start_uploads()
        await asyncio.gather(*self._uploading)
        for file in self._full:  # what could not be uploaded is left to the next process
            file.release()
        self._full.clear()
        await super().close()

    # --- Writing -----------------------------------------------------------------------------

    async def put(self, pages: Sequence[Page]) -> None:
        keys = [check_info(page.info) for page in pages]
        self._require_room()
        async with self._writing:
            await self._in_thread(lambda: self._write(pages, keys))
        self._days.expect(key.day for key in keys)
        self._start_uploads()

    def _require_room(self) -> None:
        """While S3 is away, or slower than the crawl, the files here grow to a bound; then the spool does, and then the
        crawl waits."""
        waiting_bytes = sum(file.size for file in self._full)
        if waiting_bytes > self._waiting_bytes + self._max_bytes:  # one is on its way at any time
            self._start_uploads()
            raise EngineUnavailable(
                f"{waiting_bytes:,} bytes of WARC files wait in {self._folder} to be uploaded, more than SPOOL_BYTES"
            )

    def _find_original(self, info: PageInfo) -> PageInfo | None:
        """For the WARC alone, whose revisit records name it if they can. Where it is not at hand they do not."""
        key = read_page_key(info.same_as) if info.same_as else None
        if key is None:
            return None
        recent = self._recent.get((key.id, info.sha256))
        if recent is not None:
            return recent
        try:
            entries = self._shelf.find_finished(key.day, key.id)
        except Damaged as error:  # whoever reads the page is told; this one can be written
            logger.warning("%s", error)
            return None
        same = (entry.page for entry in entries if entry.page.sha256 == info.sha256 and not entry.page.same_as)
        return next(same, None)

    def _remember(self, info: PageInfo) -> None:
        self._recent[info.id, info.sha256] = replace(info, headers={})  # which may be large
        if len(self._recent) > RECENT_PAGES:
            del self._recent[next(iter(self._recent))]

    def _write(self, pages: Sequence[Page], keys: Sequence[PageKey]) -> None:
        self._forget_removed()
        batches: dict[str, dict[tuple[str, int], tuple[PageInfo, bytes]]] = {}
        for page, key in zip(pages, keys, strict=True):
            file = self._files.get(key.day)
            if file is None or not file.holds(page.info):
                info = gzip_page.complete(page)
                if not info.same_as:
                    self._remember(info)
                record = encode_record(info, page.body, self._find_original(info))
                batches.setdefault(key.day, {})[info.id, info.fetched_at] = (info, record)
        for day, records in batches.items():
            self._file_for(day).write(records.values())
            if self._files[day].size >= self._max_bytes:
                self._finish(day)

    def _file_for(self, day: str) -> WarcFile:
        if day not in self._files:
            if len(self._files) >= MAX_OPEN_FILES:
                self._finish(min(self._files))
            path = self._folder / WARC / day / f"{self._worker}-{next(self._serial):05}{WARC_FILE}"
            self._files[day] = WarcFile(path, sync=self._sync)
        return self._files[day]

    def _finish(self, day: str) -> None:
        file = self._files.pop(day)
        try:
            file.finish()
        except OSError as error:
            # What was written is safe, and must not be written again: whoever opens the store next finishes the index.
            logger.warning("the index of %s is not finished: %s", file.path, error)
            file.release()
            return
        if self._uploads and file.path.exists():
            self._full.append(file)
        else:
            file.release()

    def _forget_removed(self) -> None:
        """Somebody removed them: what is written there is gone when they are closed."""
        for day in [day for day, file in self._files.items() if file.is_removed]:
            logger.warning("%s was removed while it was written; another is begun", self._files[day].path)
            self._files.pop(day).release()

    def _finish_all(self) -> None:
        self._forget_removed()
        for day in list(self._files):
            self._finish(day)

    # --- Uploading ---------------------------------------------------------------------------

    def _start_uploads(self) -> None:
        while self._full and not self._uploading:
            task = asyncio.create_task(self._upload_full())
            self._uploading.add(task)
            task.add_done_callback(self._uploading.discard)

    async def _upload_full(self) -> None:
        while self._full:
            try:
                await self._upload(self._full[0].path)
            except EngineError as error:
                logger.warning("%s stays here for now: %s", self._full[0].path, error)
                return
            except FileNotFoundError:  # if only its index was, the next process makes that anew, and uploads both
                logger.warning("%s was removed before it was uploaded", self._full[0].path)
            self._full.pop(0).release()

    async def _upload(self, path: Path) -> None:
        """The index last: where it is, the file is whole. Both stay here until both are there."""
        index = index_path(path, FINISHED)
        for one in (path, index):
            await self.objects.upload(one, str(one.relative_to(self._folder)))
        for one in (index, path):
            await self._in_thread(one.unlink)

    async def _take_over(self, path: Path) -> None:
        lock = await self._in_thread(lambda: adopt(path))
        if lock is None:
            return
        try:
            if self._uploads:
                await self._upload(path)
        finally:
            os.close(lock)

    # --- Reading -----------------------------------------------------------------------------

    async def get(self, key: str) -> Page | None:
        found = read_page_key(key)
        return None if found is None else await self._get(found)

    async def find(self, id_: str) -> Page | None:
        check_id(id_)
        for day in await self._find_days():
            page = await self._get(PageKey(day, id_, ""))
            if page is not None:
                return page
        return None

    async def pages(self, *, crawl: str = "", since_day: str = "") -> AsyncIterator[PageInfo]:
        for day in reversed(await self._find_days()):
            if day < since_day:
                continue
            volumes = await self._shelf.volumes(day)
            infos = _read_infos(merge([volume.lines for volume in volumes]))
            while some := await asyncio.to_thread(lambda: list(itertools.islice(infos, _INFOS_AT_ONCE))):  # noqa: B023
                for info in some:
                    if not crawl or info.crawl == crawl:
                        yield info

    async def _find_days(self) -> list[str]:
        days = set(await self._days.newest_first())
        if self._uploads:
            days.update(path.name for path in await self._in_thread(lambda: list(self._folder.glob(f"{WARC}/*/"))))
        return sorted(filter(is_day, days), reverse=True)

    async def _get(self, key: PageKey) -> Page | None:
        entries = await self._entries(key)
        if not entries:
            return None
        volume, entry = max(entries, key=lambda one: one[1].page.fetched_at)
        return await self._read(volume, entry, _MAX_HOPS)

    async def _read(self, volume: Volume, entry: Entry, hops: int) -> Page:
        if not entry.page.same_as:
            member = await self._shelf.read(volume, entry)
            return await asyncio.to_thread(decode_record, member, entry.page, f"{volume.name} at {entry.offset}")
        key = read_page_key(entry.page.same_as)
        if key is not None and hops:
            for other_volume, other in await self._entries(key):
                is_itself = other.page.fetched_at == entry.page.fetched_at and other.page.id == entry.page.id
                if other.page.sha256 == entry.page.sha256 and not is_itself:
                    original = await self._read(other_volume, other, hops - 1)
                    return Page(entry.page, original.body)
        raise Damaged(f"{entry.page.key} is a duplicate of {entry.page.same_as}, which is not kept with that body")

    async def _entries(self, key: PageKey) -> list[tuple[Volume, Entry]]:
        """Every version of a page of that day; those with a body first."""
        volumes = await self._shelf.volumes(key.day)
        found = await self._in_thread(
            lambda: [(volume, read_line(line)) for volume in volumes for line in volume.find(key.id)]
        )
        found = [one for one in found if one[1].page.sha256.startswith(key.aside)]
        return sorted(found, key=lambda one: bool(one[1].page.same_as))

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise explain(error, self._folder) from error


def _read_infos(lines: Iterator[bytes]) -> Iterator[PageInfo]:
    for line in lines:
        try:
            yield read_line(line).page
        except Damaged as error:
            logger.warning("left out: %s", error)
