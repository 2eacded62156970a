"""May this request go to its server now? The token bucket and the lock of a host for what the frontier did not hand
out: a robots.txt that is redirected to another host, requests of a spider on another scheduler, a browser's requests.

A request with a lease has both already, and passes. With ``POLITENESS_BY_ADDRESS`` every request also needs token and
lock of its server's address, since hundreds of host names may be one machine; a leased URL that would wait for long
goes back to its queue instead of keeping a place here.
"""

import asyncio
import logging
import time
from typing import Self
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError, IgnoreRequest, NotConfigured
from scrapy.http import Response

from crawler.download.config import DownloadConfig
from crawler.download.errors import DownloadProblem
from crawler.download.resolver import Resolver
from crawler.errors import BadUrl
from crawler.frontier.leases import GoBack, OpenVisit, lease_of
from crawler.frontier.messages import Visit
from crawler.frontier.workers import new_worker_id
from crawler.middlewares.frontier_access import FrontierAccess
from crawler.middlewares.retry_after import SLOW_DOWN, retry_after_seconds
from crawler.urls import canonicalise

logger = logging.getLogger(__name__)

# Visits under whose locks a request without a lease goes: of a robots.txt its host's; of what a page loads in a browser
# all that the page holds.
VISITS_META = "visits"
CHARGE_META = "charge"  # it is one more request than those visits have tokens for: a script that a page loads
HELD_META = "politeness"  # what this request has locked
LEASED_PATIENCE_SECONDS = 1.0  # a leased URL does not wait for its address longer than this
LOCK_MARGIN_SECONDS = 5.0  # a lock for one request is not renewed: it lasts as long as the request may, and this longer


class PolitenessMiddleware:
    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._patience_seconds = settings.getfloat("POLITENESS_WAIT_SECONDS")
        self._lock_seconds = settings.getfloat("DOWNLOAD_TIMEOUT") + LOCK_MARGIN_SECONDS
        if settings.getbool("RENDER") or settings.getbool("RENDER_AUTO"):
            self._lock_seconds += settings.getfloat("RENDER_SECONDS")
        self._retry_after_max_seconds = settings.getfloat("RETRY_AFTER_MAX_SECONDS")
        self._owner = new_worker_id()
        self._resolver: Resolver | None = None
        if settings.getbool("POLITENESS_BY_ADDRESS"):
            config = DownloadConfig.from_settings(settings)
            self._resolver = Resolver(config.addresses, config)
            crawler.signals.connect(self._resolver.close, signals.spider_closed)
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
        if lease is None or lease.visit.host != host:
            await self._enter(request, host)
        if self._resolver is not None:
            await self._enter_address(request, self._resolver)

    async def _enter(self, request: Request, host: str) -> None:
        """With the host's lock: one that is held already, or one for this request."""
        for visit in request.meta.get(VISITS_META, ()):
            if visit.host == host:
                if request.meta.get(CHARGE_META):
                    await self._charge(request, visit)
                return
        wait = await self._try_for(request, host, self._patience_seconds)
        if wait:
            raise DownloadTimeoutError(
                f"{host} was not free within {self._patience_seconds:g} s (POLITENESS_WAIT_SECONDS): "
                f"{request.url} is not fetched"
            )

    async def _enter_address(self, request: Request, resolver: Resolver) -> None:
        try:
            addresses = await resolver.lookup(urlsplit(request.url).hostname or "")
        except (CannotResolveHostError, DownloadProblem):
            return  # the download says what is wrong
        # An address is no host name: the two cannot be confused.
        address = f"@{addresses[0]}"
        lease = lease_of(request)
        if lease is None:
            await self._enter(request, address)
            return
        wait = await self._try_for(request, address, LEASED_PATIENCE_SECONDS)
        if wait:
            lease.outcome = GoBack()
            lease.visit.block(wait)
            raise IgnoreRequest(f"{request.url} waits for its server, {address[1:]}")

    async def _try_for(self, request: Request, host: str, patience_seconds: float) -> float:
        """Waits for token and lock; answers 0 when they are ours, or after how many seconds to come back."""
        frontier = await self._access.get()
        patience_ends = time.monotonic() + patience_seconds
        while True:
            fence, wait = await frontier.connection.persist(
                lambda: frontier.acquire(self._owner, host, self._lock_seconds), logger.warning
            )
            now = time.monotonic()
            if fence:
                held = OpenVisit(Visit(fence, host, "", True, []), now + self._lock_seconds)
                request.meta.setdefault(HELD_META, []).append(held)
                return 0.0
            if wait is None:
                raise IgnoreRequest(f"{host} is blocked: {request.url} is not fetched")
            if now + wait > patience_ends:
                return wait
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
        for held in request.meta.pop(HELD_META, ()):
            await self._release(held, request, block_seconds, failed)

    async def _release(self, held: OpenVisit, request: Request, block_seconds: float, failed: int) -> None:
        frontier = await self._access.get()
        now = time.monotonic()
        held.note_fetch(now, float(request.meta.get("download_latency", 0.0)))
        held.block_seconds, held.failed = block_seconds, failed
        report = held.report(now)
        await frontier.connection.persist(lambda: frontier.release(report), logger.warning)
