"""What is kept of pages, and where?"""

from dataclasses import dataclass
from pathlib import Path

from scrapy.settings import BaseSettings

from crawler.configuration import SettingsReader
from crawler.delivery.spool import Spool
from crawler.frontier.config import FrontierConfig
from crawler.search.opening import IndexConfig
from crawler.storage.opening import StoreConfig


@dataclass(frozen=True, slots=True)
class KeepConfig:
    crawl: str
    store_pages: bool
    index_pages: bool
    find_duplicates: bool
    store: StoreConfig
    index: IndexConfig
    spool_directory: Path
    spool_bytes: int
    sync: bool
    index_round_seconds: float
    main_text: bool

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> "KeepConfig":
        read = SettingsReader(settings)
        frontier = FrontierConfig.from_settings(settings)
        return cls(
            crawl=frontier.crawl,
            store_pages=read.flag("STORE_PAGES"),
            index_pages=read.flag("INDEX_PAGES"),
            find_duplicates=read.flag("FIND_DUPLICATES"),
            store=StoreConfig.from_settings(settings),
            index=IndexConfig.from_settings(settings),
            spool_directory=frontier.data_dir / "spool",
            spool_bytes=read.whole("SPOOL_BYTES", 1024, 1 << 50),
            sync=read.flag("STORE_SYNC"),
            main_text=read.flag("INDEX_MAIN_TEXT"),
            index_round_seconds=read.number("INDEX_ROUND_SECONDS", 0.05, 3600),
        )

    def spool(self, name: str) -> Spool:
        return Spool(self.spool_directory / name, self.spool_bytes, sync=self.sync)

    @property
    def kept_in(self) -> str:
        return f"{self.store.format} {self.store.place!r}" if self.store_pages else ""

    @property
    def appends(self) -> bool:
        """What was written once stays: a page that is fetched again must not bring its body again."""
        return self.store.format == "warc"

    @property
    def keep_headers(self) -> bool:
        return self.store.format == "warc"
