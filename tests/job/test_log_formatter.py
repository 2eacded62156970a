"""Does a log say what its level asks for, and is no line made for nobody?"""

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings

from crawler.job.log_formatter import LogFormatter
from tests.crawls import SpiderProcess
from tests.web import Site, WebServer

REQUEST = Request("https://example.com/")
RESPONSE = Response(REQUEST.url, request=REQUEST)


def test_a_log_at_debug_has_every_page(redis_url, tmp_path):
    with WebServer(Site.trees(hosts=1, pages=3), tmp_path) as server:
        seeds = {"seeds": ",".join(server.seeds())}
        settings = {"REDIS_URL": redis_url, "LOG_LEVEL": "DEBUG"}
        with SpiderProcess("crawler.spiders.broad:BroadSpider", tmp_path, seeds, **settings) as worker:
            worker.wait()
            assert worker.log.count("DEBUG: Crawled (200) <GET http") == 3
            assert worker.log.count("DEBUG: Scraped from <200 http") == 3


@pytest.mark.parametrize(("level", "is_told"), [("DEBUG", True), (10, True), ("5", True), ("INFO", False), (30, False)])
def test_records_are_made_for_a_log_that_shows_them(level, is_told):
    formatter = LogFormatter(Settings({"LOG_LEVEL": level}))
    assert (formatter.crawled(REQUEST, RESPONSE, None) is not None) == is_told
    assert (formatter.scraped({}, RESPONSE, None) is not None) == is_told
