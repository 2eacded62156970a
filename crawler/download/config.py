"""Which settings does downloading need? Read once, checked once, then passed around."""

from dataclasses import dataclass
from typing import Self

from scrapy.settings import BaseSettings

from crawler.addresses import AddressPolicy
from crawler.configuration import SettingsReader

_LONGEST_SECONDS = 86400.0
_LARGEST_BYTES = 1 << 40


@dataclass(frozen=True, slots=True)
class DownloadConfig:
    addresses: AddressPolicy
    connect_seconds: float
    first_byte_seconds: float
    slowest_rate: float
    slow_seconds: float
    body_bytes: int
    raw_body_bytes: int
    header_line_bytes: int
    header_bytes: int
    headers: int
    fails_on_loss: bool
    keep_alive_seconds: float
    connections: int
    connections_per_host: int
    dns_seconds: float
    dns_threads: int
    dns_cache_size: int
    dns_cache_seconds: float
    dns_failure_seconds: float

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        read = SettingsReader(settings)
        return cls(
            addresses=AddressPolicy.from_settings(settings),
            connect_seconds=read.number("DOWNLOAD_CONNECT_SECONDS", 0.01, _LONGEST_SECONDS),
            first_byte_seconds=read.number("DOWNLOAD_FIRST_BYTE_SECONDS", 0.01, _LONGEST_SECONDS),
            slowest_rate=read.number("DOWNLOAD_SLOWEST_RATE", 0, 1e9),
            slow_seconds=read.number("DOWNLOAD_SLOW_SECONDS", 0.01, _LONGEST_SECONDS),
            body_bytes=read.whole("DOWNLOAD_MAXSIZE", 0, _LARGEST_BYTES),
            raw_body_bytes=read.whole("DOWNLOAD_RAW_MAXSIZE", 0, _LARGEST_BYTES),
            header_line_bytes=read.whole("DOWNLOAD_HEADER_LINE_BYTES", 256, 1 << 24),
            header_bytes=read.whole("DOWNLOAD_HEADER_BYTES", 256, 1 << 24),
            headers=read.whole("DOWNLOAD_MAX_HEADERS", 1, 100_000),
            fails_on_loss=read.flag("DOWNLOAD_FAIL_ON_DATALOSS"),
            keep_alive_seconds=read.number("DOWNLOAD_KEEP_ALIVE_SECONDS", 0, _LONGEST_SECONDS),
            connections=read.whole("CONCURRENT_REQUESTS", 1, 100_000),
            connections_per_host=read.whole("CONCURRENT_REQUESTS_PER_DOMAIN", 1, 100_000),
            dns_seconds=read.number("DNS_TIMEOUT", 0.01, _LONGEST_SECONDS),
            dns_threads=read.whole("DNS_THREADS", 1, 1000),
            dns_cache_size=read.whole("DNSCACHE_SIZE", 0, 1 << 30) if read.flag("DNSCACHE_ENABLED") else 0,
            dns_cache_seconds=read.number("DNS_CACHE_SECONDS", 0, _LONGEST_SECONDS),
            dns_failure_seconds=read.number("DNS_FAILURE_SECONDS", 0, _LONGEST_SECONDS),
        )
