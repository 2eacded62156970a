"""May this request go to its server now? The token bucket and the lock of a host for what the frontier did not hand
out: a robots.txt that is redirected to another host, requests of a spider on another scheduler, a browser's requests.

A request with a lease has both already, and passes.
"""

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest, NotConfigured
from scrapy.http import Response

from crawler.errors import BadUrl
from crawler.frontier.config import FrontierConfig
from crawler.frontier.frontier import Frontier, VisitReport
from crawler.frontier.leases import OpenVisit, lease_of
from crawler.frontier.workers import new_worker_id
from crawler.middlewares.retry_after import SLOW_DOWN, retry_after_seconds
from crawler.urls import canonicalise

logger = logging.getLogger(__name__)

VISIT_META = "visit"  # the visit that a request without a lease belongs to: a robots.txt under the host's own lock
HELD_META = "politeness"
LOCK_MARGIN_SECONDS = 5.0  # a lock for one request is not renewed: it lasts as long as the request may, and this longer


@dataclass(slots=True)
class Held:
    fence: str
    host: str
    began: float


class PolitenessMiddleware:
    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._patience_seconds = settings.getfloat("POLITENESS_WAIT_SECONDS")
        self._lock_seconds = settings.getfloat("DOWNLOAD_TIMEOUT") + LOCK_MARGIN_SECONDS
        self._retry_after_max_seconds = settings.getfloat("RETRY_AFTER_MAX_SECONDS")
        self._owner = new_worker_id()
        self._frontier: Frontier | None = None
        self._is_ours = False
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("POLITENESS_ENABLED"):
            raise NotConfigured
        return cls(crawler)

    async def _spider_opened(self, spider: Spider) -> None:
        scheduler: Any = self._crawler.engine.scheduler if self._crawler.engine else None
        self._frontier = getattr(scheduler, "frontier", None)
        if self._frontier is None:  # another scheduler, and the same hosts
            self._frontier = await Frontier.open(FrontierConfig.from_settings(self._crawler.settings))
            self._is_ours = True

    async def _spider_closed(self, spider: Spider) -> None:
        if self._is_ours and self._frontier is not None:
            await self._frontier.close()

    # --- In --------------------------------------------------------------------------------------

    async def process_request(self, request: Request) -> None:
        try:
            host = canonicalise(request.url).host
        except BadUrl:
            return  # the download says what is wrong
        lease = lease_of(request)
        visit: OpenVisit | None = lease.visit if lease else request.meta.get(VISIT_META)
        if visit is None or visit.host != host:
            await self._enter(request, host)

    async def _enter(self, request: Request, host: str) -> None:
        frontier = self._frontier
        assert frontier is not None  # noqa: S101  opened with the spider
        patience_ends = time.monotonic() + self._patience_seconds
        while True:
            fence, wait = await frontier.connection.persist(
                lambda: frontier.acquire(self._owner, host, self._lock_seconds), logger.warning
            )
            now = time.monotonic()
            if fence:
                request.meta[HELD_META] = Held(fence, host, now)
                return
            if wait is None:
                raise IgnoreRequest(f"{host} is blocked: {request.url} is not fetched")
            if now + wait > patience_ends:
                raise DownloadTimeoutError(
                    f"{host} was not free within {self._patience_seconds:g} s (POLITENESS_WAIT_SECONDS): "
                    f"{request.url} is not fetched"
                )
            await asyncio.sleep(wait)

    # --- Out -------------------------------------------------------------------------------------

    async def process_response(self, request: Request, response: Response) -> Response:
        is_busy = response.status in SLOW_DOWN
        block = retry_after_seconds(response, self._retry_after_max_seconds) if is_busy else 0.0
        await self._leave(request, block, failed=int(is_busy and not block))
        return response

    async def process_exception(self, request: Request, exception: Exception) -> None:
        await self._leave(request, 0.0, failed=-1 if isinstance(exception, IgnoreRequest) else 1)

    async def _leave(self, request: Request, block_seconds: float, failed: int) -> None:
        held: Held | None = request.meta.pop(HELD_META, None)
        frontier = self._frontier
        if held is None or frontier is None:
            return
        report = VisitReport(
            held.fence, held.host, idle_ms=int((time.monotonic() - held.began) * 1000),
            block_ms=int(block_seconds * 1000), failed=failed,
        )  # fmt: skip
        await frontier.connection.persist(lambda: frontier.release(report), logger.warning)
