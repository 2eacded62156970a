"""Is the page safe? It goes to the store and to the index side by side, and is acked when both have it, or have it
spooled. Neither waits for the other, and neither stops the reactor.
"""

import asyncio
import hashlib
import logging
import time
from datetime import date
from functools import partial
from typing import Any, NamedTuple, Self

from msgspec.structs import replace
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured

from crawler.delivery.batching import Batcher, BatchLimits
from crawler.delivery.outlet import Outlet
from crawler.delivery.spool import SpoolFull
from crawler.errors import EngineError
from crawler.frontier import engine_hooks
from crawler.frontier.clock import Clock
from crawler.frontier.duplicates import Duplicates, Fingerprint, Found
from crawler.frontier.leases import GoBack, lease_of
from crawler.frontier.recrawl import UNCHANGED
from crawler.frontier.scheduler import Scheduler
from crawler.items import PageItem
from crawler.pipelines.config import KeepConfig
from crawler.pipelines.documents import make_document
from crawler.pipelines.outlets import Entry, make_index_outlet, make_store_outlet
from crawler.search.document import Document
from crawler.search.opening import open_index
from crawler.storage.opening import build_store
from crawler.storage.page import Page, PageInfo, page_id, page_key
from crawler.urls import canonicalise, fingerprint

logger = logging.getLogger(__name__)

DAY_MS = 86_400_000
EPOCH = date(1970, 1, 1).toordinal()
SET_COOKIE = b"Set-Cookie"  # the one field whose lines are no list, RFC 9110 section 5.3: it has a comma in its dates
UNSIGNED = (1 << 64) - 1
_LOOK_LIMITS = BatchLimits(count=64, bytes=1 << 30, seconds=0.02, at_once=2)


class Kept(NamedTuple):
    """A page on its way."""

    page: Page
    document: Document
    anchors: list[tuple[str, str]]
    fingerprint: Fingerprint


