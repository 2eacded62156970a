"""The general spider: fetches what the frontier hands out, keeps each page, gives its links back."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any, Self
from urllib.parse import urljoin

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response

from crawler.errors import BadUrl
from crawler.frontier.recrawl import UNCHANGED
from crawler.frontier.scheduler import SITEMAP_META, Scheduler
from crawler.frontier.seeds import read_seed
from crawler.items import PageItem
from crawler.parsing import Page, find_kind, parse
from crawler.robots.directives import Obedience
from crawler.robots.sitemaps import SitemapPage, read_sitemap
from crawler.urls import Url, canonicalise

MAX_SITEMAP_LEVEL = 2  # the protocol has one level of indexes; some sites have two
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class BroadSpider(Spider):
    """``-a seeds=URL,URL`` adds seeds; more come from ``scrapy seed`` and from the Redis list ``broad:start_urls``."""

    name = "broad"

    def __init__(self, seeds: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._obey = Obedience()
        self._seeds = [seed for seed in seeds.replace(",http", " http").split() if seed]

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider._obey = Obedience.from_settings(crawler.settings)
        return spider

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

    def parse(self, response: Response, **kwargs: Any) -> Iterator[PageItem] | AsyncIterator[PageItem]:
        if find_kind(response.body, _content_type(response)) == "pdf":
            return self._parse_apart(response)
        return iter([self._tell(response, self._read(response))])

    async def _parse_apart(self, response: Response) -> AsyncIterator[PageItem]:
        """In a thread, because it takes long."""
        yield self._tell(response, await asyncio.to_thread(self._read, response))

    def _read(self, response: Response) -> Page:
        headers = response.headers
        return parse(
            response.body,
            response.url,
            _content_type(response),
            [value.decode("latin-1") for value in headers.getlist("X-Robots-Tag")],
            self._obey,
            content_language=(headers.get("Content-Language") or b"").decode("latin-1"),
        )

    def _tell(self, response: Response, page: Page) -> PageItem:
        """The frontier of the links, and whoever keeps pages of the page."""
        depth = response.meta.get("depth", 0)
        canonical = page.canonical
        new: set[int] = set()
        scheduler = self.crawler.engine.scheduler if self.crawler.engine else None
        if isinstance(scheduler, Scheduler):
            links = [canonical, *page.links] if canonical and canonical not in page.links else page.links
            scheduler.count_drops(page.bad_links)
            new = set(scheduler.add_links(response, [*links, *_navigated(response)]))
            if canonical and not scheduler.is_in_scope(canonical, depth):
                canonical = None  # it is not crawled, so that this page stands for itself
        fields = {
            "url": response.url,
            "status": response.status,
            "title": page.title,
            "description": page.description,
            "keywords": page.keywords,
            "lang": page.lang,
            "depth": depth,
            "content_type": _content_type(response),
            "bytes": len(response.body),
            "links": len(page.links),
            "canonical": canonical.text if canonical else "",
            "noindex": page.noindex,
            "content": page.text,
        }
        if UNCHANGED in response.flags:
            fields[UNCHANGED] = True  # its body is that of the last fetch: who has it already may skip it
        anchors = ((link.fingerprint, text) for link, text in zip(page.links, page.anchors, strict=True))
        return PageItem(fields, response, page, [anchor for anchor in anchors if anchor[1] and anchor[0] in new])


def _content_type(response: Response) -> str:
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


def _youngest_first(page: SitemapPage) -> float:
    return -(page.lastmod or _LONG_AGO).timestamp()


def _navigated(response: Response) -> Iterator[Url]:
    """Where the scripts of a rendered page wanted to go."""
    for url in response.meta.get("render_navigated", ()):
        try:
            yield canonicalise(url, base=response.url)
        except BadUrl:
            continue
