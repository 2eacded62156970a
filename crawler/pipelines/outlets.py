"""How do pages get to the store, and documents to the index? Each over an outlet with a spool of its own."""

import asyncio
from collections.abc import Sequence

import msgspec

from crawler.delivery.batching import BatchLimits
from crawler.delivery.outlet import Outlet, Rejected, Route
from crawler.delivery.spool import Spool
from crawler.search.anchors import AnchorBook
from crawler.search.document import Document
from crawler.search.embedded import EmbeddedIndex
from crawler.search.index import Index
from crawler.storage.gzip_page import MAX_BODY_BYTES
from crawler.storage.page import Page
from crawler.storage.store import Store

# A page waits this long for others: a hundredth of what a polite host takes to answer.
STORE_LIMITS = BatchLimits(count=64, bytes=8 << 20, seconds=0.02, at_once=4)
INDEX_LIMITS = BatchLimits(count=200, bytes=8 << 20, seconds=0.05, at_once=2)
ANCHORS_FILE = "anchors.sqlite"
_encoder = msgspec.msgpack.Encoder()


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """What is spooled for the index."""

    document: Document
    anchors: list[tuple[str, str]]  # ids of pages that it links to, and what it calls them

    @property
    def size_bytes(self) -> int:
        return 500 + len(self.document.content)


def make_store_outlet(store: Store, spool: Spool) -> Outlet[Page]:
    async def send(pages: Sequence[Page]) -> list[Rejected]:
        # Offered with the others it would be refused for ever, and they with it.
        large = [page for page in pages if len(page.body) > MAX_BODY_BYTES]
        await store.put([page for page in pages if page not in large] if large else pages)
        return [
            Rejected(
                page.info.url,
                f"{len(page.body)} bytes are more than the {MAX_BODY_BYTES} that are kept; set DOWNLOAD_MAXSIZE lower",
            )
            for page in large
        ]

    unpack = msgspec.msgpack.Decoder(Page).decode
    return Outlet(Route("store", store.open, send, _encoder.encode, unpack), spool, STORE_LIMITS)


def make_index_outlet(index: Index, spool: Spool, round_seconds: float) -> Outlet[Entry]:
    book = AnchorBook(spool.directory / ANCHORS_FILE)

    def add_anchors(entries: Sequence[Entry]) -> list[Document]:
        book.add(anchor for entry in entries for anchor in entry.anchors)
        texts = book.texts([entry.document.id for entry in entries])
        return [msgspec.structs.replace(entry.document, anchors=texts.get(entry.document.id, "")) for entry in entries]

    async def send(entries: Sequence[Entry]) -> list[Rejected]:
        documents = await asyncio.to_thread(add_anchors, entries)
        return [Rejected(poison.document.url, poison.error) for poison in await index.write(documents)]

    route: Route[Entry] = Route("index", index.open, send, _encoder.encode, msgspec.msgpack.Decoder(Entry).decode)
    if isinstance(index, EmbeddedIndex):
        route = route._replace(take_turn=index.try_lock, end_turn=index.unlock)
    return Outlet(route, spool, INDEX_LIMITS, round_seconds)


async def deliver_waiting(index: Index, spool: Spool) -> bool:
    """What a process that was killed left for the embedded index is found by whoever searches next. Answers False if
    something still waits: another process is the writer, and will deliver it, or the index cannot be written.
    """
    if not isinstance(index, EmbeddedIndex) or await asyncio.to_thread(spool.is_empty):
        return True
    was_writer = index.is_writer
    try:
        return await make_index_outlet(index, spool, 1.0).drain()
    finally:
        if index.is_writer and not was_writer:
            await index.unlock()
