"""Which lines does a worker's log have about each page? At level DEBUG those of Scrapy, otherwise none.

Scrapy makes two records of every page, with the place in the code that they come from, and hands them to its log, which
throws them away unless its level is DEBUG.
"""

import logging
from typing import Any, Self

from scrapy import logformatter
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings


class LogFormatter(logformatter.LogFormatter):
    def __init__(self, settings: BaseSettings) -> None:
        self._is_told = _level(settings) <= logging.DEBUG

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings)

    def crawled(self, *args: Any) -> logformatter.LogFormatterResult | None:  # type: ignore[override]
        return super().crawled(*args) if self._is_told else None

    def scraped(self, *args: Any) -> logformatter.LogFormatterResult | None:  # type: ignore[override]
        return super().scraped(*args) if self._is_told else None


def _level(settings: BaseSettings) -> int:
    level = settings["LOG_LEVEL"]
    return int(level) if str(level).isdigit() else logging.getLevelNamesMapping().get(level, logging.NOTSET)
