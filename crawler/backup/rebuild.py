"""How is the index made anew from the stored pages? They are listed, read in the order of their fetch, and written.

What is read lies in a file until all is read, because what links call a page is on other pages. Nothing is changed
before that. Then documents are written over what is there, and at last those are removed whose page is not in the
store: a search finds something at any time, and a rebuild that was interrupted leaves nothing worse than it was.
"""

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from crawler.backup.pages import Listed, PageList
from crawler.backup.parts import PartWriter, read_batches
from crawler.backup.progress import Progress
from crawler.backup.reading import PageReader, Reading
from crawler.backup.similar import SimilarPages
from crawler.backup.workroom import forget_unfinished, note_unfinished
from crawler.errors import Damaged, EngineRefused, EngineUnavailable
from crawler.robots.directives import Obedience
from crawler.search.anchors import AnchorBook
from crawler.search.document import Document
from crawler.search.index import Index, Poison
from crawler.storage.page import Page, PageInfo
from crawler.storage.store import Store

PAGES_AT_ONCE = 32
PAGES_BYTES_AT_ONCE = 32 * 1024 * 1024
LISTED_AT_ONCE = 1000
DELETED_AT_ONCE = 500
MOST_TOLD = 20  # pages that cannot be read, or are rejected, by name


@dataclass
class Rebuilt:
    documents: int = 0
    removed: int = 0  # documents whose page is not in the store, or asks not to be kept
    unreadable: int = 0  # stored pages; their documents stay as they are
    rejected: int = 0
    examples: list[Poison] = field(default_factory=list)


class Rebuild:
    def __init__(
        self, index: Index, store: Store, room: Path, progress: Progress, *,
        crawl: str = "", obey: Obedience, main_text: bool = False, find_similar: bool = True, clear_first: bool = False,
    ) -> None:  # fmt: skip
        """``room`` is empty, and has place for the texts of all pages, gzipped. ``index`` is open, or has to be cleared
        before it can be used, being of another version.
        """
        self._index = index
        self._store = store
        self._room = room
        self._crawl = crawl
        self._progress = progress
        self._started_ms = int(time.time() * 1000)
        self._pages = PageList(room / "pages.sqlite")
        self._similar = SimilarPages(room / "similar.sqlite") if find_similar else None
        self._book = AnchorBook(room / "anchors.sqlite")
        self._reader = PageReader(self._pages, self._similar, obey, main_text=main_text)
        self._documents = room / "documents.jsonl.gz"
        self._clear_first = clear_first
        self._result = Rebuilt()

    async def run(self) -> Rebuilt:
        await self._index.delete([])  # of an engine with one writer: asks to be it, before hours of work are in vain
        try:
            await self._list()
            await self._read()
            if self._clear_first:
                note_unfinished(self._room, "scrapy search --rebuild")
                await self._index.clear()
            await self._write()
            await self._remove()
            await self._index.refresh()
            if not self._crawl:
                forget_unfinished(self._room)
        except sqlite3.Error as error:
            raise EngineUnavailable(
                f"{self._room} cannot be written: {error}; is the disk full? Rebuild again"
            ) from error
        except asyncio.CancelledError:
            self._progress.say("interrupted: what was found before is still found. Run scrapy search --rebuild again.")
            raise
        finally:
            self._progress.end()
            self._pages.close()
            self._book.close()
            if self._similar is not None:
                self._similar.close()
        return self._result

    async def _list(self) -> None:
        waiting: list[PageInfo] = []
        number = 0
        async for info in self._store.pages(crawl=self._crawl):
            waiting.append(info)
            number += 1
            if len(waiting) >= LISTED_AT_ONCE:
                await asyncio.to_thread(self._pages.add, waiting)
                waiting = []
                self._progress.tell("pages listed", number)
        await asyncio.to_thread(self._pages.add, waiting)
        if not number:
            which = f" of the crawl {self._crawl!r}" if self._crawl else ""
            raise EngineRefused(
                f"there are no pages{which} in the store, so the index was left as it is; check STORE_URL and --crawl"
            )

    async def _read(self) -> None:
        total = await asyncio.to_thread(self._pages.count)
        done = 0
        with self._documents.open("wb") as file:
            writer = PartWriter(file)
            batches = self._pages.in_order(PAGES_AT_ONCE, PAGES_BYTES_AT_ONCE)
            while batch := await asyncio.to_thread(next, batches, None):
                found = await asyncio.gather(*(self._get(listed) for listed in batch))
                await asyncio.to_thread(self._take, [page for page in found if page is not None], writer)
                done += len(batch)
                self._progress.tell("pages read", done, total)
            await asyncio.to_thread(writer.finish)

    async def _get(self, listed: Listed) -> Page | None:
        try:
            page = await self._store.get(listed.key)
        except Damaged as error:
            self._tell_unreadable(str(error))
            return None
        if page is None:
            self._tell_unreadable(f"{listed.key} is gone")
            return None
        # Another crawl has fetched it again that day: then the index has that, and it is no page of this crawl.
        return None if self._crawl and page.info.crawl != self._crawl else page

    def _tell_unreadable(self, what: str) -> None:
        self._result.unreadable += 1
        if self._result.unreadable <= MOST_TOLD:
            self._progress.say(f"left as it was: {what}")

    def _take(self, pages: Sequence[Page], writer: PartWriter) -> None:
        readings: list[tuple[Page, Reading]] = [(page, self._reader.read(page)) for page in pages]
        self._pages.leave_out(page.info.id for page, reading in readings if reading.document is None)
        self._book.add(anchor for _, reading in readings for anchor in reading.anchors)
        writer.add([reading.document for _, reading in readings if reading.document is not None])

    async def _write(self) -> None:
        batches = read_batches(self._documents, "what was read of the pages")
        while batch := await asyncio.to_thread(next, batches, None):
            documents = await asyncio.to_thread(self._add_anchors, batch)
            poison = await self._index.write(documents)
            self._result.rejected += len(poison)
            self._result.examples += poison[: MOST_TOLD - len(self._result.examples)]
            self._result.documents += len(documents) - len(poison)
            self._progress.tell("documents written", self._result.documents)

    def _add_anchors(self, documents: Sequence[Document]) -> list[Document]:
        texts = self._book.texts([document.id for document in documents])
        return [replace(document, anchors=texts.get(document.id, "")) for document in documents]

    async def _remove(self) -> None:
        waiting: list[str] = []
        await self._index.refresh()
        async for document in self._index.documents():
            # A crawl may go on beside us: what it has fetched since we began is not ours to judge.
            if document.fetched_at < self._started_ms and self._crawl in ("", document.crawl):
                waiting.append(document.id)
            if len(waiting) >= DELETED_AT_ONCE:
                await self._remove_some(waiting)
                waiting = []
        await self._remove_some(waiting)

    async def _remove_some(self, ids: list[str]) -> None:
        known = await asyncio.to_thread(self._pages.known, ids)
        gone = [id_ for id_ in ids if id_ not in known]
        if gone:
            await self._index.delete(gone)
            self._result.removed += len(gone)
