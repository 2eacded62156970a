"""Spiders as people write them for scrapy-redis: nothing of this project in them."""

import json
import os
from pathlib import Path
from typing import Any

from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule
from scrapy_redis.spiders import RedisCrawlSpider, RedisSpider


def note(spider: Any, **what: Any) -> None:
    with Path(spider.settings["RECORDS"]).open("a") as file:
        file.write(json.dumps({"pid": os.getpid(), **what}) + "\n")


class MySpider(RedisSpider):  # type: ignore[misc]
    name = "myspider_redis"

    def parse(self, response: Response, **kwargs: Any) -> Any:
        note(self, page=response.url, meta=response.meta.get("job"), server=self.server.ping())
        yield from response.follow_all(css="a", callback=self.parse)  # type: ignore[attr-defined]


class OwnKey(MySpider):
    name = "own"
    redis_key = "pages:to:%(name)s"
    redis_batch_size = 2


class MyCrawler(RedisCrawlSpider):  # type: ignore[misc]
    name = "mycrawler_redis"
    redis_key = "mycrawler:start_urls"
    rules = (
        Rule(LinkExtractor(allow=r"/section"), follow=True),
        Rule(LinkExtractor(allow=r"/article"), callback="parse_article"),
    )

    def parse_article(self, response: Response) -> dict[str, str]:
        note(self, article=response.url)
        return {"url": response.url}
