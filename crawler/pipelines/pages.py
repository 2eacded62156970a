"""Which pages did the crawl fetch? One JSON line each, in ``DATA_DIR/crawls/<crawl>/pages.jsonl``.

Workers of one directory append to one file: a line is one write, which the kernel does not mix with another's. While
it cannot be written, as on a full disk, the crawl waits: a page that is safe must not die for want of a line about it.
"""

import asyncio
import errno
import json
import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from crawler.errors import ConfigurationError
from crawler.frontier import engine_hooks
from crawler.frontier.config import FrontierConfig
from crawler.items import PageItem

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0  # between looks whether there is room again


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
    def __init__(self, crawler: Crawler, path: Path, crawl: str) -> None:
        self.path = path
        self._crawler = crawler
        self._crawl = crawl
        self._file: int | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("PAGE_LOG"):
            raise NotConfigured
        config = FrontierConfig.from_settings(crawler.settings)
        return cls(crawler, find_page_log(config), config.crawl)

    def open_spider(self) -> None:
        self._file = open_page_log(self.path)

    def close_spider(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    async def process_item(self, item: Any) -> Any:
        # Ours has nothing nested in it, which is expensive to look for.
        record = dict(item) if isinstance(item, PageItem) else ItemAdapter(item).asdict()
        record.pop("content", None)  # the store and the index have that
        record.setdefault("crawl", self._crawl)
        record.setdefault("fetched_at", datetime.now(UTC).isoformat(timespec="milliseconds"))
        line = (json.dumps(record, default=str, ensure_ascii=False) + "\n").encode("utf-8", "replace")
        is_told = False
        while trouble := self._write(line):
            engine = self._crawler.engine
            if engine is None or engine_hooks.is_stopping(engine):
                logger.error(
                    "%s has no line about %s: %s; the page itself is safe", self.path, record.get("url"), trouble
                )
                break
            if not is_told:
                logger.error("The crawl waits: %s cannot be written: %s", self.path, trouble)
                is_told = True
            await asyncio.sleep(PAUSE_SECONDS)
        return item

    def _write(self, line: bytes) -> str:
        """Answers what is wrong, if anything is."""
        try:
            if self._file is not None and os.fstat(self._file).st_nlink == 0:  # somebody removed it
                self.close_spider()
            if self._file is None:
                self._file = open_page_log(self.path)
            write_line(self._file, line)
        except (OSError, ConfigurationError) as error:
            return getattr(error, "strerror", None) or str(error)
        return ""


def write_line(file: int, line: bytes) -> None:
    """Whole or not at all."""
    written = os.write(file, line)
    if written == len(line):
        return
    end = os.lseek(file, 0, os.SEEK_CUR)
    if os.fstat(file).st_size == end:  # nobody has written after the piece: take it back
        os.ftruncate(file, end - written)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
