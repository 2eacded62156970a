"""Which frontier knows the hosts of this crawl? The scheduler's own; or, where Scrapy runs on another scheduler, one
that is opened for its politeness alone, when it is first needed.
"""

import asyncio
from typing import Any

from scrapy import Spider, signals
from scrapy.crawler import Crawler

from crawler.frontier.config import FrontierConfig
from crawler.frontier.frontier import Frontier


class FrontierAccess:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._opened: Frontier | None = None
        self._opening = asyncio.Lock()
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @property
    def scheduler(self) -> Any:
        return self._crawler.engine.scheduler if self._crawler.engine else None

    async def get(self) -> Frontier:
        frontier: Frontier | None = getattr(self.scheduler, "frontier", None)
        if frontier is not None:
            return frontier
        async with self._opening:
            if self._opened is None:
                self._opened = await Frontier.open(FrontierConfig.from_settings(self._crawler.settings))
            return self._opened

    async def _spider_closed(self, spider: Spider) -> None:
        if self._opened is not None:
            await self._opened.close()
