"""What do others need for the same crawl? The crawler a Scrapy user writes first, alone or on scrapy-redis.

Run as a process of its own: ``python -m benchmarks.peers stock|scrapy-redis SEED CONCURRENT_REQUESTS [REDIS_URL]``.
"""

import sys
from collections.abc import Iterator
from typing import Any

from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

SCRAPY_REDIS = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "SCHEDULER_PERSIST": True,  # what is durable on our side stays on theirs
}


class Pages(CrawlSpider):
    """scrapy-redis's own spider classes never start on this Scrapy; its scheduler works with any spider."""

    name = "pages"
    rules = (Rule(LinkExtractor(), callback="parse_item", follow=True),)

    def parse_start_url(self, response: Response, **kwargs: Any) -> Iterator[dict[str, Any]]:
        return self.parse_item(response)

    def parse_item(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "title": response.css("title::text").get()}


def main() -> None:
    kind, seed, concurrency, *redis_url = sys.argv[1:]
    # Scrapy's defaults, but for these; its log of every request at level DEBUG would be half of what is measured.
    settings: dict[str, Any] = {
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": int(concurrency),
        "CONCURRENT_REQUESTS_PER_DOMAIN": int(concurrency),
        "LOG_LEVEL": "INFO",
    }
    if kind == "scrapy-redis":
        settings |= SCRAPY_REDIS | {"REDIS_URL": redis_url[0]}
    process = CrawlerProcess(settings)
    process.crawl(Pages, start_urls=[seed])
    process.start()


if __name__ == "__main__":
    main()
