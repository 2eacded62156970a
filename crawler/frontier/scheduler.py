"""Scrapy's scheduler, on the frontier. Everything Scrapy asks is answered at once from this process's memory; the
worker's task (``worker.py``) keeps that memory and Redis in step.
"""

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred

from crawler.errors import BadUrl, CannotTravel
from crawler.frontier import engine_hooks
from crawler.frontier.blocking import BlockingRedis
from crawler.frontier.config import FrontierConfig
from crawler.frontier.dupefilter import DupeFilter
from crawler.frontier.entry import Entry, RequestFields, encode, identity, random_fingerprint, request_fingerprint
from crawler.frontier.frontier import Frontier
from crawler.frontier.leases import META_KEY, Death, Holdings, Lease, Redirect, Retry, lease_of
from crawler.frontier.messages import Link
from crawler.frontier.outbox import STRATEGY_META, Outbox
from crawler.frontier.reasons import Dead, Drop
from crawler.frontier.scope import Scope
from crawler.frontier.spider_log import SpiderLog
from crawler.frontier.start_urls import StartUrls
from crawler.frontier.strategy.links import Page
from crawler.frontier.strategy.runner import StrategyRunner
from crawler.frontier.travel import pack, unpack
from crawler.frontier.worker import RobotsKeeper, Worker
from crawler.urls import Url, canonicalise

logger = logging.getLogger(__name__)

SITEMAP_CALLBACK = "parse_sitemap"
SITEMAP_META = "sitemap"  # the request is for a sitemap: how many others led to it
SITEMAP_CLASS = "medium"
SITEMAP_BYTES = 50 * 1024 * 1024  # as the protocol allows, decoded