class KeepPipeline:
    def __init__(self, crawler: Crawler, config: KeepConfig) -> None:
        self._crawler = crawler
        self._config = config
        self._store_engine = build_store(config.store) if config.store_pages else None
        self._index_engine = open_index(config.index) if config.index_pages else None
        self._store = make_store_outlet(self._store_engine, config.spool("store")) if self._store_engine else None
        self._index = None
        if self._index_engine is not None:
            self._index = make_index_outlet(self._index_engine, config.spool("index"), config.index_round_seconds)
        self._being_kept: dict[bytes, asyncio.Future[None]] = {}  # bodies, by hash
        self._clock: Clock | None = None
        self._looks: Batcher[Fingerprint, Found] | None = None
        self._keeps: Batcher[Fingerprint, None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        config = KeepConfig.from_settings(crawler.settings)
        if not config.store_pages and not config.index_pages:
            raise NotConfigured
        return cls(crawler, config)

    async def open_spider(self) -> None:
        engine = self._crawler.engine
        for outlet in (self._store, self._index):
            if outlet is not None:
                if engine is not None:
                    outlet.is_stopping = partial(engine_hooks.is_stopping, engine)
                await outlet.open()
        scheduler = engine.scheduler if engine else None
        if isinstance(scheduler, Scheduler):
            self._clock = Clock(scheduler.frontier)
            await self._clock.now_ms()
        if self._config.find_duplicates and isinstance(scheduler, Scheduler):
            duplicates = Duplicates(scheduler.frontier, self._config.kept_in)
            persist = scheduler.frontier.connection.persist

            async def keep(pages: list[Fingerprint]) -> list[None]:
                await persist(lambda: duplicates.keep(pages), logger.warning)
                return [None] * len(pages)

            self._looks = Batcher(lambda pages: persist(lambda: duplicates.look(pages), logger.warning), _LOOK_LIMITS)
            self._keeps = Batcher(keep, _LOOK_LIMITS)

    async def process_item(self, item: Any) -> Any:
        if isinstance(item, PageItem) and not item.page.noindex and not item.get(UNCHANGED):
            try:
                now_ms = await self._clock.now_ms() if self._clock is not None else int(time.time() * 1000)
                await self._keep(self._prepare(item, now_ms))
            except SpoolFull as error:  # we are to stop, and there is no room for it: it is fetched again, later
                lease = lease_of(item.response.request)
                if lease is None:
                    raise
                lease.outcome = GoBack()
                raise DropItem(f"{item['url']} goes back to the frontier: {error}", log_level="DEBUG") from error
        return item

    async def close_spider(self) -> None:
        # Side by side: if both are away, the worker waits once for the patience of their clients.
        await asyncio.gather(*(self._close(outlet) for outlet in (self._store, self._index) if outlet is not None))
        for engine in (self._store_engine, self._index_engine):
            if engine is not None:
                await engine.close()

    async def _close(self, outlet: Outlet[Any]) -> None:
        if not await outlet.close():
            logger.warning("Pages wait for the %s: %s", outlet.name, outlet.waiting)
        for name, number in outlet.counts.items():
            if self._crawler.stats is not None:
                self._crawler.stats.set_value(f"{outlet.name}/{name}", number)

    # --- What is kept ----------------------------------------------------------------------------

    def _prepare(self, item: PageItem, now_ms: int) -> Kept:
        response, parsed, body = item.response, item.page, item.response.body
        url = canonicalise(response.url)
        number = url.fingerprint
        sha256 = hashlib.sha256(body).digest()
        headers = {}
        if self._config.keep_headers:
            headers = {
                name.decode("latin-1"): (b"\n" if name == SET_COOKIE else b", ").join(values).decode("latin-1")
                for name, values in response.headers.items()
            }
        info = PageInfo(
            id=page_id(number), url=url.text, crawl=self._config.crawl, fetched_at=now_ms, status=response.status,
            content_type=item["content_type"], charset=parsed.charset, sha256=sha256.hex(), body_bytes=len(body),
            depth=item["depth"], headers=headers,
        )  # fmt: skip
        canonical = page_id(fingerprint(item["canonical"])) if item["canonical"] else ""
        document = make_document(info, parsed, duplicate_of=canonical, main_text=self._config.main_text)
        anchors = [(page_id(target), text) for target, text in item.anchors if text]
        return Kept(
            Page(info, body),
            document,
            anchors,
            Fingerprint(number & UNSIGNED, now_ms // DAY_MS, sha256, document.simhash),
        )

    async def _keep(self, kept: Kept) -> None:
        # Two links to one page, such as / and /index.html, are often fetched together: the second waits until the first
        # is kept, and then links to it.
        body = kept.fingerprint.sha256
        first = self._being_kept.get(body)
        if first is not None:
            await asyncio.wait([first])
            await self._look_and_deliver(kept)
            return
        is_over = self._being_kept[body] = asyncio.get_running_loop().create_future()
        try:
            await self._look_and_deliver(kept)
        finally:
            del self._being_kept[body]
            is_over.set_result(None)

    async def _look_and_deliver(self, kept: Kept) -> None:
        found = await self._looks.put(kept.fingerprint) if self._looks is not None else Found()
        itself = (kept.fingerprint.id, kept.fingerprint.day)
        if found.same == itself and not self._config.appends:
            found = found._replace(same=None)  # fetched again on one day it is the same object, with a later time
        elif found.is_claimed_again and self._config.appends and await self._is_stored(kept.page.info):
            found = found._replace(same=itself)
        kept = _link(kept, found)
        await self._deliver(kept)
        if found.is_claimed and self._keeps is not None:
            await self._keeps.put(kept.fingerprint)

    async def _is_stored(self, info: PageInfo) -> bool:
        """By a worker that died before it said so. Asked after such a crash only."""
        try:
            page = await self._store_engine.get(info.key) if self._store_engine is not None else None
        except EngineError:
            return False
        return page is not None and page.info.sha256 == info.sha256

    async def _deliver(self, kept: Kept) -> None:
        deliveries = []
        if self._store is not None:
            deliveries.append(self._store.put(kept.page, len(kept.page.body) + 500))
        if self._index is not None:
            entry = Entry(kept.document, kept.anchors)
            deliveries.append(self._index.put(entry, entry.size_bytes))
        # Both are waited for, so that the failure of one does not leave the other half way.
        for result in await asyncio.gather(*deliveries, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result


def _link(kept: Kept, found: Found) -> Kept:
    """An equal body is kept once; a similar text is kept, and says whom it is like."""
    page, document = kept.page, kept.document
    if found.same is not None:
        number, day = found.same
        other, key = page_id(number), page_key(date.fromordinal(EPOCH + day).isoformat(), page_id(number))
        page = Page(replace(page.info, same_as=key), b"")
        document = replace(document, html_key=key)
        if other != document.id:
            document = replace(document, duplicate_of=other)
    elif found.similar is not None:
        document = replace(document, similar_to=page_id(found.similar))
    return kept._replace(page=page, document=document)
