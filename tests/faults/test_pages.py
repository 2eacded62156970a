"""Is a page lost, or kept twice, when the index or the store fails in the middle of a crawl?

Real crawls by several workers, with proxies in front of real engines; judged by the web server's log.
"""

import json

import pytest

from crawler.storage.page import page_id
from crawler.urls import fingerprint
from tests.faults.keeping import Engines, check_index, check_kept, check_store, small_site, spooled, wait_until_open
from tests.search.engine_proxy import FailItems, ProxyInThread, Refuse
from tests.servers import wait_until
from tests.storage.proxy import TroubleProxy
from tests.storage.seaweed import SECRET_KEY
from tests.web import WebServer

PAGES = 60
MIDDLE = 15
INDEX_AWAY = "The index is away"
STORE_AWAY = "The store is away"


# --- The index -------------------------------------------------------------------------------


def test_an_index_that_is_down_for_a_while_gets_all_documents(
    redis_url: str, engines: Engines, index_proxy: ProxyInThread
) -> None:
    with WebServer(small_site(), engines.directory) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        workers = fleet.start(2)
        web.wait_for_pages(MIDDLE)
        index_proxy.go_away()
        wait_until(lambda: any(INDEX_AWAY in worker.log for worker in workers), "a worker to notice")
        web.wait_for_pages(PAGES)  # the crawl goes on meanwhile
        wait_until(lambda: spooled(engines), "pages in the spool")
        index_proxy.come_back()
        fleet.wait()
        fleet.check_complete(PAGES)
        if spooled(engines):  # the workers may have ended first
            assert fleet.command("spool", "drain").returncode == 0
        check_kept(engines, web)


def test_an_index_that_says_429_for_a_while_gets_all_documents(
    redis_url: str, engines: Engines, index_proxy: ProxyInThread
) -> None:
    with WebServer(small_site(), engines.directory) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        fleet.start(2)
        web.wait_for_pages(MIDDLE)
        before = len(index_proxy.proxy.bulks)
        index_proxy.proxy.otherwise = Refuse(429)
        wait_until(lambda: len(index_proxy.proxy.bulks) >= before + 6, "bulks that are turned away")
        index_proxy.proxy.otherwise = None
        fleet.wait()
        fleet.check_complete(PAGES)
        check_kept(engines, web)


def test_bulks_that_fail_in_part_arrive_whole(redis_url: str, engines: Engines, index_proxy: ProxyInThread) -> None:
    seen: set[str] = set()

    def fail_first_time(id_: str) -> int | None:
        """Each odd document once, and with an error of its own."""
        if id_ in seen or int(id_, 16) % 2:
            return None
        seen.add(id_)
        return 503 if int(id_, 16) % 4 else 429

    index_proxy.proxy.otherwise = FailItems(fail_first_time)
    with WebServer(small_site(), engines.directory) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        fleet.start(2)
        fleet.wait()
        fleet.check_complete(PAGES)
        assert len(seen) > PAGES / 4
        check_kept(engines, web)


def test_a_poison_document_is_set_aside_and_the_others_are_indexed(
    redis_url: str, engines: Engines, index_proxy: ProxyInThread
) -> None:
    with WebServer(small_site(), engines.directory) as web, engines.fleet(redis_url) as fleet:
        poison = sorted(web.expected_paths())[7]
        bad = page_id(fingerprint(poison))
        index_proxy.proxy.otherwise = FailItems(lambda id_: 400 if id_ == bad else None, "mapper_parsing_exception")
        fleet.seed(web.seeds())
        fleet.start(2)
        fleet.wait()
        fleet.check_complete(PAGES)
        check_store(engines, web)
        check_index(engines, web, missing=(poison,))
        lines = (engines.directory / "data" / "spool" / "index" / "rejected.jsonl").read_text().splitlines()
        [rejected] = [json.loads(line) for line in lines]
        assert rejected["name"] == poison
        assert "mapper_parsing_exception" in rejected["error"]
        assert not spooled(engines)


# --- The store -------------------------------------------------------------------------------


def test_a_store_that_says_503_for_a_while_gets_all_pages(
    redis_url: str, engines: Engines, s3_proxy: TroubleProxy
) -> None:
    with WebServer(small_site(), engines.directory) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        workers = fleet.start(2)
        web.wait_for_pages(MIDDLE)
        s3_proxy.refuse_next = -1
        wait_until(lambda: any(STORE_AWAY in worker.log for worker in workers), "a worker to notice")
        web.wait_for_pages(PAGES)
        s3_proxy.refuse_next = 0
        fleet.wait()
        fleet.check_complete(PAGES)
        if spooled(engines):
            assert fleet.command("spool", "drain").returncode == 0
        check_kept(engines, web)


