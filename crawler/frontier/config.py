"""Which settings does the frontier need? Read once, checked once, then passed around."""

import re
from dataclasses import dataclass
from pathlib import Path

from scrapy.settings import BaseSettings

from crawler.addresses import AddressPolicy
from crawler.configuration import SettingsReader
from crawler.errors import ConfigurationError
from crawler.patterns import read_patterns
from crawler.traps import TrapLimits

CLASSES = ("high", "medium", "low")
# What stands beside the crawls in a partition, see the key table.
_RESERVED = frozenset(
    {"alien", "fence", "leased", "polite", "robots", "robots-claim", "robots-failures", "visit", "visits"}
)
MOST_RECRAWL_SECONDS = 10 * 365 * 86400.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, slots=True)
class FrontierConfig:
    redis_url: str
    data_dir: Path
    namespace: str
    crawl: str
    partitions: int
    seen_buckets: int
    bloom_capacity: int
    bloom_error_rate: float
    recent_links: int
    rate: float
    burst: int
    lock_seconds: float
    visit_pages: int
    weights: tuple[int, int, int]
    lease_ahead: int
    unacked_pages: int
    flush_seconds: float
    idle_seconds: float
    max_crashes: int
    start_urls_key: str
    start_urls_batch: int
    retry_delays: tuple[float, ...]
    max_pages: int
    max_pages_per_host: int
    max_depth: int
    keep_alive: bool
    recrawl: bool
    recrawl_first_seconds: float
    recrawl_min_seconds: float
    recrawl_max_seconds: float
    allow_private: bool
    addresses: AddressPolicy
    follow_hosts: str
    follow_sitemaps: bool
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    hosts_deny: Path | None
    hosts_allow: Path | None
    skip_extensions: frozenset[str]
    traps: TrapLimits
    queries_per_path: int
    host_backoff_max_seconds: float
    spider_log: bool
    spider_log_length: int
    events_length: int

    @classmethod
    def from_settings(cls, settings: BaseSettings, crawl: str | None = None) -> "FrontierConfig":
        read = SettingsReader(settings)
        recrawl_min_seconds = read.number("RECRAWL_MIN_SECONDS", 0.01, MOST_RECRAWL_SECONDS)
        return cls(
            redis_url=read.text("REDIS_URL"),
            data_dir=Path(read.text("DATA_DIR")).expanduser().absolute(),
            namespace=check_name("FRONTIER_NAMESPACE", read.text("FRONTIER_NAMESPACE")),
            crawl=check_name("crawl", crawl) if crawl else check_name("FRONTIER_CRAWL", read.text("FRONTIER_CRAWL")),
            partitions=read.whole("FRONTIER_PARTITIONS", 0, 1024),
            seen_buckets=read.whole("FRONTIER_SEEN_BUCKETS", 1, 1 << 24),
            bloom_capacity=read.whole("FRONTIER_BLOOM_CAPACITY", 1000, 1 << 32),
            bloom_error_rate=read.number("FRONTIER_BLOOM_ERROR_RATE", 1e-9, 0.5),
            recent_links=read.whole("FRONTIER_RECENT_LINKS", 0, 100_000_000),
            rate=read.number("FRONTIER_RATE", 0, 1_000_000),
            burst=read.whole("FRONTIER_BURST", 1, 1_000_000),
            lock_seconds=read.number("FRONTIER_LOCK_SECONDS", 0.5, 3600),
            visit_pages=read.whole("FRONTIER_VISIT_PAGES", 1, 1000),
            weights=_weights(settings),
            lease_ahead=read.whole("FRONTIER_LEASE_AHEAD", 1, 10_000),
            unacked_pages=read.whole("FRONTIER_UNACKED_PAGES", 0, 10_000),
            flush_seconds=read.number("FRONTIER_FLUSH_SECONDS", 0, 10),
            idle_seconds=read.number("FRONTIER_IDLE_SECONDS", 0.05, 60),
            max_crashes=read.whole("FRONTIER_MAX_CRASHES", 1, 1000),
            start_urls_key=read.text("REDIS_START_URLS_KEY"),
            start_urls_batch=read.whole("REDIS_START_URLS_BATCH_SIZE", 1, 10_000),
            retry_delays=read.delays("RETRY_DELAYS"),
            max_pages=read.whole("MAX_PAGES", 0, 1 << 53),
            max_pages_per_host=read.whole("MAX_PAGES_PER_HOST", 0, 1 << 53),
            max_depth=read.whole("MAX_DEPTH", -1, 10_000),
            keep_alive=read.flag("KEEP_ALIVE"),
            recrawl=read.flag("RECRAWL"),
            recrawl_first_seconds=read.number("RECRAWL_FIRST_SECONDS", 0.01, MOST_RECRAWL_SECONDS),
            recrawl_min_seconds=recrawl_min_seconds,
            recrawl_max_seconds=read.number("RECRAWL_MAX_SECONDS", recrawl_min_seconds, MOST_RECRAWL_SECONDS),
            allow_private=read.flag("ALLOW_PRIVATE"),
            addresses=AddressPolicy.from_settings(settings),
            follow_hosts=read.choice("FOLLOW_HOSTS", ("seeds", "all")),
            follow_sitemaps=read.flag("FOLLOW_SITEMAPS"),
            include=read_patterns("INCLUDE", settings.get("INCLUDE")),
            exclude=read_patterns("EXCLUDE", settings.get("EXCLUDE")),
            hosts_deny=read.path("HOSTS_DENY_FILE"),
            hosts_allow=read.path("HOSTS_ALLOW_FILE"),
            skip_extensions=_skip_extensions(read),
            traps=_trap_limits(read),
            queries_per_path=read.whole("TRAP_QUERIES_PER_PATH", 0, 1_000_000),
            host_backoff_max_seconds=read.number("HOST_BACKOFF_MAX_SECONDS", 0, 86400),
            spider_log=read.flag("SPIDER_LOG"),
            spider_log_length=read.whole("SPIDER_LOG_LENGTH", 1, 1 << 40),
            events_length=read.whole("EVENTS_LENGTH", 1, 1 << 40),
        )


