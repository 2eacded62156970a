"""Has this crawl already accepted this URL? The first of two tiers: what the worker knows without asking Redis.

The second tier, exact sets in Redis, decides inside ``push.lua``, where marking and queueing are one step. Here
nothing is decided against a URL unless it is certain: a Bloom filter can only say "perhaps".
"""

from enum import Enum
from typing import Self

from rbloom import Bloom
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter

from crawler.errors import BadUrl
from crawler.frontier.config import FrontierConfig
from crawler.frontier.entry import request_fingerprint


class Verdict(Enum):
    NEW = "new"  # certainly not pushed by this worker: goes out with the next push
    PERHAPS = "perhaps"  # in the Bloom filter: the exact set is asked
    SEEN = "seen"  # certainly accepted before


class DupeFilter(BaseDupeFilter):
    def __init__(self, config: FrontierConfig) -> None:
        # The fingerprints are hashes already; a second hash function would only cost time.
        self._bloom = Bloom(config.bloom_capacity, config.bloom_error_rate, hash_func=_as_it_is)
        # Two generations of exact knowledge: the older one is forgotten when the younger is full.
        self._recent: set[int] = set()
        self._older: set[int] = set()
        self._generation = max(1, config.recent_links // 2)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(FrontierConfig.from_settings(crawler.settings))

    def look_up(self, fingerprint: int) -> Verdict:
        if fingerprint in self._recent or fingerprint in self._older:
            return Verdict.SEEN
        return Verdict.PERHAPS if fingerprint in self._bloom else Verdict.NEW

    def remember(self, fingerprint: int) -> None:
        """Only for what Redis confirmed: a URL is never dropped because of a push that did not arrive."""
        self._bloom.add(fingerprint)
        self._recent.add(fingerprint)
        if len(self._recent) >= self._generation:
            self._older, self._recent = self._recent, set()

    def request_seen(self, request: Request) -> bool:
        """Scrapy's own question, for extensions that ask it; the scheduler uses ``look_up``."""
        try:
            return self.look_up(request_fingerprint(request)) is Verdict.SEEN
        except BadUrl:
            return False


def _as_it_is(fingerprint: object) -> int:
    assert isinstance(fingerprint, int)  # noqa: S101  rbloom's type for what it is given
    return fingerprint