def test_warc_files_wait_for_a_store_that_says_503(redis_url: str, engines: Engines, s3_proxy: TroubleProxy) -> None:
    engines.settings |= {"STORE_FORMAT": "warc", "WARC_MAX_BYTES": "10000"}
    with WebServer(small_site(), engines.directory) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        workers = fleet.start(2)
        web.wait_for_pages(MIDDLE)
        s3_proxy.refuse_next = -1
        fleet.wait()
        fleet.check_complete(PAGES)
        assert any("stays here for now" in worker.log for worker in workers)
        assert fleet.command("spool", "drain").returncode == 1
        s3_proxy.refuse_next = 0
        drained = fleet.command("spool", "drain")
        assert drained.returncode == 0, drained.stderr
        check_kept(engines, web)


def test_a_store_that_loses_answers_keeps_each_page_once(
    redis_url: str, engines: Engines, s3_proxy: TroubleProxy
) -> None:
    with WebServer(small_site(), engines.directory) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        fleet.start(2)
        web.wait_for_pages(MIDDLE)
        s3_proxy.lose_next = 20
        fleet.wait()
        assert s3_proxy.lose_next == 0, "no answer was lost"
        fleet.check_complete(PAGES)
        check_kept(engines, web)


def test_a_wrong_secret_is_told_before_the_crawl(
    redis_url: str, engines: Engines, s3_proxy: TroubleProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret-of-anybody")
    with WebServer(small_site(), engines.directory) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        [worker] = fleet.start()
        assert worker.wait() != 0
        assert not web.requests()
        assert "Traceback" not in worker.log
        assert "not-the-secret" not in worker.log
        [line] = [line for line in worker.log.splitlines() if "AWS_SECRET_ACCESS_KEY" in line]
        assert "the secret key is wrong" in line
        status = fleet.check_sum()
        assert status.count("dead") == 0


def test_a_secret_that_is_refused_in_the_middle_loses_no_page(
    redis_url: str, engines: Engines, s3_proxy: TroubleProxy
) -> None:
    with WebServer(small_site(), engines.directory) as web, engines.fleet(redis_url) as fleet:
        workers = fleet.start(2)
        wait_until_open(fleet)
        fleet.seed(web.seeds())
        web.wait_for_pages(MIDDLE)
        s3_proxy.spoils_signatures = True
        fleet.wait()
        fleet.check_complete(PAGES)
        assert any("the secret key is wrong" in worker.log for worker in workers)
        assert not any(SECRET_KEY in worker.log or "Traceback" in worker.log for worker in workers)
        assert spooled(engines)
        refused = fleet.command("spool", "drain")
        assert refused.returncode != 0
        assert "Traceback" not in refused.stderr
        s3_proxy.spoils_signatures = False
        drained = fleet.command("spool", "drain")
        assert drained.returncode == 0, drained.stderr
        check_kept(engines, web)


# --- One without the other -------------------------------------------------------------------


def test_the_index_gets_everything_while_the_store_is_away_for_good(
    redis_url: str, engines: Engines, s3_proxy: TroubleProxy
) -> None:
    with WebServer(small_site(), engines.directory) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        fleet.start(2)
        web.wait_for_pages(MIDDLE)
        s3_proxy.refuse_next = -1
        fleet.wait()
        fleet.check_complete(PAGES)
        check_index(engines, web)
        assert {path.parent.name for path in spooled(engines)} == {"store"}
        s3_proxy.refuse_next = 0
        assert fleet.command("spool", "drain").returncode == 0
        check_kept(engines, web)


def test_the_store_gets_everything_while_the_index_is_away_from_the_start(
    redis_url: str, engines: Engines, index_proxy: ProxyInThread
) -> None:
    index_proxy.go_away()
    with WebServer(small_site(), engines.directory) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        fleet.start(2)
        fleet.wait()
        fleet.check_complete(PAGES)
        check_store(engines, web)
        assert {path.parent.name for path in spooled(engines)} == {"index"}
        index_proxy.come_back()
        assert fleet.command("spool", "drain").returncode == 0
        check_kept(engines, web)
