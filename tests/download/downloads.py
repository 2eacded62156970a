"""One download at a time, as Scrapy would ask for it, without the rest of Scrapy."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import uvloop
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector

from crawler.download.config import DownloadConfig
from crawler.download.handler import DownloadHandler

T = TypeVar("T")
# For servers that are slow, and for no others: a busy machine is slow at times as well.
IMPATIENT: dict[str, Any] = {
    "DOWNLOAD_TIMEOUT": 1.9,
    "DOWNLOAD_FIRST_BYTE_SECONDS": 0.5,
    "DOWNLOAD_SLOWEST_RATE": 200.0,
    "DOWNLOAD_SLOW_SECONDS": 0.9,
}


def make_crawler(**settings: Any) -> Crawler:
    values = Settings()
    values.setmodule("crawler.settings")
    values.setdict({"ALLOW_PRIVATE": True, **settings})
    crawler = Crawler(Spider, values)
    crawler.spider = Spider("test")
    crawler.stats = StatsCollector(crawler)
    return crawler


def make_config(**settings: Any) -> DownloadConfig:
    return DownloadConfig.from_settings(make_crawler(**settings).settings)


@asynccontextmanager
async def open_handler(crawler: Crawler) -> AsyncIterator[DownloadHandler]:
    handler = DownloadHandler.from_crawler(crawler)
    try:
        yield handler
    finally:
        await handler.close()


def run(work: Callable[[], Awaitable[T]]) -> T:
    """On the event loop of the crawler. What is left unclosed is an error."""

    async def main() -> T:
        problems: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        result = await work()
        await asyncio.sleep(0)
        assert not problems, problems
        return result

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def download(request: Request | str, crawler: Crawler | None = None, **settings: Any) -> Response:
    crawler = crawler or make_crawler(**settings)
    asked = Request(request) if isinstance(request, str) else request
    asked.meta.setdefault("download_timeout", crawler.settings.getfloat("DOWNLOAD_TIMEOUT"))

    async def work() -> Response:
        async with open_handler(crawler) as handler:
            return await handler.download_request(asked)

    return run(work)
