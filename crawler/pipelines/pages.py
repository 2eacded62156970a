"""Which pages did the crawl fetch? One JSON line each, in ``DATA_DIR/crawls/<crawl>/pages.jsonl``.

Workers of one directory append to one file: a line is one write, which the kernel does not mix with another's.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from crawler.errors import ConfigurationError
from crawler.frontier.config import FrontierConfig


def find_page_log(config: FrontierConfig) -> Path:
    return config.data_dir / "crawls" / config.crawl / "pages.jsonl"


def open_page_log(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written: {error}; set DATA_DIR to a directory that you can write to"
        ) from error


class PageLogPipeline:
    def __init__(self, path: Path, crawl: str) -> None:
        self.path = path
        self._crawl = crawl
        self._file: int | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("PAGE_LOG"):
            raise NotConfigured
        config = FrontierConfig.from_settings(crawler.settings)
        return cls(find_page_log(config), config.crawl)

    def open_spider(self) -> None:
        self._file = open_page_log(self.path)

    def close_spider(self) -> None:
        if self._file is not None:
            os.close(self._file)

    def process_item(self, item: Any) -> Any:
        record = ItemAdapter(item).asdict()
        record.pop("content", None)  # the store and the index have that
        record.setdefault("crawl", self._crawl)
        record.setdefault("fetched_at", datetime.now(UTC).isoformat(timespec="milliseconds"))
        line = (json.dumps(record, default=str, ensure_ascii=False) + "\n").encode("utf-8", "replace")
        if self._file is not None and os.write(self._file, line) != len(line):
            raise OSError(f"{self.path} could not take a whole line: is the disk full?")
        return item
