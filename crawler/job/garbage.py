"""How often does Python look for garbage? Less often than by default, and never among what is there for good.

A worker has a few hundred thousand objects when it begins: code, classes, settings. None of them is ever garbage, and
yet Python would look through all of them again and again, since every page makes thousands of new ones. It took a tenth
of a worker's CPU time.
"""

import gc
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler

# New objects before the youngest are looked through; Python's own 700 is less than one page makes. A page that is
# garbage in a circle stays in memory for some pages more.
YOUNG_OBJECTS = 5000


class GarbageCollection:
    """An extension. Its signal comes when scheduler and pipelines are open: all that lasts has been made by then."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls()
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        return extension

    def spider_opened(self) -> None:
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
