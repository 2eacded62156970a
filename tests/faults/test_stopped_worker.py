"""What does a worker do that was stopped (SIGSTOP, a sleeping laptop) while others went on with its URLs?"""

import time
from pathlib import Path

import pytest

from tests.fleet import Fleet
from tests.servers import wait_until
from tests.web import Site, WebServer


def stop_and_continue(redis_url: str, tmp_path: Path, stopped_seconds: float, pages: int, **settings: float) -> None:
    site = Site.trees(hosts=8, pages=pages, latency_ms=150)  # slow enough that the stopped one holds something
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, CONCURRENT_REQUESTS=24, **settings) as fleet:
        fleet.seed(web.seeds())
        sleeper, _ = fleet.start(2)
        wait_until(lambda: sum(hit.user_agent == sleeper.name for hit in web.pages()) > 20, "pages of the first worker")
        # The moment at which it holds URLs on the wire: then its acks will be late.
        wait_until(lambda: any(hit.end is None and hit.user_agent == sleeper.name for hit in web.pages()))
        sleeper.freeze()
        held = {hit.url for hit in web.pages() if hit.user_agent == sleeper.name and hit.end is None}
        begin = time.time()
        time.sleep(stopped_seconds)
        sleeper.thaw()
        end = time.time()
        fleet.wait(120)
        hits = web.pages()
        assert {hit.url for hit in hits} == web.expected_paths()
        status = fleet.check_complete(8 * pages)
        assert status.count("reclaimed") > 0
        taken_over = {hit.url for hit in hits if begin < hit.start < end and hit.user_agent != sleeper.name}
        assert not held or held & taken_over, "its URLs were taken over while it was stopped"
        refused = status.count("stale") > 0 or "Lost 127." in sleeper.log or "came too late" in sleeper.log
        assert refused, f"{status.counts}\n{sleeper.log[-3000:]}"
        fetched_twice = len(hits) - len({hit.url for hit in hits})
        assert fetched_twice <= 24 + 16  # what it held


def test_a_worker_stopped_for_longer_than_its_lock(redis_url: str, tmp_path: Path) -> None:
    stop_and_continue(redis_url, tmp_path, stopped_seconds=3, pages=40, FRONTIER_LOCK_SECONDS=1)


@pytest.mark.long
def test_a_worker_stopped_for_thirty_seconds(redis_url: str, tmp_path: Path) -> None:
    stop_and_continue(redis_url, tmp_path, stopped_seconds=30, pages=400)