class Scheduler(BaseScheduler):
    frontier: Frontier
    worker: Worker
    outbox: Outbox

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.config = FrontierConfig.from_settings(crawler.settings)
        filter_class = load_object(crawler.settings["DUPEFILTER_CLASS"])
        self._filter: DupeFilter = build_from_crawler(filter_class, crawler)
        self._strategy = StrategyRunner.from_settings(crawler.settings)
        self._scope = Scope.from_config(self.config)
        self._holdings = Holdings()
        self._spider_log: SpiderLog | None = None
        self._spider: Spider
        connect = crawler.signals.connect
        connect(self._spider_opened, signals.spider_opened)
        connect(self._spider_idle, signals.spider_idle)
        connect(self._left_downloader, signals.request_left_downloader)
        connect(self._response_received, signals.response_received)
        connect(self._spider_error, signals.spider_error)
        connect(self._item_error, signals.item_error)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    # --- Opening and closing ---------------------------------------------------------------------

    def open(self, spider: Spider) -> Deferred[None]:
        self._spider = spider
        return deferred_from_coro(self._open(spider))

    async def _open(self, spider: Spider) -> None:
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101  it opens us
        settings = self._crawler.settings
        self.frontier = await Frontier.open(self.config)
        self.outbox = Outbox(self.frontier, self._filter, self._scope, self._strategy, self._holdings)
        if self.config.spider_log:
            self._spider_log = SpiderLog(self.frontier)
        room = settings.getint("CONCURRENT_REQUESTS") + self.config.lease_ahead
        worker = Worker(self.frontier, self.outbox, self._holdings, self._scope, self._find_start_urls(spider), room)
        worker.spider_log = self._spider_log
        worker.wake_engine = lambda: engine_hooks.wake(engine)
        worker.is_stopping = lambda: engine_hooks.is_stopping(engine)
        worker.on_error = self._fail
        if self.config.follow_sitemaps and hasattr(spider, SITEMAP_CALLBACK):
            worker.on_sitemap = self.add_sitemap
        await worker.open()
        self.worker = worker
        engine_hooks.watch_finished(engine, self._request_finished)

    def _find_start_urls(self, spider: Spider) -> StartUrls:
        key = getattr(spider, "redis_key", None) or self.config.start_urls_key % {"name": spider.name}
        make_request = getattr(spider, "make_request_from_data", None)
        if make_request is None:
            return StartUrls(key, self.config.start_urls_batch)

        def read(entry: bytes) -> Sequence[Link]:
            made = make_request(entry)
            requests = [made] if isinstance(made, Request) else made if isinstance(made, Iterable) else []
            return [self._link(request) for request in requests]

        server = getattr(spider, "server", None)
        if isinstance(server, BlockingRedis):
            server.use_data_dir(self.config.data_dir)
        # A scrapy-redis spider would take entries off the list itself, and lose them if it died then.
        spider.next_requests = lambda: iter(())  # type: ignore[attr-defined]
        batch = getattr(spider, "redis_batch_size", None) or self.config.start_urls_batch
        return StartUrls(key, batch, read)

    def close(self, reason: str) -> Deferred[None]:
        return deferred_from_coro(self._close())

    async def _close(self) -> None:
        if not hasattr(self, "worker"):  # it never opened, and why is being told
            self._strategy.close()
            return
        try:
            await self.worker.close()
        finally:
            self._strategy.close()
            stats = self._crawler.stats
            if stats is not None:
                stats.set_value("frontier/bloom_false_positives", self.outbox.false_positives)
                stats.set_value("frontier/pages", self.outbox.pages)
            await self.frontier.close()

    def _fail(self) -> None:
        engine = self._crawler.engine
        if engine is not None:
            deferred_from_coro(engine.close_spider_async(reason="frontier_error"))

    def use_robots(self, robots: RobotsKeeper) -> None:
        self.worker.robots = robots

    # --- What the engine asks --------------------------------------------------------------------

    def has_pending_requests(self) -> bool:
        return self.worker.has_buffered

    def next_request(self) -> Request | None:
        while (lease := self.worker.take()) is not None:
            try:
                request = unpack(lease.entry.url, lease.entry.request, self._spider)
            except ValueError as error:
                logger.error("%s cannot be fetched: %s", lease.entry.url, error)
                lease.outcome = Death(Dead.POISONED, str(error))
                self._end(lease)
                continue
            self.worker.engine_is_idle = False
            request.meta["depth"] = lease.entry.depth
            request.meta[META_KEY] = lease
            return request
        return None

    def enqueue_request(self, request: Request) -> bool:
        self.worker.engine_is_idle = False
        lease = lease_of(request)
        # After a death it comes from an errback, and is new: the middlewares had their chance.
        is_dead = lease is not None and isinstance(lease.outcome, Death)
        if lease is not None and not lease.is_answered and not lease.is_finished and not is_dead:
            return self._enqueue_again(request, lease)
        try:
            link = self._link(request)
        except CannotTravel as error:
            logger.error("%s: %s", request.url, error)
            self._drop(Drop.CANNOT_TRAVEL)
            return False
        except BadUrl as error:
            logger.warning("%s", error)
            self._drop(error.reason)
            return False
        accepted = self.outbox.add_link(link)
        self.worker.note_news()
        return accepted

    def _enqueue_again(self, request: Request, lease: Lease) -> bool:
        """A downloader middleware answered with a request instead of a response: a retry, or a redirect."""
        if lease.outcome is not None:
            return True
        try:
            if request.url == lease.entry.url or canonicalise(request.url).text == lease.entry.url:
                delays = self.config.retry_delays
                lease.outcome = Retry(delays[min(lease.entry.attempt, len(delays) - 1)] if delays else 0.0)
            else:
                fields = pack(request, self._spider) if lease.entry.request is not None else None
                lease.outcome = Redirect(request.url, fields)
        except (BadUrl, CannotTravel) as error:
            logger.error("%s: %s", request.url, error)
            lease.outcome = Death(Dead.BAD_REDIRECT, str(error))
        return True

    def _link(self, request: Request) -> Link:
        url = canonicalise(request.url)
        self._scope.check_seed(url)
        fingerprint = random_fingerprint() if request.dont_filter else request_fingerprint(request)
        depth = request.meta.get("depth", 0)
        entry = Entry(url=request.url, depth=depth, request=pack(request, self._spider))
        priority = "high" if request.priority > 0 else "low" if request.priority < 0 else "medium"
        if depth == 0:
            self._scope.add_seed_host(url.host)
        raw = encode(entry, identity(fingerprint), url.host)
        return Link(url.host, priority, float(request.priority), fingerprint, raw)

    def _drop(self, reason: str) -> None:
        self.outbox.drops[reason] += 1
        self.worker.note_news()

    # --- What spiders say ------------------------------------------------------------------------

    def add_links(self, response: Response, links: Sequence[Url]) -> list[int]:
        """The links of a page, as URLs: no Request is made for a link that may never be fetched. Answers the
        fingerprints of those that this worker sees for the first time.
        """
        depth = response.meta.get("depth", 0)
        if self._strategy.is_fast:
            page = Page(response.url, response.status, depth)
        else:
            headers = dict(response.headers)
            page = Page(
                response.url, response.status, depth, response.body, headers, response.meta.get(STRATEGY_META, {})
            )
        new = self.outbox.add_links(page, links)
        if self._spider_log is not None:
            self._spider_log.add(page, links)
        self.worker.note_news()
        return new

    def add_sitemap(self, url: str, level: int = 0) -> None:
        """A sitemap that robots.txt, or at a higher level another sitemap, names. It goes the way of every URL, and the
        spider's ``parse_sitemap`` gets it.
        """
        try:
            target = canonicalise(url)
        except BadUrl as error:
            self._drop(error.reason)
            return
        reason = self._scope.refuse_place(target, 0)
        if reason:
            self._drop(reason)
            return
        meta = {SITEMAP_META: level, "download_maxsize": SITEMAP_BYTES, "download_warnsize": 0}
        entry = Entry(url=target.text, request=RequestFields(callback=SITEMAP_CALLBACK, meta=meta))
        raw = encode(entry, identity(target.fingerprint), target.host)
        self.outbox.add_link(Link(target.host, SITEMAP_CLASS, 0.0, target.fingerprint, raw))
        self.worker.note_news()

    def is_in_scope(self, url: Url, depth: int) -> bool:
        return self._scope.refuse_link(url, depth) is None

    def count_drops(self, drops: dict[str, int]) -> None:
        self.outbox.drops.update(drops)

    # --- Signals ---------------------------------------------------------------------------------

    def _spider_opened(self) -> None:
        self.worker.start()

    def _spider_idle(self) -> None:
        self.worker.engine_is_idle = True
        reason = self.worker.ending.reason
        if reason is None:
            raise DontCloseSpider
        raise CloseSpider(reason)

    def _left_downloader(self, request: Request) -> None:
        lease = lease_of(request)
        if lease is not None:
            lease.visit.note_fetch(time.monotonic(), request.meta.get("download_latency", 0.0))

    def _response_received(self, response: Response, request: Request) -> None:
        lease = lease_of(request)
        if lease is not None:
            self._holdings.note_answer(lease)
            lease.is_page = 200 <= response.status < 300 and SITEMAP_META not in request.meta
            if lease.visit.failed < 0:
                lease.visit.failed = 0

    def _spider_error(self, failure: Any, response: Response | None) -> None:
        self._fail_lease(response, Dead.CALLBACK_ERROR, failure)

    def _item_error(self, failure: Any, response: Response | None) -> None:
        self._fail_lease(response, Dead.PIPELINE_ERROR, failure)

    def _fail_lease(self, response: Response | None, reason: str, failure: Any) -> None:
        lease = lease_of(response.request) if response is not None else None
        if lease is not None:
            lease.outcome = Death(reason, f"{failure.type.__name__}: {failure.value}")

    def _request_finished(self, request: Request) -> None:
        lease = lease_of(request)
        if lease is not None:
            self._end(lease)

    def _end(self, lease: Lease) -> None:
        self.outbox.end(lease)
        self.worker.note_news()
