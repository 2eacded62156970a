"""The log of crawled pages and the links on them, for other processes: a Redis Stream, written when SPIDER_LOG is on.

Each entry has one field, ``page``: a JSON object with url, status, depth and links. Written before the page is acked,
so a reader may see a page twice after a crash, and never misses one.
"""

import json
from collections.abc import Sequence

from crawler.frontier.frontier import Frontier
from crawler.frontier.strategy.links import Page
from crawler.urls import Url


class SpiderLog:
    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._pages: list[str] = []

    def add(self, page: Page, links: Sequence[Url]) -> None:
        record = {"url": page.url, "status": page.status, "depth": page.depth, "links": [link.text for link in links]}
        self._pages.append(json.dumps(record))

    async def flush(self) -> None:
        pages, self._pages = self._pages, []
        if not pages:
            return
        keys, config = self._frontier.keys, self._frontier.config
        pipeline = self._frontier.connection.client.pipeline(transaction=False)
        for page in pages:
            pipeline.xadd(keys.spider_log, {"page": page}, maxlen=config.spider_log_length, approximate=True)
        try:
            await pipeline.execute()
        except BaseException:
            self._pages = pages + self._pages
            raise
