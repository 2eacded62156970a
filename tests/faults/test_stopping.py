"""Does a worker that is told to stop lose nothing, and stop soon, also when an engine is away?"""

import pytest

from tests.faults.keeping import Engines, check_kept, check_store, small_site, spooled
from tests.fleet import Fleet
from tests.search.engine_proxy import Hang, ProxyInThread
from tests.servers import wait_until
from tests.storage.proxy import TroubleProxy
from tests.web import WebServer

PAGES = 60
MIDDLE = 15
STOP_SECONDS = 45  # what an engine's client has of patience, and a little


def stop_all(fleet: Fleet) -> None:
    for worker in fleet.running:
        worker.terminate()
    for worker in fleet.workers:
        assert worker.wait(STOP_SECONDS) == 0, worker.log[-3000:]
        assert not worker.was_killed
        assert "Traceback" not in worker.log


def test_a_worker_that_is_told_to_stop_keeps_what_it_has(redis_url: str, engines: Engines) -> None:
    with WebServer(small_site(latency_ms=100), engines.directory) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        fleet.start(2)
        web.wait_for_pages(MIDDLE)
        stop_all(fleet)
        status = fleet.check_sum()
        assert 0 < status.count("done") < PAGES
        assert status.count("dead") == 0
        assert not spooled(engines), "the last of them writes the embedded index"
        check_store(engines, web)
        fleet.start(1)
        fleet.wait()
        fleet.check_complete(PAGES)
        check_kept(engines, web)


@pytest.mark.parametrize("spool_bytes", [1 << 30, 20_000], ids=["room in the spool", "spool full"])
@pytest.mark.parametrize("engine", ["index", "store"])
def test_a_worker_stops_while_an_engine_is_away(
    redis_url: str, engines: Engines, engine: str, spool_bytes: int, request: pytest.FixtureRequest
) -> None:
    proxy = request.getfixturevalue("index_proxy" if engine == "index" else "s3_proxy")
    site = small_site(latency_ms=100)
    with WebServer(site, engines.directory) as web, engines.fleet(redis_url, SPOOL_BYTES=spool_bytes) as fleet:
        fleet.seed(web.seeds())
        [worker] = fleet.start(1)
        web.wait_for_pages(MIDDLE)
        take_away(proxy)
        said = "The crawl waits" if spool_bytes < 1 << 20 else f"The {engine} is away"
        wait_until(lambda: said in worker.log, said)
        stop_all(fleet)
        status = fleet.check_sum()
        assert status.count("done") < PAGES
        assert status.count("dead") == 0
        assert spooled(engines)
        bring_back(proxy)
        fleet.start(1)
        fleet.wait()
        fleet.check_complete(PAGES)
        check_kept(engines, web)


@pytest.mark.long
def test_a_worker_stops_while_an_index_takes_everything_and_never_answers(
    redis_url: str, engines: Engines, index_proxy: ProxyInThread
) -> None:
    with (
        WebServer(small_site(latency_ms=100), engines.directory) as web,
        engines.fleet(redis_url, INDEX_TIMEOUT_SECONDS=5) as fleet,
    ):
        fleet.seed(web.seeds())
        fleet.start(1)
        web.wait_for_pages(MIDDLE)
        index_proxy.proxy.otherwise = Hang()
        web.wait_for_pages(MIDDLE + 5)
        stop_all(fleet)
        index_proxy.proxy.otherwise = None
        fleet.start(1)
        fleet.wait()
        fleet.check_complete(PAGES)
        check_kept(engines, web)


def take_away(proxy: ProxyInThread | TroubleProxy) -> None:
    if isinstance(proxy, TroubleProxy):
        proxy.refuse_next = -1
    else:
        proxy.go_away()


def bring_back(proxy: ProxyInThread | TroubleProxy) -> None:
    if isinstance(proxy, TroubleProxy):
        proxy.refuse_next = 0
    else:
        proxy.come_back()
