"""Is a page kept, once, in the store and in the index, if workers are killed between the two? Also the one that writes
the embedded index.
"""

import contextlib
import random
import time
from pathlib import Path

import pytest

from tests.faults.keeping import Engines, check_kept, small_site
from tests.fleet import Fleet, Worker
from tests.storage.proxy import TroubleProxy
from tests.web import WebServer

WORKERS = 3


def writer_of_the_index(fleet: Fleet, data: Path) -> Worker | None:
    """Who has the lock, as it says itself."""
    with contextlib.suppress(OSError, ValueError):
        pid = int((data / "index" / "writer.lock").read_text())
        return next((worker for worker in fleet.running if worker.process.pid == pid), None)
    return None


def kill_again_and_again(fleet: Fleet, web: WebServer, engines: Engines, pages: int, kills: int) -> int:
    """Every second time the writer of the index. Answers how often that was somebody."""
    dice = random.Random(4)
    writers = 0
    fleet.start(WORKERS)
    for number in range(kills):
        web.wait_for_pages(int(pages * 0.8 * (number + 1) / kills), timeout_seconds=60)
        time.sleep(dice.random() * 0.3)
        writer = writer_of_the_index(fleet, engines.directory / "data") if number % 2 else None
        writers += writer is not None
        (writer or dice.choice(fleet.running)).kill9()
        fleet.start()
    return writers


def check_all_is_kept(fleet: Fleet, web: WebServer, engines: Engines, pages: int) -> None:
    status = fleet.check_sum()
    assert {name: status.count(name) for name in ("accepted", "queued", "done", "dead")} == {
        "accepted": pages, "queued": 0, "done": pages, "dead": 0,
    }  # fmt: skip
    # What a worker spooled in its last moment waits for the next one.
    drained = fleet.command("spool", "drain")
    assert drained.returncode == 0, drained.stderr
    check_kept(engines, web)


def run_kills(redis_url: str, engines: Engines, pages_per_host: int, kills: int) -> None:
    pages = 4 * pages_per_host
    site = small_site(pages=pages_per_host, latency_ms=60)
    with WebServer(site, engines.directory) as web, engines.fleet(redis_url, FRONTIER_LOCK_SECONDS=2) as fleet:
        fleet.seed(web.seeds())
        writers = kill_again_and_again(fleet, web, engines, pages, kills)
        fleet.wait(120)
        assert len(fleet.killed) == kills
        assert writers, "no writer of the index was killed"
        check_all_is_kept(fleet, web, engines, pages)


def test_kill9_between_store_and_index_loses_nothing(redis_url: str, engines: Engines, s3_proxy: TroubleProxy) -> None:
    s3_proxy.delay_seconds = 0.1  # the index has a page long before the store does
    run_kills(redis_url, engines, pages_per_host=25, kills=6)


def test_kill9_brings_no_body_into_warc_files_twice(redis_url: str, engines: Engines) -> None:
    engines.settings["STORE_FORMAT"] = "warc"
    run_kills(redis_url, engines, pages_per_host=10, kills=3)


def test_kill9_loses_no_warc_file_that_is_to_be_uploaded(
    redis_url: str, engines: Engines, s3_proxy: TroubleProxy
) -> None:
    engines.settings |= {"STORE_FORMAT": "warc", "WARC_MAX_BYTES": "10000"}  # so that many are on their way
    s3_proxy.delay_seconds = 0.1
    run_kills(redis_url, engines, pages_per_host=10, kills=3)


@pytest.mark.long
def test_kill9_of_workers_with_everything_in_directories(redis_url: str, engines: Engines) -> None:
    run_kills(redis_url, engines, pages_per_host=150, kills=30)
