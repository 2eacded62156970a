"""Spiders that the tests of the scheduler run as processes."""

import datetime
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from crawler.frontier.scheduler import Scheduler
from crawler.urls import canonicalise
from tests.crawls import record


class Planter(Spider):
    """Gives the frontier requests with everything that a request can have, and one that cannot travel."""

    name = "traveller"
    base = ""

    async def start(self) -> AsyncIterator[Request]:
        record(self, started=True)
        yield Request(
            f"{self.base}/full?a=1",
            method="POST",
            headers={"X-Mark": ["one", "two"]},
            body=b"\x00\xffbytes",
            callback=self.parse_full,
            errback=self.failed,
            cb_kwargs={"number": 7, "exact": Decimal("1.50")},
            meta={"day": datetime.date(2024, 2, 29), "deep": {"list": [1, (2, 3)]}},
            priority=5,
        )
        yield Request(f"{self.base}/gone", callback=self.parse_full, errback=self.failed, cb_kwargs={"number": 8})
        yield Request(f"{self.base}/cannot", callback=lambda response: None)
        yield Request(f"{self.base}/cannot", meta={"open": {"socket": object()}})

    def parse_full(self, response: Response, **kwargs: Any) -> None:
        request = response.request
        assert request is not None
        record(
            self,
            url=response.url,
            method=request.method,
            body=repr(request.body),
            mark=[value.decode() for value in request.headers.getlist("X-Mark")],
            kwargs=repr(kwargs),
            day=repr(request.meta.get("day")),
            deep=repr(request.meta.get("deep")),
            priority=request.priority,
            callback=getattr(request.callback, "__name__", None),
            errback=getattr(request.errback, "__name__", None),
        )

    def failed(self, failure: Any) -> None:
        record(self, failed=failure.request.url, kwargs=repr(failure.request.cb_kwargs), error=failure.type.__name__)


class Fetcher(Planter):
    """The same spider in another worker: brings nothing, fetches what is there."""

    async def start(self) -> AsyncIterator[Request]:
        for request in ():
            yield request


class Trouble(Spider):
    """Asks for ``urls``; every page is recorded, and so is every failure that reached an errback."""

    name = "trouble"
    urls = ""

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls.split():
            statuses = {"handle_httpstatus_list": [404]} if "handled" in url else {}
            yield Request(url, errback=self.failed, meta=statuses)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[dict[str, str]]:
        record(self, page=response.url, status=response.status)
        if "callback-error" in response.url:
            raise RuntimeError("the callback's own mistake")
        if "item" in response.url:
            yield {"url": response.url}

    def failed(self, failure: Any) -> Iterator[Request]:
        record(self, failed=failure.request.url, error=failure.type.__name__)
        if "again" in failure.request.url:
            yield failure.request.replace(url=failure.request.url.replace("again", "second"), dont_filter=True)


class FailingPipeline:
    def process_item(self, item: dict[str, str]) -> dict[str, str]:
        raise ValueError("the pipeline's own mistake")


class Ordered(Spider):
    """One page at a time, in the order in which the frontier gives them."""

    name = "ordered"
    base = ""

    async def start(self) -> AsyncIterator[Request]:
        record(self, started=True)
        for number in range(4):
            yield Request(f"{self.base}/low{number}", priority=-1)
        for number in range(4):
            yield Request(f"{self.base}/plain{number}")
        for number in range(4):
            yield Request(f"{self.base}/high{number}", priority=number + 1)
        for _ in range(3):
            yield Request(f"{self.base}/same")
        for _ in range(3):
            yield Request(f"{self.base}/unfiltered", dont_filter=True)

    def parse(self, response: Response, **kwargs: Any) -> None:
        record(self, page=response.url)


class OrderedFetcher(Ordered):
    async def start(self) -> AsyncIterator[Request]:
        for request in ():
            yield request


class Linker(Spider):
    """Gives links to the frontier as URLs, as the broad spider does."""

    name = "linker"
    seeds = ""

    async def start(self) -> AsyncIterator[Request]:
        for url in self.seeds.split():
            yield Request(url)

    def parse(self, response: Response, **kwargs: Any) -> None:
        assert self.crawler.engine is not None
        scheduler = self.crawler.engine.scheduler
        assert isinstance(scheduler, Scheduler)
        links = response.css("a::attr(href)").getall()  # type: ignore[attr-defined]
        scheduler.add_links(response, [canonicalise(link, base=response.url) for link in links])
        record(self, page=response.url)


class Returning(Spider):
    """Requests of many kinds, with all that a request can have; some come back when pages are crawled again."""

    name = "returning"
    base = ""

    async def start(self) -> AsyncIterator[Request]:
        if not self.base:
            return
        for path in ("/changing", "/same", "/away"):
            yield self._request(path)
        yield self._request("/form", method="POST", body=b"x")
        yield self._request("/twice", dont_filter=True)
        yield self._request("/own").replace(headers={"If-None-Match": '"of the spider"'})

    def _request(self, path: str, **what: Any) -> Request:
        return Request(
            self.base + path,
            callback=self.parse_it,
            errback=self.failed,
            headers={"X-Mark": ["one", "two"]},
            cb_kwargs={"exact": Decimal("1.50")},
            meta={"day": datetime.date(2024, 2, 29)},
            priority=3,
            **what,
        )

    def parse_it(self, response: Response, **kwargs: Any) -> None:
        request = response.request
        assert request is not None
        ours = {name: request.headers.getlist(name) for name in ("X-Mark", "If-None-Match", "If-Modified-Since")}
        record(
            self,
            path="/" + response.url.rpartition("/")[2],
            headers={name: [value.decode() for value in values] for name, values in ours.items() if values},
            kwargs=repr(kwargs),
            day=repr(request.meta.get("day")),
            priority=request.priority,
            flags=response.flags,
        )

    def failed(self, failure: Any) -> None:
        record(self, failed=failure.request.url)
