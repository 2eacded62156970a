"""The general spider: fetches what the frontier hands out, keeps each page, gives its links back."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin

from scrapy import Request, Spider
from scrapy.http import Response

from crawler.errors import BadUrl
from crawler.frontier.recrawl import UNCHANGED
from crawler.frontier.scheduler import SITEMAP_META, Scheduler
from crawler.frontier.seeds import read_seed
from crawler.parsing import parse_page
from crawler.robots.sitemaps import SitemapPage, read_sitemap
from crawler.urls import canonicalise

MAX_SITEMAP_LEVEL = 2  # the protocol has one level of indexes; some sites have two
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


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

    async def parse_sitemap(self, response: Response, **kwargs: Any) -> None:
        """Of robots.txt: see ``FOLLOW_SITEMAPS``."""
        scheduler = self.crawler.engine.scheduler if self.crawler.engine else None
        if not isinstance(scheduler, Scheduler):
            return
        level = int(response.meta.get(SITEMAP_META, 0))
        sitemap = await asyncio.to_thread(read_sitemap, response.body)
        if sitemap.trouble:
            self.logger.info("%s was read in part: %s", response.url, sitemap.trouble)
        drops, links = Counter[str](), []
        for page in sorted(sitemap.pages, key=_youngest_first):
            try:
                links.append(canonicalise(page.url, base=response.url))
            except BadUrl as error:
                drops[error.reason] += 1
        scheduler.count_drops(drops)
        scheduler.add_links(response, links)
        if level < MAX_SITEMAP_LEVEL:
            for child in sitemap.children:
                scheduler.add_sitemap(urljoin(response.url, child), level + 1)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[dict[str, Any]]:
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        page = parse_page(response.body, response.url, content_type)
        scheduler = self.crawler.engine.scheduler if self.crawler.engine else None
        if isinstance(scheduler, Scheduler):
            scheduler.count_drops(page.bad_links)
            scheduler.add_links(response, page.links)
        item = {
            "url": response.url,
            "status": response.status,
            "title": page.title,
            "depth": response.meta.get("depth", 0),
            "content_type": content_type,
            "bytes": len(response.body),
            "links": len(page.links),
        }
        if UNCHANGED in response.flags:
            item[UNCHANGED] = True  # its body is that of the last fetch: who has it already may skip it
        yield item


def _youngest_first(page: SitemapPage) -> float:
    return -(page.lastmod or _LONG_AGO).timestamp()
