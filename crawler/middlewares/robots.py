"""What does a site's robots.txt allow? Fetched once per host for all workers, under the host's lock and for one of its
tokens, then kept in Redis; RFC 9309 on what an absent or broken file means.

The frontier hands out a robots visit when nobody knows a host's rules: ``fetch`` answers it. Requests without a lease
fetch what they need by themselves. After that every request is checked here, from memory.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from typing import NamedTuple, Self
from urllib.parse import urljoin, urlsplit

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from crawler.errors import BadUrl
from crawler.frontier.leases import Death, OpenVisit, Retry, lease_of
from crawler.frontier.reasons import Dead
from crawler.frontier.robots_cache import UNREACHABLE, RobotsCache
from crawler.frontier.worker import RobotsFound
from crawler.middlewares.frontier_access import FrontierAccess
from crawler.middlewares.politeness import VISITS_META
from crawler.middlewares.retry_after import retry_after_seconds
from crawler.robots.answer import UNREACHABLE_SECONDS, Answer, Meaning, read_answer
from crawler.robots.rules import Rules, parse
from crawler.urls import canonicalise

logger = logging.getLogger(__name__)

OBEY_META = "dont_obey_robotstxt"
MISSING_SECONDS = 60.0
TRIES = 4  # of a file that cannot be had; then its host is closed for some minutes
MAX_REDIRECTS = 5
CLAIM_SECONDS = 60.0
CLAIM_LOOK_SECONDS = 0.2
IN_MEMORY_SECONDS = 3600.0
SHORTEST_SECONDS = 60.0  # what is about to run out is still used for the URLs that are leased already
IN_MEMORY_HOSTS = 10_000
IN_MEMORY_CHARACTERS = 32_000_000


class Known(NamedTuple):
    rules: Rules
    is_unreachable: bool
    size: int
    until: float  # then Redis is asked again


class RobotsMiddleware:
    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._user_agent = str(settings["USER_AGENT"])
        self._longest_delay_seconds = settings.getfloat("CRAWL_DELAY_MAX_SECONDS")
        self._retry_after_max_seconds = settings.getfloat("RETRY_AFTER_MAX_SECONDS")
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._characters = 0
        self._access = FrontierAccess(crawler)
        # Not later: the worker's task starts with the same signal, and must not lease without us.
        crawler.signals.connect(self._spider_opened, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        return cls(crawler)

    def _spider_opened(self, spider: Spider) -> None:
        scheduler = self._access.scheduler
        if hasattr(scheduler, "use_robots"):
            scheduler.use_robots(self)

    async def _cache(self) -> RobotsCache:
        return RobotsCache(await self._access.get())

    # --- For every request -----------------------------------------------------------------------

    async def process_request(self, request: Request) -> None:
        if request.meta.get(OBEY_META):
            return
        lease = lease_of(request)
        try:
            host = lease.visit.host if lease else canonicalise(request.url).host
        except BadUrl:
            return  # the download says what is wrong
        known = self._known.get(host)
        if lease is None and (known is None or known.until < time.monotonic()):
            known = await self._get_known(host, request.url)
        if known is None:
            # Redis said that they are known, and had them no longer. Fetching unasked would be the wrong guess.
            if lease is not None:
                lease.outcome = Retry(MISSING_SECONDS)
            raise IgnoreRequest(f"the rules of {host} are missing: {request.url} is not fetched")
        decision = known.rules.decide(request.url, self._user_agent)
        if not decision.allowed:
            if known.is_unreachable:
                death = Death(Dead.ROBOTS_UNREACHABLE)
            else:
                death = Death(Dead.ROBOTS, f"line {decision.line_number}: {decision.line}")
            if lease is not None:
                lease.outcome = death
            raise IgnoreRequest(f"{request.url} is not fetched: {death.detail or 'its robots.txt cannot be had'}")

    async def _get_known(self, host: str, sample_url: str) -> Known | None:
        """For a request without a lease: from Redis, or fetched by whoever claims it first."""
        cache = await self._cache()
        while True:
            await self.load({host})
            known = self._known.get(host)
            if known is not None and known.until >= time.monotonic():
                return known
            if not await cache.claim(host, CLAIM_SECONDS):
                await asyncio.sleep(CLAIM_LOOK_SECONDS)
                continue
            try:
                answer, _ = await self._ask(host, sample_url, None)
                text = UNREACHABLE if answer.meaning in {Meaning.UNREACHABLE, Meaning.WAIT} else answer.text
                await self._keep(host, text, answer.known_seconds or UNREACHABLE_SECONDS)
            finally:
                await cache.disclaim(host)

    # --- For the worker --------------------------------------------------------------------------

    async def load(self, hosts: set[str]) -> None:
        """Rules that other workers fetched come from Redis, before any URL of the host is fetched here."""
        now = time.monotonic()
        missing = [host for host in hosts if host not in self._known or self._known[host].until < now]
        if missing:
            cache = await self._cache()
            for host, (text, seconds) in (await cache.load(missing)).items():
                self._remember(host, text, seconds)

    async def fetch(self, visit: OpenVisit, sample_url: str) -> RobotsFound:
        answer, wait_seconds = await self._ask(visit.host, sample_url, visit)
        text, known_seconds = answer.text, answer.known_seconds
        if answer.meaning in {Meaning.UNREACHABLE, Meaning.WAIT}:
            cache = await self._cache()
            if await cache.count_failure(visit.host) < TRIES:
                if wait_seconds:
                    visit.block(wait_seconds)
                else:
                    visit.failed = 1  # the host is left alone for a while, and asked again
                return RobotsFound()
            logger.warning("robots.txt of %s cannot be had: nothing of it is fetched for now", visit.host)
            text, known_seconds = UNREACHABLE, UNREACHABLE_SECONDS
        known = await self._keep(visit.host, text, known_seconds)
        delay = known.rules.crawl_delay(self._user_agent) or 0.0
        return RobotsFound(known_seconds, min(delay, self._longest_delay_seconds), tuple(known.rules.sitemaps))

    # --- Fetching --------------------------------------------------------------------------------

    async def _ask(self, host: str, sample_url: str, visit: OpenVisit | None) -> tuple[Answer, float]:
        """What the host answers, and for how many seconds it asks to be left alone."""
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101  it runs us
        origin = urlsplit(sample_url)
        url = f"{origin.scheme}://{origin.netloc.rpartition('@')[2]}/robots.txt"
        for _ in range(MAX_REDIRECTS + 1):
            meta = {OBEY_META: True, VISITS_META: [visit] if visit else []}
            request = Request(url, callback=NO_CALLBACK, dont_filter=True, meta=meta)
            try:
                response: Response = await engine.download_async(request)
            except (IgnoreRequest, CannotResolveHostError):
                # A page of a host without an address ends by itself, and says why. So does one that may not be
                # connected to.
                return read_answer(404, b""), 0.0
            except Exception as error:
                logger.info("%s: %s", url, error)
                return read_answer(0, b""), 0.0
            if response.status not in {301, 302, 303, 307, 308} or b"Location" not in response.headers:
                wait_seconds = retry_after_seconds(response, self._retry_after_max_seconds)
                return read_answer(response.status, response.body), wait_seconds
            url = urljoin(url, (response.headers["Location"] or b"").decode("latin-1").strip())
        return read_answer(404, b""), 0.0

    async def _keep(self, host: str, text: str, seconds: float) -> Known:
        cache = await self._cache()
        await cache.keep(host, text, seconds)
        return self._remember(host, text, seconds)

    def _remember(self, host: str, text: str, seconds: float) -> Known:
        self._forget(host)
        until = time.monotonic() + max(SHORTEST_SECONDS, min(seconds, IN_MEMORY_SECONDS))
        known = self._known[host] = Known(parse(text), text.startswith(UNREACHABLE), len(text), until)
        self._characters += known.size
        while len(self._known) > IN_MEMORY_HOSTS or (self._characters > IN_MEMORY_CHARACTERS and len(self._known) > 1):
            self._forget(next(iter(self._known)))
        return known

    def _forget(self, host: str) -> None:
        known = self._known.pop(host, None)
        if known is not None:
            self._characters -= known.size
