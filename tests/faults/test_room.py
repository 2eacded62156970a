"""What if there is no room: in the spool, or on the disk? The crawl waits, in bounded memory, and then goes on."""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.faults.keeping import Engines, check_kept, check_store, small_site, spooled
from tests.fleet import Fleet
from tests.search.engine_proxy import ProxyInThread
from tests.servers import wait_until
from tests.storage.proxy import TroubleProxy
from tests.web import WebServer

PAGES = 60
MIDDLE = 15
WAITS = "The crawl waits for the"
MOST_GROWTH_BYTES = 64 * 1024 * 1024
DISK_BYTES = 24 * 1024 * 1024


def wait_until_it_stands_still(web: WebServer, fleet: Fleet, said: str) -> int:
    """How many pages were asked for when no more came. One worker may have them all, and the other nothing to do."""
    wait_until(lambda: any(said in worker.log for worker in fleet.workers), "a worker to wait")
    seen, since = len(web.pages()), time.monotonic()

    def is_still() -> bool:
        nonlocal seen, since
        if len(web.pages()) != seen:
            seen, since = len(web.pages()), time.monotonic()
        return time.monotonic() - since > 1.5

    wait_until(is_still, "a crawl that stands still")
    return seen


def check_it_waits(web: WebServer, fleet: Fleet, pages: int, said: str = WAITS) -> None:
    seen = wait_until_it_stands_still(web, fleet, said)
    assert seen < pages, "the crawl did not wait"
    status = fleet.check_sum()
    assert status.count("dead") == 0
    assert all(worker.is_running for worker in fleet.workers)


@pytest.mark.parametrize("engine", ["index", "store"])
def test_a_full_spool_makes_the_crawl_wait(
    redis_url: str, engines: Engines, engine: str, request: pytest.FixtureRequest
) -> None:
    proxy = request.getfixturevalue("index_proxy" if engine == "index" else "s3_proxy")
    site = small_site(pages=25)
    with WebServer(site, engines.directory) as web, engines.fleet(redis_url, SPOOL_BYTES=30_000) as fleet:
        fleet.seed(web.seeds())
        workers = fleet.start(2)
        web.wait_for_pages(MIDDLE)
        _take_away(proxy)
        before = {worker.name: psutil.Process(worker.process.pid).memory_info().rss for worker in workers}
        check_it_waits(web, fleet, pages=100)
        for worker in workers:
            grown = psutil.Process(worker.process.pid).memory_info().rss - before[worker.name]
            assert grown < MOST_GROWTH_BYTES
        assert sum(path.stat().st_size for path in spooled(engines)) < 200_000
        _bring_back(proxy)
        fleet.wait()
        fleet.check_complete(100)
        check_kept(engines, web)


def _take_away(proxy: ProxyInThread | TroubleProxy) -> None:
    if isinstance(proxy, TroubleProxy):
        proxy.refuse_next = -1
    else:
        proxy.go_away()


def _bring_back(proxy: ProxyInThread | TroubleProxy) -> None:
    if isinstance(proxy, TroubleProxy):
        proxy.refuse_next = 0
    else:
        proxy.come_back()


def test_a_page_that_is_larger_than_the_spool_may_be_is_kept(redis_url: str, engines: Engines) -> None:
    """The embedded index gets everything over the spool: a limit must not stop it for ever."""
    site = small_site(hosts=2, pages=10)
    with WebServer(site, engines.directory) as web, engines.fleet(redis_url, SPOOL_BYTES=1024) as fleet:
        fleet.seed(web.seeds())
        fleet.start(2)
        fleet.wait()
        fleet.check_complete(20)
        check_kept(engines, web)


@pytest.fixture
def small_disk(engines: Engines) -> Iterator[Path]:
    """DATA_DIR, with no room for a crawl."""
    if os.geteuid() != 0:
        pytest.skip("a small file system can be mounted by root only")
    directory = engines.directory / "data"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(directory)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=False)


@pytest.mark.parametrize("format_", ["html", "warc"])
def test_a_disk_that_is_full_for_a_while_loses_nothing(
    redis_url: str, engines: Engines, small_disk: Path, format_: str
) -> None:
    """Spool, store, index and the list of pages are all there."""
    engines.settings["STORE_FORMAT"] = format_
    with WebServer(small_site(pages=25), engines.directory) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        fleet.start(2)
        web.wait_for_pages(MIDDLE)
        fill(small_disk / "ballast")
        check_it_waits(web, fleet, pages=100)
        (small_disk / "ballast").unlink()
        fleet.wait()
        fleet.check_complete(100)
        check_kept(engines, web)
        check_page_log(small_disk, web)
        assert not list((small_disk / "store" / ".tmp").glob("*-*")), "half-written files were left behind"


def test_the_list_of_pages_waits_for_room_as_well(redis_url: str, engines: Engines, small_disk: Path) -> None:
    engines.settings["STORE_URL"] = f"file:{engines.directory / 'store'}"  # the pages themselves have room
    with WebServer(small_site(pages=25), engines.directory) as web, engines.fleet(redis_url, INDEX_PAGES=0) as fleet:
        fill(small_disk / "ballast")
        fleet.seed(web.seeds())
        fleet.start(1)
        check_it_waits(web, fleet, pages=100, said="The crawl waits: ")
        (small_disk / "ballast").unlink()
        fleet.wait()
        fleet.check_complete(100)
        check_store(engines, web)
        check_page_log(small_disk, web)


def fill(path: Path) -> None:
    """To the last byte, also of what others free meanwhile."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)):
                    pass


def check_page_log(data: Path, web: WebServer) -> None:
    [log] = data.glob("crawls/*/pages.jsonl")
    urls = [json.loads(line)["url"] for line in log.read_text().splitlines()]
    assert sorted(urls) == sorted(web.served())
