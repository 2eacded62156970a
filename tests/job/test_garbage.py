import gc
from collections.abc import Iterator

import pytest
from scrapy import signals
from scrapy.utils.test import get_crawler

from crawler.job.garbage import GarbageCollection
from crawler.settings import EXTENSIONS


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_what_is_there_when_a_crawl_begins_is_not_looked_through_again():
    assert "crawler.job.garbage.GarbageCollection" in EXTENSIONS
    crawler = get_crawler()
    extension = GarbageCollection.from_crawler(crawler)
    before = gc.get_freeze_count()
    crawler.signals.send_catch_log(signals.spider_opened, spider=None)
    assert gc.get_freeze_count() - before > 10_000
    assert extension is not None


def test_circles_are_still_collected():
    GarbageCollection().spider_opened()
    assert gc.isenabled()
    circle: list[object] = []
    circle.append(circle)
    del circle
    assert gc.collect() >= 1
