"""When does a worker end, does it say why, and what does it leave behind?"""

import time
from pathlib import Path
from typing import Any

import redis

from tests.fleet import CRAWL, Fleet
from tests.servers import wait_until
from tests.web import Site, WebServer


def test_a_finished_crawl_ends(redis_url: str, tmp_path: Path) -> None:
    with WebServer(Site.trees(hosts=4, pages=20), tmp_path) as web, Fleet(redis_url, tmp_path) as fleet:
        fleet.seed(web.seeds())
        workers = fleet.start(2)
        fleet.wait(30)
        assert {hit.url for hit in web.pages()} == web.expected_paths()
        fleet.check_complete(80)
        assert fleet.end_reasons() == {"finished"}
        assert all("Spider closed (finished)" in worker.log for worker in workers)
        assert [event["kind"] for event in fleet.events()].count("worker_left") == 2


def test_max_pages_is_never_exceeded(redis_url: str, tmp_path: Path) -> None:
    site = Site.trees(hosts=10, pages=40, latency_ms=5)
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, MAX_PAGES=50) as fleet:
        fleet.seed(web.seeds())
        fleet.start(3)
        fleet.wait(45)
        assert len(web.pages()) == 50
        assert fleet.check_sum().count("pages") == 50
        assert fleet.end_reasons() == {"max_pages"}


def test_a_drained_crawl_ends_and_another_worker_finishes_it(redis_url: str, tmp_path: Path) -> None:
    site = Site.trees(hosts=5, pages=60, latency_ms=100)
    # One at a time: the crawl must not be over before the command has begun.
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, CONCURRENT_REQUESTS=1) as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        web.wait_for_pages(5)
        answer = fleet.command("frontier", "drain")
        assert answer.returncode == 0, answer.stderr
        fleet.wait(30)
        assert fleet.end_reasons() == {"drained"}
        status = fleet.check_sum()
        assert status.count("queued") > 0
        assert status.count("dead") == 0
        assert fleet.command("frontier", "resume").returncode == 0
        fleet.start(1, CONCURRENT_REQUESTS=32)
        fleet.wait(30)
        assert {hit.url for hit in web.pages()} == web.expected_paths()
        assert len(web.pages()) == 300
        fleet.check_complete(300)


def _commands(redis_url: str) -> dict[str, int]:
    with redis.Redis.from_url(redis_url) as client:
        stats: dict[str, Any] = client.info("commandstats")
    return {name.removeprefix("cmdstat_"): int(row["calls"]) for name, row in stats.items()}


def test_keep_alive_waits_quietly_for_more(redis_url: str, tmp_path: Path) -> None:
    settings = {"KEEP_ALIVE": 1, "FRONTIER_IDLE_SECONDS": 1}
    with WebServer(Site.trees(hosts=2, pages=10), tmp_path) as web, Fleet(redis_url, tmp_path, **settings) as fleet:
        fleet.seed([web.seeds()[0]])
        (worker,) = fleet.start(1)
        web.wait_for_pages(10)
        wait_until(lambda: fleet.status().count("done") == 10)
        before, begin = _commands(redis_url), time.monotonic()
        time.sleep(5)
        after, seconds = _commands(redis_url), time.monotonic() - begin
        scripts = sum(after.get(name, 0) - before.get(name, 0) for name in ("evalsha", "eval"))
        assert scripts / seconds < 4, "an idle worker looks about once a second, and no more"
        # Commands that scripts call are counted too, so this is generous.
        assert (sum(after.values()) - sum(before.values())) / seconds < 40
        assert worker.is_running
        fleet.seed([web.seeds()[1]])
        web.wait_for_pages(20)
        worker.terminate()
        assert worker.wait(20) == 0
        fleet.check_complete(20)


def test_sigterm_gives_leases_back_at_once(redis_url: str, tmp_path: Path) -> None:
    site = Site.trees(hosts=10, pages=40, latency_ms=100)
    settings = {"CONCURRENT_REQUESTS": 8, "FRONTIER_LOCK_SECONDS": 600}
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, **settings) as fleet:
        fleet.seed(web.seeds())
        (first,) = fleet.start(1)
        web.wait_for_pages(60)
        first.terminate()
        assert first.wait(20) == 0
        assert "Spider closed (shutdown)" in first.log
        status = fleet.check_sum()  # leased is 0: nobody has to wait for a lock to run out
        assert status.count("queued") > 0
        assert status.count("dead") == 0
        fleet.start(1, CONCURRENT_REQUESTS=64)
        fleet.wait(40)
        assert {hit.url for hit in web.pages()} == web.expected_paths()
        assert len(web.pages()) == 400, "nothing was fetched twice"
        fleet.check_complete(400)


def test_the_status_command_names_the_crawl(redis_url: str, tmp_path: Path) -> None:
    with WebServer(Site.trees(hosts=1, pages=5), tmp_path) as web, Fleet(redis_url, tmp_path) as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        fleet.wait(30)
        answer = fleet.command("frontier", "status", "--json")
        assert answer.returncode == 0, answer.stderr
        assert f'"crawl": "{CRAWL}"' in answer.stdout or f'"crawl":"{CRAWL}"' in answer.stdout
