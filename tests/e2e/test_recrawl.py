"""Are pages fetched again when their time has come, and asked for only if they changed? The web server's log tells."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import redis

from crawler.frontier.entry import Entry, decode
from crawler.frontier.keyspace import unpack_waiting
from tests.fleet import CRAWL, Fleet
from tests.servers import wait_until
from tests.web import Answer, Host, Site, WebServer, loopback

HOUR_MS = 3_600_000
AGAIN = f"{{ow:0}}:{CRAWL}:again"
RECRAWL: dict[str, Any] = {"RECRAWL": 1, "RECRAWL_FIRST_SECONDS": 3600, "RECRAWL_MIN_SECONDS": 60}
OLD, FUTURE = "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2065 07:28:00 GMT"


def waiting(redis_url: str) -> dict[str, Entry]:
    """The pages that wait to be crawled again, by path."""
    with redis.Redis.from_url(redis_url) as client:
        packed = [unpack_waiting(member) for member in client.zrange(AGAIN, 0, -1)]
    entries = [decode(one.entry, one.host) for one in packed]
    return {"/" + entry.url.split("/", 3)[3]: entry for entry in entries}


def intervals(redis_url: str) -> dict[str, int]:
    return {path: entry.known.interval_ms for path, entry in waiting(redis_url).items() if entry.known}


def make_due(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.zadd(AGAIN, dict.fromkeys(client.zrange(AGAIN, 0, -1), 0))


def items(directory: Path) -> list[dict[str, Any]]:
    lines = (directory / "data" / "crawls" / CRAWL / "pages.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_page_that_did_not_change_is_asked_for_and_not_sent(redis_url: str, tmp_path: Path) -> None:
    site = Site.trees(hosts=2, pages=10, etags=True)
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, **RECRAWL) as fleet:
        fleet.seed(web.seeds())
        fleet.start(2)
        fleet.wait(30)
        assert {hit.url for hit in web.pages()} == web.expected_paths()
        status = fleet.check_sum()
        assert [status.count(name) for name in ("accepted", "queued", "done", "dead", "pages")] == [20, 20, 0, 0, 20]
        assert (status.recrawls_waiting, status.is_finished) == (20, True)
        assert fleet.end_reasons() == {"finished"}, "it does not wait an hour"

        fleet.start(1)  # nothing is due
        fleet.wait(30)
        assert len(web.pages()) == 20
        make_due(redis_url)
        fleet.start(1, RECRAWL=0)  # nor does it matter without --recrawl
        fleet.wait(30)
        assert len(web.pages()) == 20

        fleet.start(1)
        fleet.wait(30)
        second = web.pages()[20:]
        assert Counter(hit.url for hit in second) == Counter(web.expected_paths())
        assert {hit.status for hit in second} == {304}
        assert all(hit.conditions["if-none-match"].startswith('"') for hit in second)
        status = fleet.check_sum()
        assert [status.count(name) for name in ("queued", "pages", "unchanged", "dead")] == [20, 20, 20, 0]
        assert len(items(tmp_path)) == 20, "not one of them was a page"
        assert set(intervals(redis_url).values()) == {HOUR_MS * 3 // 2}
        answer = fleet.command("frontier", "why", web.seeds()[0])
        assert "fetched 2 times, unchanged the last 1, next in" in answer.stdout
        assert "20 pages wait to be crawled again, 20 times unchanged" in fleet.command("frontier", "status").stdout
        assert "nothing wrong found" in fleet.command("frontier", "audit").stdout


def test_what_became_of_pages_until_their_next_fetch(redis_url: str, tmp_path: Path) -> None:
    links = "changed", "tagless", "dated", "future", "odd", "gone", "away", "down", "moved", "broken"
    answers = {
        "/": [Answer(body="".join(f'<a href="/{name}">x</a>' for name in links))],
        "/changed": [
            Answer(headers={"ETag": '"1"'}, body="one"),
            Answer(headers={"ETag": 'W/"2"'}, body='two <a href="/new">x</a>'),
        ],
        "/new": [Answer(body="new")],
        "/tagless": [Answer(body="always the same")],
        "/dated": [Answer(headers={"Last-Modified": OLD}, body="old")],
        "/future": [Answer(headers={"Last-Modified": FUTURE, "ETag": '"f"'}, body="f")],
        "/odd": [Answer(headers={"Last-Modified": "yesterday", "ETag": "no quotes"}, body="odd")],
        "/gone": [Answer(headers={"ETag": '"g"'}, body="g"), Answer(status=410)],
        "/away": [Answer(body="here"), Answer(status=301, headers={"Location": "/there"})],
        "/there": [Answer(body="there")],
        "/down": [Answer(headers={"ETag": '"d"'}, body="up"), *[Answer(status=503)] * 3, Answer(body="up again")],
        "/moved": [Answer(status=302, headers={"Location": "/changed"})],
        "/broken": [Answer(status=304)],
        "/sitemap.xml": [Answer(headers={"ETag": '"s"', "Content-Type": "text/xml"}, body="<urlset></urlset>")],
    }
    host = Host(answers=answers, robots="Sitemap: /sitemap.xml\n")
    settings = {**RECRAWL, "HOST_BACKOFF_MAX_SECONDS": 0.1}
    with WebServer(Site({loopback(1): host}), tmp_path) as web, Fleet(redis_url, tmp_path, **settings) as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        fleet.wait(30)
        first = web.pages()
        assert all(hit.conditions == {} for hit in first)
        status = fleet.check_sum()
        assert status.dead_reasons == {"http_error": 1}, "a 304 that nobody asked for is no answer"
        assert status.count("done") == 2, "a redirect and a sitemap"
        assert status.recrawls_waiting == 9

        make_due(redis_url)
        fleet.start(1)
        fleet.wait(30)
        second = web.pages()[len(first) :]
        assert {hit.path: hit.conditions for hit in second} == {
            "/": {},
            "/changed": {"if-none-match": '"1"'},
            "/new": {},
            "/tagless": {},
            "/dated": {"if-modified-since": OLD},
            "/future": {"if-none-match": '"f"'},
            "/odd": {},
            "/gone": {"if-none-match": '"g"'},
            "/away": {},
            "/there": {},
            "/down": {"if-none-match": '"d"'},
        }
        down = [hit for hit in second if hit.path == "/down"]
        assert [(hit.status, hit.conditions["if-none-match"]) for hit in down] == [(503, '"d"')] * 3
        status = fleet.check_sum()
        assert status.dead_reasons == {"http_error": 2}  # and the page that is gone
        assert [status.count(name) for name in ("done", "unchanged", "missed")] == [3, 2, 1]
        longer, shorter = HOUR_MS * 3 // 2, HOUR_MS // 2
        assert intervals(redis_url) == {
            "/": longer, "/changed": shorter, "/new": HOUR_MS, "/tagless": longer, "/dated": longer,
            "/future": longer, "/odd": longer, "/there": HOUR_MS, "/down": HOUR_MS,
        }  # fmt: skip
        known = waiting(redis_url)["/changed"].known
        assert known is not None
        assert (known.etag, known.fetches, known.unchanged) == ('W/"2"', 2, 0)
        marks = [(item["url"].rpartition("/")[2], item.get("unchanged")) for item in items(tmp_path)[9:]]
        assert sorted(marks, key=str) == [
            ("", True), ("changed", None), ("new", None), ("odd", True), ("tagless", True), ("there", None),
        ]  # fmt: skip

        make_due(redis_url)
        fleet.start(1)
        fleet.wait(30)
        known = waiting(redis_url)["/down"].known
        assert known is not None
        assert (known.fetches, known.missed, known.etag) == (2, 0, ""), "it is up again"
        assert fleet.check_sum().recrawls_waiting == 9


def test_a_crawl_that_is_kept_alive_goes_on_for_ever(redis_url: str, tmp_path: Path) -> None:
    settings = {"RECRAWL": 1, "RECRAWL_FIRST_SECONDS": 0.3, "RECRAWL_MIN_SECONDS": 0.2, "RECRAWL_MAX_SECONDS": 0.4}
    site = Site.trees(hosts=2, pages=5, etags=True)
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, KEEP_ALIVE=1, **settings) as fleet:
        fleet.seed(web.seeds())
        (worker,) = fleet.start(1)
        wait_until(lambda: min(Counter(hit.url for hit in web.pages()).values(), default=0) >= 4, seconds=30)
        assert worker.is_running
        times: dict[str, list[float]] = {}
        for hit in web.pages():
            times.setdefault(hit.url, []).append(hit.start)
        assert set(times) == web.expected_paths()
        for hits in times.values():
            assert all(later - earlier > 0.17 for earlier, later in pairwise(hits)), hits
        worker.terminate()
        assert worker.wait(20) == 0
        status = fleet.check_sum()
        assert [status.count(name) for name in ("accepted", "queued", "pages")] == [10, 10, 10]


def test_killed_workers_lose_no_page_that_is_to_be_crawled_again(redis_url: str, tmp_path: Path) -> None:
    site = Site.trees(hosts=5, pages=30, etags=True, latency_ms=20)
    settings = {"FRONTIER_LOCK_SECONDS": 1, "FRONTIER_MAX_CRASHES": 1000, "CONCURRENT_REQUESTS": 12, **RECRAWL}
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, **settings) as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        web.wait_for_pages(60)
        fleet.running[0].kill9()
        fleet.start(1)
        fleet.wait(45)
        assert {hit.url for hit in web.pages()} == web.expected_paths()
        assert fleet.check_sum().recrawls_waiting == 150
        make_due(redis_url)
        before = len(web.pages())
        fleet.start(1)
        web.wait_for_pages(before + 70)
        fleet.running[0].kill9()
        fleet.start(2)
        fleet.wait(45)
        again = web.pages()[before:]
        assert {hit.url for hit in again} == web.expected_paths()
        assert len(again) < 150 + 12 + 16 + 50, "what was acked is not fetched twice"
        status = fleet.check_sum()
        assert [status.count(name) for name in ("accepted", "queued", "done", "dead")] == [150, 150, 0, 0]
        assert status.recrawls_waiting == 150
        assert "nothing wrong found" in fleet.command("frontier", "audit").stdout


def test_the_page_cap_of_a_host_is_of_different_pages(redis_url: str, tmp_path: Path) -> None:
    settings = {**RECRAWL, "MAX_PAGES_PER_HOST": 6}
    with WebServer(Site.trees(hosts=2, pages=20), tmp_path) as web, Fleet(redis_url, tmp_path, **settings) as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        fleet.wait(30)
        first = {hit.url for hit in web.pages()}
        assert len(web.pages()) == len(first) == 12
        make_due(redis_url)
        fleet.start(1)
        fleet.wait(30)
        assert Counter(hit.url for hit in web.pages()) == Counter(dict.fromkeys(first, 2))
        status = fleet.check_sum()
        assert (status.recrawls_waiting, status.count("pages")) == (12, 24)
