"""Is a URL ever lost to the Bloom filter? Through the outbox, into a real frontier."""

from collections.abc import Callable
from typing import Any

import pytest
from scrapy import Request
from scrapy.settings import Settings

from crawler.frontier.dupefilter import DupeFilter, Verdict
from crawler.frontier.leases import Holdings
from crawler.frontier.outbox import Outbox
from crawler.frontier.reasons import Drop
from crawler.frontier.scope import Scope
from crawler.frontier.strategy.links import Page
from crawler.frontier.strategy.runner import StrategyRunner
from crawler.urls import canonicalise
from tests.frontier.frontiers import Crawl, _defaults

# As small and as wrong as the settings allow, and full many times over: nearly everything is a perhaps.
TINY = {"bloom_capacity": 1000, "bloom_error_rate": 0.5, "recent_links": 0}
URLS = [f"http://a.example/{number}" for number in range(5000)]


class Sender:
    """What a worker has, without the engine."""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        config = crawl.frontier.config
        self.filter = DupeFilter(config)
        strategy = StrategyRunner.from_settings(Settings(_defaults()))
        self.outbox = Outbox(crawl.frontier, self.filter, Scope(True, True, -1), strategy, Holdings())

    def send(self, urls: list[str]) -> int:
        self.outbox.add_links(Page("http://a.example/", 200, 0), [canonicalise(url) for url in urls])
        accepted: int = self.crawl.run(self.outbox.push())
        return accepted


def test_no_url_is_lost_to_false_positives(open_crawl: Callable[..., Crawl]) -> None:
    crawl = open_crawl(**TINY)
    sender = Sender(crawl)
    accepted = sum(sender.send(URLS[first : first + 250]) for first in range(0, len(URLS), 250))
    assert accepted == len(URLS)
    assert 500 < sender.outbox.false_positives < len(URLS)
    assert sorted(crawl.finish_urls()) == sorted(URLS)


def test_a_duplicate_that_only_redis_remembers_is_still_a_duplicate(open_crawl: Callable[..., Crawl]) -> None:
    crawl = open_crawl(**TINY)
    sender = Sender(crawl)
    sender.send(URLS[:1000])
    assert sender.send(URLS[:1000]) == 0
    assert sender.outbox.drops[Drop.DUPLICATE] == 1000
    # Another worker has an empty filter, and is told by push itself.
    assert Sender(crawl).send(URLS[:1000]) == 0
    assert crawl.counts("accepted", "queued") == (1000, 1000)


def test_a_push_that_failed_is_not_remembered(open_crawl_on_one: Callable[..., Crawl], monkeypatch: Any) -> None:
    crawl = open_crawl_on_one()
    sender = Sender(crawl)
    urls = URLS[:10]

    async def fail(links: Any) -> list[int]:
        raise ConnectionError("Redis is away")

    with monkeypatch.context() as patch:
        patch.setattr(crawl.frontier, "push", fail)
        with pytest.raises(ConnectionError):
            sender.send(urls)
    assert all(sender.filter.look_up(canonicalise(url).fingerprint) is Verdict.NEW for url in urls)
    assert crawl.run(sender.outbox.push()) == 10


def test_three_verdicts(open_crawl_on_one: Callable[..., Crawl]) -> None:
    filter_ = DupeFilter(open_crawl_on_one(recent_links=2).frontier.config)
    assert filter_.look_up(7) is Verdict.NEW
    filter_.remember(7)
    assert filter_.look_up(7) is Verdict.SEEN
    filter_.remember(8)
    assert filter_.look_up(7) is Verdict.PERHAPS  # forgotten for certain, but the Bloom filter has it


def test_scrapys_own_question(open_crawl_on_one: Callable[..., Crawl]) -> None:
    filter_ = DupeFilter(open_crawl_on_one().frontier.config)
    request = Request("http://a.example/#fragment")
    assert not filter_.request_seen(request)
    filter_.remember(canonicalise("http://a.example/").fingerprint)
    assert filter_.request_seen(request)
    assert not filter_.request_seen(Request("http://a.example/", method="POST", body=b"x"))
    assert not filter_.request_seen(Request("ftp://a.example/"))
