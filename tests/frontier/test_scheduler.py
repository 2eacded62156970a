"""Do ordinary Scrapy spiders run on the frontier? Real workers, a real Redis, and a web server whose log decides."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from crawler.frontier.insight import Why, why
from crawler.frontier.scope import Scope
from crawler.middlewares.outcome import _redirected
from crawler.middlewares.robots import TRIES
from tests.crawls import SpiderProcess
from tests.frontier.frontiers import Crawl
from tests.servers import RedisServer, short_directory, wait_until
from tests.web import Answer, Host, Site, WebServer, loopback

SPIDERS = "tests.frontier.spiders"


def page(*links: str) -> Answer:
    return Answer(body="".join(f'<a href="{link}">x</a>' for link in links))


def look(crawl: Crawl, url: str) -> Why:
    found: Why = crawl.run(why(crawl.frontier, url, Scope(True, True, -1)))
    return found


# --- From one worker to another --------------------------------------------------------------


def test_a_request_comes_out_of_another_worker_as_it_went_in(
    open_crawl_on_one: Callable[..., Crawl], redis_url: str, tmp_path: Path
) -> None:
    crawl = open_crawl_on_one()
    site = Site({loopback(1): Host(answers={"/full": [Answer(body="x")], "/gone": [Answer(status=404)]})})
    with WebServer(site, tmp_path) as web:
        crawl.set_state("paused")
        arguments = {"base": web.url(loopback(1), "")}
        with SpiderProcess(f"{SPIDERS}:Planter", tmp_path, arguments, REDIS_URL=redis_url) as planter:
            wait_until(lambda: crawl.counts("queued") == (2,), "the requests to be queued")
            wait_until(lambda: crawl.status().drops.get("cannot_travel") == 2, "the drops to be counted")
            assert planter.stop() == 0
        assert "callback" in planter.log
        assert "meta['open']['socket']" in planter.log
        assert planter.log.count("] ERROR: ") == 2, planter.log
        assert web.requests() == []

        crawl.set_state("")
        with SpiderProcess(f"{SPIDERS}:Fetcher", tmp_path, REDIS_URL=redis_url) as fetcher:
            assert fetcher.wait() == 0
        assert {hit.path for hit in web.pages()} == {"/full?a=1", "/gone"}
        assert len(web.pages()) == 2
    [full] = [one for one in fetcher.records() if "url" in one]
    [failed] = [one for one in fetcher.records() if "failed" in one]
    assert full["pid"] not in {one["pid"] for one in planter.records()}
    assert full["method"] == "POST"
    assert full["body"] == repr(b"\x00\xffbytes")
    assert full["mark"] == ["one", "two"]
    assert full["kwargs"] == "{'number': 7, 'exact': Decimal('1.50')}"
    assert full["day"] == "datetime.date(2024, 2, 29)"
    assert full["deep"] == "{'list': [1, (2, 3)]}"
    assert (full["priority"], full["callback"], full["errback"]) == (5, "parse_full", "failed")
    assert failed["failed"].endswith("/gone")
    assert failed["kwargs"] == "{'number': 8}"
    assert failed["error"] == "HttpError"
    assert crawl.counts("accepted", "done", "dead", "leased", "queued") == (2, 1, 1, 0, 0)


def test_priorities_and_duplicates(open_crawl_on_one: Callable[..., Crawl], redis_url: str, tmp_path: Path) -> None:
    crawl = open_crawl_on_one()
    names = [f"/{kind}{number}" for kind in ("low", "plain", "high") for number in range(4)]
    site = Site({loopback(1): Host(answers={name: [Answer(body="x")] for name in [*names, "/same", "/unfiltered"]})})
    with WebServer(site, tmp_path) as web:
        crawl.set_state("paused")
        arguments = {"base": web.url(loopback(1), "")}
        with SpiderProcess(f"{SPIDERS}:Ordered", tmp_path, arguments, REDIS_URL=redis_url) as planter:
            # Three that asked not to be filtered, and one of the three that did not.
            wait_until(lambda: crawl.counts("queued") == (16,), "the requests to be queued")
            wait_until(lambda: crawl.status().drops.get("duplicate") == 2, "the duplicates to be counted")
            planter.stop()
        crawl.set_state("")
        with SpiderProcess(
            f"{SPIDERS}:OrderedFetcher", tmp_path, REDIS_URL=redis_url, CONCURRENT_REQUESTS=1,
            FRONTIER_LEASE_AHEAD=1, FRONTIER_VISIT_PAGES=1,
            FRONTIER_CLASS_WEIGHTS={"high": 1000, "medium": 1, "low": 1},
        ) as fetcher:  # fmt: skip
            fetcher.wait()
        paths = [hit.path for hit in web.pages()]
    assert Counter(paths) == Counter([*names, "/same", *["/unfiltered"] * 3])
    high = [path for path in paths if path.startswith("/high")]
    assert high == ["/high3", "/high2", "/high1", "/high0"]
    # Classes are shares, not walls: a draw may give another class one of its few turns.
    assert sum(paths.index(path) for path in high) <= 6 + 4, paths


def test_requests_of_a_spider_come_back_as_they_were(
    open_crawl_on_one: Callable[..., Crawl], redis_url: str, tmp_path: Path
) -> None:
    crawl = open_crawl_on_one(recrawl=True)
    changing = [Answer(headers={"ETag": f'"{number}"'}, body=f"{number}") for number in range(3)]
    same = Answer(headers={"ETag": '"same"'}, body="same")
    away = [same, Answer(status=302, headers={"Location": "/target"})]
    site = Site({loopback(1): Host(answers={
        "/changing": changing, "/same": [same], "/form": [same], "/twice": [same], "/own": [same], "/away": away,
        "/target": [same],
    })})  # fmt: skip
    with WebServer(site, tmp_path) as web:
        spider, settings = f"{SPIDERS}:Returning", {"REDIS_URL": redis_url, "RECRAWL": True}
        with SpiderProcess(spider, tmp_path, {"base": web.url(loopback(1), "")}, **settings) as worker:
            assert worker.wait() == 0
        assert len(web.pages()) == 6
        assert crawl.counts("accepted", "queued", "done", "dead") == (6, 4, 2, 0), "a form and dont_filter are done"
        first = {one["path"]: one for one in worker.records() if "path" in one}

        crawl.make_due()
        with SpiderProcess(spider, tmp_path, **settings) as worker:
            assert worker.wait() == 0
        second = {hit.path: hit for hit in web.pages()[6:]}
        assert {path: (hit.status, hit.conditions.get("if-none-match")) for path, hit in second.items()} == {
            "/changing": (200, '"0"'),
            "/same": (304, '"same"'),
            "/own": (200, '"of the spider"'),
            "/away": (302, '"same"'),
            "/target": (200, None),
        }
        records = {one["path"]: one for one in worker.records() if "path" in one}
        assert not [one for one in worker.records() if "failed" in one], "a 304 is no failure"
        assert set(records) == {"/changing", "/own", "/target"}, "nor is it a page"
        assert {**records["/changing"], "pid": 0} == {**first["/changing"], "pid": 0}
        assert records["/changing"]["headers"] == {"X-Mark": ["one", "two"]}
        assert records["/own"]["flags"] == ["unchanged"]
        assert records["/target"]["headers"] == {"X-Mark": ["one", "two"]}, "the conditions were those of another page"
        assert worker.stats["frontier/pages"] == 3
        assert crawl.counts("accepted", "queued", "done", "dead", "unchanged") == (7, 4, 3, 0, 1)


# --- How fetches end -------------------------------------------------------------------------

MAIN, OTHER, STRICT, CLOSED = (loopback(number) for number in range(1, 5))
NOWHERE = "http://no-such-host.invalid/page"


@dataclass
class Troubles:
    web: WebServer
    worker: SpiderProcess
    crawl: Crawl

    def url(self, path: str, address: str = MAIN) -> str:
        return self.web.url(address, path)

    def times(self, path: str, address: str = MAIN) -> list[float]:
        url = self.url(path, address)
        return [hit.start for hit in self.web.requests() if hit.url == url]

    def pages(self) -> list[str]:
        return [one["page"] for one in self.worker.records() if "page" in one]

    def failed(self, path: str, address: str = MAIN) -> str:
        url = self.url(path, address)
        [error] = [one["error"] for one in self.worker.records() if one.get("failed") == url]
        return str(error)

    def end(self, path: str, address: str = MAIN) -> tuple[str, str]:
        found = look(self.crawl, self.url(path, address))
        return found.reason or found.state, found.details.get("detail", "")


@pytest.fixture(scope="module")
def troubles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Troubles]:
    """One crawl in which everything goes wrong that can, looked at by many tests."""
    directory = tmp_path_factory.mktemp("troubles")
    moved = {"Location": "/target"}
    answers = {
        "/ok": [Answer(body="x")],
        "/once": [Answer(status=503), Answer(body="x")],
        "/reset-once": [Answer(reset=True), Answer(body="x")],
        "/broken": [Answer(status=500)],
        "/lost": [Answer(status=404)],
        "/handled": [Answer(status=404, body="x")],
        "/again": [Answer(status=404)],
        "/second": [Answer(body="x")],
        "/moved": [Answer(status=301, headers=moved)],
        "/target": [Answer(body="x")],
        "/nowhere": [Answer(status=302, headers={"Location": "ftp://elsewhere/"})],
        "/self": [Answer(status=302, headers={"Location": "/self"})],
        "/ping": [Answer(status=302, headers={"Location": "/pong"})],
        "/pong": [Answer(status=302, headers={"Location": "/ping"})],
        "/callback-error": [Answer(body="x")],
        "/item": [Answer(body="x")],
        **{f"/hop{n}": [Answer(status=302, headers={"Location": f"/hop{n + 1}"})] for n in range(9)},
    }
    site = Site({MAIN: Host(answers=answers)})
    site.hosts[OTHER] = Host(answers={"/landed": [Answer(body="x")]})
    site.hosts[STRICT] = Host(
        robots="User-agent: *\nDisallow: /secret\n", answers={path: [Answer(body="x")] for path in ("/secret", "/open")}
    )
    site.hosts[CLOSED] = Host(robots_status=503, answers={"/page": [Answer(body="x")]})
    with short_directory() as short, RedisServer(short) as redis, WebServer(site, directory) as web:
        web.stop()  # the port is known now: a redirect to another host can name it
        site.hosts[MAIN].answers["/abroad"] = [Answer(status=302, headers={"Location": web.url(OTHER, "/landed")})]
        web.start()
        followed = {"/target", "/pong", "/second"} | {f"/hop{n}" for n in range(1, 9)}
        urls = [web.url(MAIN, path) for path in site.hosts[MAIN].answers if path not in followed]
        urls += [web.url(STRICT, "/secret"), web.url(STRICT, "/open"), web.url(CLOSED, "/page"), NOWHERE]
        pipelines = {f"{SPIDERS}.FailingPipeline": 1}
        with SpiderProcess(
            f"{SPIDERS}:Trouble", directory, {"urls": " ".join(urls)}, REDIS_URL=redis.url, ITEM_PIPELINES=pipelines
        ) as worker:
            assert worker.wait() == 0, worker.log
        with asyncio.Runner() as runner:
            crawl = Crawl(redis.url, runner)
            yield Troubles(web, worker, crawl)
            crawl.close()


def test_the_sum_is_right(troubles: Troubles) -> None:
    status = troubles.crawl.status()
    assert status.is_finished
    assert (status.count("queued"), status.count("leased")) == (0, 0)
    assert len(troubles.times("/ok")) == 1
    assert troubles.url("/ok") in troubles.pages()


def test_a_passing_failure_is_tried_again_after_the_delay(troubles: Troubles) -> None:
    first, second = troubles.times("/once")
    assert second - first >= 0.2
    assert troubles.pages().count(troubles.url("/once")) == 1
    assert troubles.end("/once") == ("done", "")


def test_a_broken_connection_is_tried_again(troubles: Troubles) -> None:
    assert len(troubles.times("/reset-once")) == 2
    assert troubles.pages().count(troubles.url("/reset-once")) == 1
    assert troubles.end("/reset-once") == ("done", "")


def test_after_all_attempts_it_is_dead(troubles: Troubles) -> None:
    assert len(troubles.times("/broken")) == 2
    assert troubles.end("/broken") == ("http_error", "500")
    assert troubles.failed("/broken") == "HttpError"


def test_not_found_is_dead_unless_the_spider_wants_to_see_it(troubles: Troubles) -> None:
    assert troubles.end("/lost") == ("http_error", "404")
    assert len(troubles.times("/lost")) == 1
    assert troubles.failed("/lost") == "HttpError"
    assert troubles.end("/handled") == ("done", "")
    assert troubles.url("/handled") in troubles.pages()


def test_an_errback_may_ask_for_another_page(troubles: Troubles) -> None:
    assert troubles.end("/again") == ("http_error", "404")
    assert troubles.url("/second") in troubles.pages()


def test_redirects_go_through_the_frontier(troubles: Troubles) -> None:
    assert len(troubles.times("/moved")) == len(troubles.times("/target")) == 1
    assert troubles.end("/moved") == troubles.end("/target") == ("done", "")
    assert troubles.url("/target") in troubles.pages()
    assert troubles.url("/moved") not in troubles.pages()


def test_a_redirect_to_another_host_asks_that_hosts_robots_first(troubles: Troubles) -> None:
    [landed] = troubles.times("/landed", OTHER)
    assert troubles.times("/robots.txt", OTHER)[0] < landed
    assert troubles.end("/landed", OTHER) == ("done", "")


def test_redirect_loops_end(troubles: Troubles) -> None:
    assert troubles.end("/self")[0] == "too_many_redirects"
    assert len(troubles.times("/ping")) == len(troubles.times("/pong")) == 1
    assert troubles.end("/ping") == ("done", "")
    names = [troubles.url(path) for path in ("/ping", "/pong", "/ping")]
    assert troubles.end("/pong") == ("too_many_redirects", "a loop: " + " → ".join(names))
    assert troubles.end("/hop5")[0] == "too_many_redirects"
    assert [len(troubles.times(f"/hop{n}")) for n in range(7)] == [1] * 6 + [0]
    assert troubles.end("/nowhere")[0] == "bad_redirect"


def test_errors_of_the_spider_and_of_pipelines_are_deaths(troubles: Troubles) -> None:
    assert troubles.end("/callback-error") == ("callback_error", "RuntimeError: the callback's own mistake")
    assert troubles.end("/item") == ("pipeline_error", "ValueError: the pipeline's own mistake")
    assert len(troubles.times("/callback-error")) == len(troubles.times("/item")) == 1


def test_a_name_that_does_not_resolve_is_dead_at_once(troubles: Troubles) -> None:
    found = look(troubles.crawl, NOWHERE)
    assert (found.state, found.reason) == ("dead", "dns")
    assert found.details["attempt"] == 0
    assert [one["error"] for one in troubles.worker.records() if one.get("failed") == NOWHERE]


def test_what_robots_disallows_is_never_fetched(troubles: Troubles) -> None:
    assert troubles.end("/secret", STRICT)[0] == "robots"
    assert troubles.times("/secret", STRICT) == []
    assert troubles.failed("/secret", STRICT) == "IgnoreRequest"
    assert len(troubles.times("/open", STRICT)) == 1
    assert len(troubles.times("/robots.txt", STRICT)) == 1


def test_a_host_whose_robots_is_broken_is_closed(troubles: Troubles) -> None:
    assert troubles.times("/page", CLOSED) == []
    assert len(troubles.times("/robots.txt", CLOSED)) == TRIES
    assert troubles.end("/page", CLOSED)[0] == "robots_unreachable"


# --- What a redirected request keeps ---------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "method", "kept"),
    [(301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"), (307, "POST", "POST"),
     (308, "PUT", "PUT")],
)  # fmt: skip
def test_a_form_is_sent_once(status: int, method: str, kept: str) -> None:
    form = Request("http://a.example/", method=method, body=b"x=1", headers={"Content-Type": "text/x", "X-Mark": "1"})
    again = _redirected(form, status, "http://a.example/next")
    assert (again.url, again.method) == ("http://a.example/next", kept)
    if kept == "GET":
        assert (again.body, again.headers.get("Content-Type")) == (b"", None)
    else:
        assert (again.body, again.headers.get("Content-Type")) == (b"x=1", b"text/x")
    assert again.headers["X-Mark"] == b"1"


def test_another_host_is_not_told_passwords() -> None:
    headers = {"Authorization": "Basic x", "Cookie": "a=b", "X-Mark": "1"}
    request = Request("http://a.example/", headers=headers, cookies={"a": "b"})
    same = _redirected(request, 302, "http://a.example/next")
    assert (same.headers["Authorization"], same.headers["Cookie"], same.cookies) == (b"Basic x", b"a=b", {"a": "b"})
    for target in ("http://b.example/", "http://a.example.org/"):
        other = _redirected(request, 302, target)
        assert (dict(other.headers), other.cookies) == ({b"X-Mark": [b"1"]}, {})
    assert request.headers["Authorization"] == b"Basic x"
    in_clear = _redirected(request.replace(url="https://a.example/"), 302, "http://a.example/")
    assert "Authorization" not in in_clear.headers


# --- The log of pages ------------------------------------------------------------------------


def test_the_spider_log_has_every_page_and_its_links(
    open_crawl_on_one: Callable[..., Crawl], redis_url: str, tmp_path: Path
) -> None:
    crawl = open_crawl_on_one()
    site = Site({loopback(1): Host(answers={"/": [page("/a", "/b")], "/a": [page("/b")], "/b": [page()]})})
    with WebServer(site, tmp_path) as web:
        seed = web.url(loopback(1))
        with SpiderProcess(
            f"{SPIDERS}:Linker", tmp_path, {"seeds": seed}, REDIS_URL=redis_url, SPIDER_LOG=True
        ) as worker:
            assert worker.wait() == 0, worker.log
        stream: list[Any] = crawl.run(crawl.redis.xrange(crawl.keys.spider_log))
        pages = {one["url"]: one for one in (json.loads(fields[b"page"]) for _, fields in stream)}
        assert pages == {
            seed: {"url": seed, "status": 200, "depth": 0, "links": [seed + "a", seed + "b"]},
            seed + "a": {"url": seed + "a", "status": 200, "depth": 1, "links": [seed + "b"]},
            seed + "b": {"url": seed + "b", "status": 200, "depth": 1, "links": []},
        }
