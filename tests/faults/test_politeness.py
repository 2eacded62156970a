"""Is a host ever asked faster than its rate, or by two workers at once? By the web server's log."""

import dataclasses
import itertools
from pathlib import Path

import pytest

from tests.fleet import Fleet
from tests.web import Answer, Hit, Site, WebServer, loopback, max_in_any_window_excess, overlaps_between_agents


def crawl_politely(redis_url: str, tmp_path: Path, hosts: int, pages: int, rate: float, burst: int) -> None:
    site = Site.trees(hosts=hosts, pages=pages, latency_ms=20, other_hosts=1)
    settings = {"FRONTIER_RATE": rate, "FRONTIER_BURST": burst}
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, **settings) as fleet:
        fleet.seed(web.seeds())
        fleet.start(4)
        fleet.wait(60 + 2 * pages / rate)
        hits = web.requests()
        assert {hit.url for hit in web.pages()} == web.expected_paths()
        assert sum(hit.path == "/robots.txt" for hit in hits) == hosts
        assert max_in_any_window_excess(hits, rate, burst) <= 0
        assert overlaps_between_agents(hits) == []
        assert len({hit.user_agent for hit in hits}) > 1, "one worker alone proves nothing"
        fleet.check_complete(hosts * pages)
        # Polite, and not asleep: a host takes (pages - burst) / rate seconds at the best.
        seconds = hits[-1].start - hits[0].start
        assert seconds < 3 * (pages + 1) / rate + 8, seconds


def test_four_workers_keep_to_the_rate(redis_url: str, tmp_path: Path) -> None:
    crawl_politely(redis_url, tmp_path, hosts=12, pages=25, rate=5, burst=3)


@pytest.mark.long
def test_four_workers_keep_to_the_rate_for_long(redis_url: str, tmp_path: Path) -> None:
    crawl_politely(redis_url, tmp_path, hosts=40, pages=120, rate=2, burst=10)


def test_a_spider_on_the_stock_scheduler_shares_hosts_with_a_crawl(redis_url: str, tmp_path: Path) -> None:
    rate, burst = 5.0, 3
    site = Site.trees(hosts=4, pages=15, latency_ms=20)
    polite = {"FRONTIER_RATE": rate, "FRONTIER_BURST": burst}
    stock = {
        **polite, "SPIDER_MODULES": "tests.spiders", "SCHEDULER": "scrapy.core.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter", "PAGE_LOG": 0,
    }  # fmt: skip
    (tmp_path / "stock").mkdir()
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, **polite) as fleet:
        seeds = {"TEST_SEEDS": " ".join(web.seeds())}
        with Fleet(redis_url, tmp_path / "stock", spider="plain", env=seeds, **stock) as others:
            fleet.seed(web.seeds())
            fleet.start(1)
            others.start(1, USER_AGENT="stock")
            fleet.wait(60)
            others.wait(60)
            hits = web.requests()
            for agent in ("worker-1", "stock"):
                assert {hit.url for hit in web.pages() if hit.user_agent == agent} == web.expected_paths()
            assert max_in_any_window_excess(hits, rate, burst) <= 0
            assert overlaps_between_agents(hits) == []


def test_a_server_that_wants_rest_gets_it_from_the_whole_fleet(redis_url: str, tmp_path: Path) -> None:
    site = Site.trees(hosts=6, pages=30, latency_ms=20, robots="User-agent: *\nCrawl-delay: 0.5\n")
    for number in (1, 2, 3):
        site.hosts[loopback(number)].answers["/p/2"] = [Answer(429, {"Retry-After": "3"}), Answer(200)]
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path) as fleet:
        fleet.seed(web.seeds())
        fleet.start(4)
        fleet.wait(120)
        assert {hit.url for hit in web.pages()} == web.expected_paths()
        assert sum(hit.path == "/robots.txt" for hit in web.requests()) == 6
        fleet.check_complete(180)
        assert early_requests(web.requests(), delay_seconds=0.5, rest_seconds=3) == []


def test_names_of_one_address_can_share_its_bucket(redis_url: str, tmp_path: Path) -> None:
    """localhost, ip6-localhost and the like are not on every machine; ports are hosts of their own everywhere."""
    rate, burst = 5.0, 3
    settings = {"FRONTIER_RATE": rate, "FRONTIER_BURST": burst, "POLITENESS_BY_ADDRESS": 1}
    (tmp_path / "other").mkdir()
    site = Site.trees(hosts=1, pages=12, latency_ms=10)
    with (
        WebServer(site, tmp_path) as web,
        WebServer(site, tmp_path / "other") as other,
        Fleet(redis_url, tmp_path, **settings) as fleet,
    ):
        fleet.seed([*web.seeds(), *other.seeds()])
        fleet.start(2)
        fleet.wait(90)
        fleet.check_complete(24)
        hits = sorted([*web.requests(), *other.requests()], key=lambda hit: hit.start)
        as_one = [dataclasses.replace(hit, host="127.0.0.1") for hit in hits]
        assert max_in_any_window_excess(as_one, rate, burst) <= 0
        assert overlaps_between_agents(as_one) == []


def early_requests(hits: list[Hit], delay_seconds: float, rest_seconds: float) -> list[tuple[Hit, Hit]]:
    """Pairs of requests to one host with too little between them: the delay, or after a 429 the rest."""
    early = []
    for before, after in itertools.pairwise(sorted(hits, key=lambda hit: (hit.host, hit.start))):
        if before.host == after.host:
            is_busy = before.status == 429
            begins = before.end if is_busy and before.end else before.start
            if after.start - begins < (rest_seconds if is_busy else delay_seconds):
                early.append((before, after))
    return early
