"""May this request go to its server now? The token bucket and the lock of a host for what the frontier did not hand
out: a robots.txt that is redirected to another host, requests of a spider on another scheduler, a browser's requests.

A request with a lease has both already, and passes.
"""

import asyncio
import logging
import time
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest, NotConfigured
from scrapy.http import Response

from crawler.errors import BadUrl
from crawler.frontier.frontier import Visit
from crawler.frontier.leases import OpenVisit, lease_of
from crawler.frontier.workers import new_worker_id
from crawler.middlewares.frontier_access import FrontierAccess
from crawler.middlewares.retry_after import SLOW_DOWN, retry_after_seconds
from crawler.urls import canonicalise

logger = logging.getLogger(__name__)

VISIT_META = "visit"  # the visit that a request without a lease belongs to: a robots.txt under the host's own lock
CHARGE_META = "charge"  # it is one more request than the visit has tokens for: a script that a page loads
HELD_META = "politeness"
LOCK_MARGIN_SECONDS = 5.0  # a lock for one request is not renewed: it lasts as long as the request may, and this longer


class PolitenessMiddleware:
    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._patience_seconds = settings.getfloat("POLITENESS_WAIT_SECONDS")
        self._lock_seconds = settings.getfloat("DOWNLOAD_TIMEOUT") + LOCK_MARGIN_SECONDS
        self._retry_after_max_seconds = settings.getfloat("RETRY_AFTER_MAX_SECONDS")
        self._owner = new_worker_id()
        self._access = FrontierAccess(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("POLITENESS_ENABLED"):
            raise NotConfigured
        return cls(crawler)

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
        elif request.meta.get(CHARGE_META):
            await self._charge(request, visit)

    async def _enter(self, request: Request, host: str) -> None:
        frontier = await self._access.get()
        patience_ends = time.monotonic() + self._patience_seconds
        while True:
            fence, wait = await frontier.connection.persist(
                lambda: frontier.acquire(self._owner, host, self._lock_seconds), logger.warning
            )
            now = time.monotonic()
            if fence:
                request.meta[HELD_META] = OpenVisit(Visit(fence, host, "", True, []), now + self._lock_seconds)
                return
            if wait is None:
                raise IgnoreRequest(f"{host} is blocked: {request.url} is not fetched")
            if now + wait > patience_ends:
                raise DownloadTimeoutError(
                    f"{host} was not free within {self._patience_seconds:g} s (POLITENESS_WAIT_SECONDS): "
                    f"{request.url} is not fetched"
                )
            await asyncio.sleep(wait)

    async def _charge(self, request: Request, visit: OpenVisit) -> None:
        frontier = await self._access.get()
        patience_ends = time.monotonic() + self._patience_seconds
        while True:
            idle_seconds = time.monotonic() - visit.last_fetch if visit.last_fetch else 0.0
            wait = await frontier.charge(visit.fence, visit.host, idle_seconds)
            now = time.monotonic()
            if wait == 0:
                visit.note_fetch(now, 0.0)
                return
            if wait is None or visit.is_lost or now + wait > patience_ends:
                raise DownloadTimeoutError(f"{visit.host} was not free in time: {request.url} is not fetched")
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
        held: OpenVisit | None = request.meta.pop(HELD_META, None)
        if held is None:
            return
        frontier = await self._access.get()
        now = time.monotonic()
        held.note_fetch(now, float(request.meta.get("download_latency", 0.0)))
        held.block_seconds, held.failed = block_seconds, failed
        report = held.report(now)
        await frontier.connection.persist(lambda: frontier.release(report), logger.warning)
