"""The general spider: fetches what the frontier hands out, keeps each page, gives its links back."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from crawler.errors import BadUrl
from crawler.frontier.scheduler import Scheduler
from crawler.frontier.seeds import read_seed
from crawler.parsing import parse_page


class BroadSpider(Spider):
    """``-a seeds=URL,URL`` adds seeds; more come from ``scrapy seed`` and from the Redis list ``broad:start_urls``."""

    name = "broad"

    def __init__(self, seeds: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._seeds = [seed for seed in seeds.replace(",http", " http").split() if seed]

    async def start(self) -> AsyncIterator[Request]:
        for text in self._seeds:
            try:
                seed = read_seed(text)
            except BadUrl as error:
                self.logger.error("%s", error)
                continue
            yield Request(seed.url.text, priority=1, meta={"depth": 0})

    def parse(self, response: Response, **kwargs: Any) -> Iterator[dict[str, Any]]:
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        page = parse_page(response.body, response.url, content_type)
        scheduler = self.crawler.engine.scheduler if self.crawler.engine else None
        if isinstance(scheduler, Scheduler):
            scheduler.count_drops(page.bad_links)
            scheduler.add_links(response, page.links)
        yield {
            "url": response.url,
            "status": response.status,
            "title": page.title,
            "depth": response.meta.get("depth", 0),
            "content_type": content_type,
            "bytes": len(response.body),
            "links": len(page.links),
        }