def check_name(what: str, value: str) -> str:
    """Names become parts of Redis keys, where ``|``, ``{`` and ``:`` have a meaning."""
    if value in _RESERVED:
        raise ConfigurationError(f"{what} {value!r} will not do: the frontier has keys of its own of that name")
    if not _NAME.fullmatch(value):
        raise ConfigurationError(
            f"{what} {value!r:.100} will not do: use up to 80 letters, digits, dots, dashes and underscores"
        )
    return value


def _skip_extensions(read: SettingsReader) -> frozenset[str]:
    skipped = {word.removeprefix(".") for word in read.words("SKIP_EXTENSIONS")}
    return frozenset(skipped - {"pdf"} if read.flag("PARSE_PDF") else skipped)


def _trap_limits(read: SettingsReader) -> TrapLimits:
    return TrapLimits(
        segments=read.whole("TRAP_PATH_SEGMENTS", 0, 10_000),
        repeats=read.whole("TRAP_PATH_REPEATS", 0, 10_000),
        same_segment=read.whole("TRAP_PATH_SAME_SEGMENT", 0, 10_000),
        segment_bytes=read.whole("TRAP_SEGMENT_BYTES", 0, 10_000),
        token_length=read.whole("TRAP_TOKEN_LENGTH", 0, 10_000),
        parameters=read.whole("TRAP_QUERY_PARAMETERS", 0, 10_000),
        same_parameter=read.whole("TRAP_QUERY_SAME_PARAMETER", 0, 10_000),
        years_past=read.whole("TRAP_YEARS_PAST", 0, 10_000),
        years_future=read.whole("TRAP_YEARS_FUTURE", 0, 10_000),
        sessions=read.flag("TRAP_SESSION_IDS"),
    )


def _weights(settings: BaseSettings) -> tuple[int, int, int]:
    raw = settings.get("FRONTIER_CLASS_WEIGHTS")
    try:
        given = {name: int(weight) for name, weight in settings.getdict("FRONTIER_CLASS_WEIGHTS").items()}
    except (TypeError, ValueError):
        given = {}
    if set(given) != set(CLASSES) or min(given.values()) <= 0:
        raise ConfigurationError(
            f"FRONTIER_CLASS_WEIGHTS is {raw!r}; it must give high, medium and low a positive whole number, "
            'as {"high": 70, "medium": 20, "low": 10}'
        )
    return given["high"], given["medium"], given["low"]
