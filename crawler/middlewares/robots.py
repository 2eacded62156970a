"""What does a site's robots.txt allow? Fetched once per host for all workers, under the host's lock and for one of its
tokens, then kept in Redis; RFC 9309 on what an absent or broken file means.

The frontier hands out a robots visit when nobody knows a host's rules: ``fetch`` answers it. After that every request
with a lease is checked here, from memory.
"""

import asyncio
import logging
import time
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

from protego import Protego
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from crawler.frontier.frontier import Frontier
from crawler.frontier.leases import Death, OpenVisit, Retry, lease_of
from crawler.frontier.reasons import Dead
from crawler.middlewares.politeness import VISIT_META

logger = logging.getLogger(__name__)

KNOWN_SECONDS = 24 * 3600.0
BROKEN_SECONDS = 3600.0  # a host whose robots.txt stays broken is closed for this long, then asked again
MISSING_SECONDS = 60.0
IN_MEMORY_SECONDS = 3600.0
TRIES = 3
LARGEST_BYTES = 500 * 1024  # RFC 9309 section 2.5: at least this much is read
MAX_REDIRECTS = 5
HOSTS_IN_MEMORY = 10_000
ALLOW_ALL = ""
CLOSED = "User-agent: *\nDisallow: /\n"


class RobotsMiddleware:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._user_agent = str(crawler.settings["USER_AGENT"])
        self._rules: dict[str, tuple[Protego, float]] = {}  # and when to look in Redis again
        self._failures: dict[str, int] = {}
        crawler.signals.connect(self._spider_opened, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        return cls(crawler)

    def _spider_opened(self, spider: Spider) -> None:
        scheduler: Any = self._crawler.engine.scheduler if self._crawler.engine else None
        if hasattr(scheduler, "use_robots"):
            scheduler.use_robots(self)

    def process_request(self, request: Request) -> None:
        lease = lease_of(request)
        if lease is None or request.meta.get("dont_obey_robotstxt"):
            return
        known = self._rules.get(lease.visit.host)
        if known is None:
            # Redis said that they are known, and had them no longer. Fetching unasked would be the wrong guess.
            lease.outcome = Retry(MISSING_SECONDS)
            raise IgnoreRequest(f"the rules of {lease.visit.host} are missing: {request.url} is tried again later")
        if not known[0].can_fetch(request.url, self._user_agent):
            lease.outcome = Death(Dead.ROBOTS)
            raise IgnoreRequest(f"robots.txt disallows {request.url}")

    # --- For the worker --------------------------------------------------------------------------

    async def load(self, hosts: set[str]) -> None:
        """Rules that other workers fetched come from Redis, before any URL of the host is fetched here."""
        now = time.monotonic()
        missing = [host for host in hosts if host not in self._rules or self._rules[host][1] < now]
        if not missing:
            return
        frontier = self._frontier
        texts = await asyncio.gather(*(frontier.connection.client.get(self._key(host)) for host in missing))
        for host, text in zip(missing, texts, strict=True):
            if text is not None:
                self._remember(host, text.decode())

    async def fetch(self, visit: OpenVisit, sample_url: str) -> float:
        origin = urlsplit(sample_url)
        status, body = await self._get(f"{origin.scheme}://{origin.netloc}/robots.txt", visit)
        known_seconds = KNOWN_SECONDS
        if 200 <= status < 300:
            text = body[:LARGEST_BYTES].decode("utf-8-sig", "replace")
        elif 300 <= status < 500 and status != 429:
            text = ALLOW_ALL
        else:  # 5xx, 429, or no answer at all: RFC 9309 section 2.3.1.4 says to assume that all is disallowed
            tries = self._failures[visit.host] = self._failures.get(visit.host, 0) + 1
            if tries < TRIES:
                visit.failed = 1  # the host is left alone for a while, and asked again
                return 0.0
            logger.warning("robots.txt of %s cannot be had: nothing of it is fetched for now", visit.host)
            text, known_seconds = CLOSED, BROKEN_SECONDS
        self._failures.pop(visit.host, None)
        # Kept somewhat longer than it is valid, so that who was told "known" a moment ago still finds it.
        await self._frontier.connection.client.set(
            self._key(visit.host), text, px=int((known_seconds + IN_MEMORY_SECONDS) * 1000)
        )
        self._remember(visit.host, text)
        return known_seconds

    async def _get(self, url: str, visit: OpenVisit) -> tuple[int, bytes]:
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101  it runs us
        for _ in range(MAX_REDIRECTS + 1):
            request = Request(
                url, callback=NO_CALLBACK, dont_filter=True, meta={"dont_obey_robotstxt": True, VISIT_META: visit}
            )
            try:
                response: Response = await engine.download_async(request)
            except (IgnoreRequest, CannotResolveHostError):
                # A page of a host without an address ends by itself, and says why.
                return 404, b""
            except Exception as error:
                logger.info("%s: %s", url, error)
                return 0, b""
            if response.status not in {301, 302, 303, 307, 308} or b"Location" not in response.headers:
                return response.status, response.body
            url = urljoin(url, (response.headers["Location"] or b"").decode("latin-1"))
        return 404, b""

    def _remember(self, host: str, text: str) -> None:
        if len(self._rules) >= HOSTS_IN_MEMORY:
            self._rules.pop(next(iter(self._rules)))
        self._rules[host] = (Protego.parse(text), time.monotonic() + IN_MEMORY_SECONDS)

    @property
    def _frontier(self) -> Frontier:
        scheduler: Any = self._crawler.engine.scheduler if self._crawler.engine else None
        frontier: Frontier = scheduler.frontier
        return frontier

    def _key(self, host: str) -> str:
        keys = self._frontier.keys
        return f"{keys.tag(keys.partition(host))}:robots:{host}"
