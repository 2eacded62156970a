"""Is a URL lost, or fetched more often than must be, when workers or Redis die? The web server's log is the judge."""

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.fleet import Fleet
from tests.servers import RedisServer, short_directory, wait_until
from tests.web import Hit, Site, WebServer

CONCURRENT = 12
AHEAD = 4
UNACKED = 4
# What a killed worker had fetched without having said so: its fetches, its callbacks, and one flush.
FORGOTTEN_SECONDS = 5.0
WAITING = "Waiting for it; nothing is lost"
SMALL = {
    "CONCURRENT_REQUESTS": CONCURRENT,
    "FRONTIER_LEASE_AHEAD": AHEAD,
    "FRONTIER_UNACKED_PAGES": UNACKED,
    "FRONTIER_MAX_CRASHES": 1000,  # these URLs did not kill their workers
    "LOG_LEVEL": "INFO",
}


def kill_at_random(fleet: Fleet, web: WebServer, kills: int, pages: int, workers: int) -> None:
    """Kills workers that are at work, after random numbers of pages, and replaces each."""
    dice = random.Random(20)
    fleet.start(workers)
    done = 0
    for number in range(kills):
        # Spread over the crawl, and away from its end, where there would be nobody left to kill.
        target = int(pages * 0.85 * (number + dice.random()) / kills)
        web.wait_for_pages(max(target, done + 1), timeout_seconds=60)
        time.sleep(dice.random() * 0.05)
        busy = {hit.user_agent for hit in web.pages()[-200:]}
        victims = [worker for worker in fleet.running if worker.name in busy] or fleet.running
        dice.choice(victims).kill9()
        fleet.start()
        done = len(web.pages())
    assert len(fleet.killed) == kills


def check_extra_fetches(fleet: Fleet, web: WebServer) -> int:
    """Only what a killed worker had in flight was fetched again.

    On a machine that is too busy a living worker may lose a lock; then its log says so, and that host is its excuse.
    """
    workers = {worker.name: worker for worker in fleet.workers}
    logs = {worker.name: worker.log for worker in fleet.workers}
    before: dict[str, Hit] = {}
    forgotten: Counter[str] = Counter()
    extra = 0
    for hit in web.pages():
        earlier = before.get(hit.url)
        before[hit.url] = hit
        if earlier is None:
            continue
        extra += 1
        if f"Lost {hit.host}" in logs[earlier.user_agent]:
            continue
        worker = workers[earlier.user_agent]
        assert worker.was_killed, f"fetched again though nobody died: {earlier} {hit}"
        assert worker.killed_at - earlier.start < FORGOTTEN_SECONDS, (earlier, hit)
        forgotten[worker.name] += 1
    assert all(number <= CONCURRENT + AHEAD + UNACKED for number in forgotten.values()), forgotten
    return extra


def test_kill9_of_workers_loses_nothing(redis_url: str, tmp_path: Path) -> None:
    kills, site = 20, Site.trees(hosts=50, pages=100, latency_ms=5, other_hosts=1)
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, FRONTIER_LOCK_SECONDS=6, **SMALL) as fleet:
        fleet.seed(web.seeds())
        kill_at_random(fleet, web, kills, pages=5000, workers=3)
        fleet.wait(90)
        assert {hit.url for hit in web.pages()} == web.expected_paths()
        extra = check_extra_fetches(fleet, web)
        assert extra <= kills * (CONCURRENT + AHEAD + UNACKED)
        assert extra == len(web.pages()) - 5000
        fleet.check_complete(5000)


def test_the_same_kills_lose_urls_on_scrapy_redis(redis_url: str, tmp_path: Path) -> None:
    """A harness that shows no loss there proves nothing."""
    site = Site.trees(hosts=20, pages=75, latency_ms=5, other_hosts=1)
    with WebServer(site, tmp_path) as web:
        peer = {
            "SPIDER_MODULES": "tests.spiders",
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": 1,
            "SCHEDULER_IDLE_BEFORE_CLOSE": 0,
            "REDIS_URL": redis_url,
            "PAGE_LOG": 0,
            "ROBOTSTXT_OBEY": 0,
            "POLITENESS_ENABLED": 0,
        }
        seeds = {"TEST_SEEDS": " ".join(web.seeds())}
        with Fleet(redis_url, tmp_path, spider="plain", env=seeds, **{**SMALL, **peer}) as fleet:
            kill_at_random(fleet, web, kills=6, pages=1000, workers=3)
            fleet.wait(90)
            answered = {hit.url for hit in web.pages() if hit.status == 200}
            lost = web.expected_paths() - answered
            assert len(answered) > 500, "this crawl must be a real one"
            assert lost, "scrapy-redis lost nothing: the harness does not kill as it should"


def test_kill9_of_redis_and_restart(tmp_path: Path) -> None:
    site = Site.trees(hosts=20, pages=60, latency_ms=5)
    with short_directory() as directory, RedisServer(directory) as server, WebServer(site, tmp_path) as web:
        # Each write on disk at once: a test of what the workers do must not depend on the last second of the AOF.
        server.extra_args = ("--appendfsync", "always")
        server.restart()
        with Fleet(server.url, tmp_path, FRONTIER_LOCK_SECONDS=5, **SMALL) as fleet:
            fleet.seed(web.seeds())
            workers = fleet.start(3)
            web.wait_for_pages(300)
            server.kill9()
            wait_until(lambda: all(WAITING in worker.log for worker in workers), "every worker to notice", 20)
            server.start()
            fleet.wait(90)
            assert {hit.url for hit in web.pages()} == web.expected_paths()
            fleet.check_complete(1200)
            assert not any("Traceback" in worker.log for worker in workers)


@pytest.mark.long
def test_kill9_of_redis_again_and_again(tmp_path: Path) -> None:
    site = Site.trees(hosts=40, pages=150, latency_ms=10)
    with (
        short_directory() as directory,
        WebServer(site, tmp_path) as web,
        RedisServer(directory, extra_args=["--appendfsync", "always"]) as server,
        Fleet(server.url, tmp_path, FRONTIER_LOCK_SECONDS=5, **SMALL) as fleet,
    ):
        fleet.seed(web.seeds())
        fleet.start(3)
        for number in range(1, 9):
            web.wait_for_pages(600 * number)
            server.kill9()
            time.sleep(random.random() * 4)
            server.start()
        fleet.wait(300)
        assert {hit.url for hit in web.pages()} == web.expected_paths()
        fleet.check_complete(6000)
