"""Do spiders written for scrapy-redis run unchanged on our scheduler, and without its losses?"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from crawler.embedded.redis import EmbeddedRedis
from crawler.errors import ConfigurationError
from crawler.frontier.blocking import BlockingRedis
from tests.crawls import SpiderProcess
from tests.servers import RedisSentinel, short_directory, wait_until
from tests.web import Answer, Host, Site, WebServer, loopback

SPIDERS = "tests.redis_spiders"
HERE = loopback(1)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebServer]:
    with WebServer(Site.trees(1, pages=12), tmp_path) as server:
        yield server


def client(url: str) -> Any:
    return redis.Redis.from_url(url)


def leased(server: Any) -> int:
    return int(server.hget("{ow:0}:default:counts", "leased") or 0)


def wait_for(web: WebServer, number: int) -> Counter[str]:
    web.wait_for_pages(number)
    return Counter(hit.path for hit in web.pages())


def test_a_list_is_crawled_and_the_spider_waits_for_more(web: WebServer, redis_url: str, tmp_path: Path) -> None:
    server = client(redis_url)
    with SpiderProcess(f"{SPIDERS}:MySpider", tmp_path, REDIS_URL=redis_url, MAX_DEPTH=-1) as worker:
        wait_until(lambda: "Spider opened" in worker.log)
        server.lpush("myspider_redis:start_urls", json.dumps({"url": web.url(HERE), "meta": {"job": "j1"}}))
        everything = Counter({f"/p/{number}": 1 for number in range(1, 12)} | {"/": 1})
        seeded = wait_for(web, 13)  # the links lead back to "/", which was not filtered as a start URL
        assert seeded == everything + Counter({"/": 1})
        wait_until(lambda: b"finished" in b"".join(str(e).encode() for e in server.xrange("ow:events:default")))
        # It found nothing more to do, but scrapy-redis spiders stay: work that comes now is done too.
        server.lpush("myspider_redis:start_urls", json.dumps({"url": web.url(HERE, "/?more"), "meta": {}}))
        assert wait_for(web, 14)["/?more"] == 1
        assert worker.process.poll() is None
        wait_until(lambda: any(one.get("page", "").endswith("/?more") for one in worker.records()))
        assert worker.stop() == 0
    pages = [one for one in worker.records() if "page" in one]
    assert [one["meta"] for one in pages if one["page"] == web.url(HERE)] == ["j1", None]
    assert all(one["server"] for one in pages)
    assert not server.exists("myspider_redis:start_urls")


@pytest.mark.parametrize("kind", ["set", "zset", "key_setting"])
def test_sets_sorted_sets_and_other_keys(web: WebServer, redis_url: str, tmp_path: Path, kind: str) -> None:
    server = client(redis_url)
    urls = [web.url(HERE, f"/p/{number}") for number in range(1, 6)]
    entries = [json.dumps({"url": url}) for url in urls]
    key, settings = "myspider_redis:start_urls", {}
    if kind == "set":
        settings = {"REDIS_START_URLS_AS_SET": True}
        server.sadd(key, *entries)
    elif kind == "zset":
        settings = {"REDIS_START_URLS_AS_ZSET": True}
        server.zadd(key, {entry: number for number, entry in enumerate(entries)})
    else:
        key, settings = "from-%(name)s", {"REDIS_START_URLS_KEY": "from-%(name)s"}
        server.rpush("from-myspider_redis", *entries)
    with SpiderProcess(
        f"{SPIDERS}:MySpider", tmp_path, REDIS_URL=redis_url, MAX_DEPTH=0, DEPTH_LIMIT=1, MAX_IDLE_TIME_BEFORE_CLOSE=1,
        **settings,
    ) as worker:  # fmt: skip
        assert worker.wait() == 0  # because of MAX_IDLE_TIME_BEFORE_CLOSE
    assert set(urls) <= {hit.url for hit in web.pages()}
    assert not server.exists(key % {"name": "myspider_redis"})
    assert leased(server) == 0


def test_a_crawl_spider_with_rules_and_a_key_of_its_own(redis_url: str, tmp_path: Path) -> None:
    def page(*links: str) -> list[Answer]:
        return [Answer(body="".join(f'<a href="{link}">x</a>' for link in links))]

    answers = {
        "/": page("/section/1", "/article/1", "/other"),
        "/section/1": page("/section/2", "/article/2"),
        "/section/2": page("/article/1", "/article/3"),
        **{f"/article/{number}": page("/section/1", "/article/4") for number in range(1, 5)},
    }
    with WebServer(Site({HERE: Host(answers=answers)}), tmp_path) as web:
        client(redis_url).lpush("mycrawler:start_urls", json.dumps({"url": web.url(HERE)}))
        with SpiderProcess(
            f"{SPIDERS}:MyCrawler", tmp_path, REDIS_URL=redis_url, MAX_IDLE_TIME_BEFORE_CLOSE=1
        ) as worker:
            assert worker.wait() == 0, worker.log
        asked = Counter(hit.path for hit in web.pages())
    wanted = ["/", "/section/1", "/section/2", "/article/1", "/article/2", "/article/3"]
    assert asked == Counter(wanted), worker.log
    articles = sorted(one["article"] for one in worker.records() if "article" in one)
    assert articles == [web.url(HERE, f"/article/{number}") for number in (1, 2, 3)]


def test_two_workers_and_a_key_of_ones_own(web: WebServer, redis_url: str, tmp_path: Path) -> None:
    server = client(redis_url)
    server.rpush("pages:to:own", *(json.dumps({"url": web.url(HERE, f"/p/{n}?seed")}) for n in range(1, 12)))
    workers = [
        SpiderProcess(f"{SPIDERS}:OwnKey", tmp_path / name, REDIS_URL=redis_url, DEPTH_LIMIT=0, MAX_DEPTH=-1)
        for name in ("a", "b")
    ]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with workers[0], workers[1]:
        asked = wait_for(web, 11 + 12)
        for worker in workers:
            assert worker.stop() == 0
    # No start URL twice, though none of them is filtered.
    assert asked == Counter({f"/p/{n}?seed": 1 for n in range(1, 12)} | {f"/p/{n}": 1 for n in range(1, 12)} | {"/": 1})


def test_kill_9_after_the_list_was_read_loses_nothing(redis_url: str, tmp_path: Path) -> None:
    paths = [f"/page/{number}" for number in range(40)]
    answers = {path: [Answer(body="x", delay_ms=300)] for path in paths}
    server = client(redis_url)
    with WebServer(Site({HERE: Host(answers=answers)}), tmp_path) as web:
        server.rpush("myspider_redis:start_urls", *(json.dumps({"url": web.url(HERE, path)}) for path in paths))
        settings: dict[str, Any] = {"REDIS_URL": redis_url, "FRONTIER_LOCK_SECONDS": 1, "FRONTIER_MAX_CRASHES": 10}
        with SpiderProcess(f"{SPIDERS}:MySpider", tmp_path, **settings) as worker:
            wait_until(lambda: not server.exists("myspider_redis:start_urls"), "the list to be read")
            web.wait_for_pages(1)
            worker.kill9()
        seen = {one["page"] for one in worker.records()}
        assert len(seen) < 40
        with SpiderProcess(f"{SPIDERS}:MySpider", tmp_path, MAX_IDLE_TIME_BEFORE_CLOSE=1, **settings) as second:
            assert second.wait() == 0
        seen |= {one["page"] for one in second.records() if "page" in one}
        assert seen == {web.url(HERE, path) for path in paths}


def test_on_the_embedded_redis(web: WebServer, data_dir: Path, tmp_path: Path) -> None:
    """With DATA_DIR given on the command line, which no settings module could have known."""
    embedded = EmbeddedRedis(data_dir)
    server = redis.Redis(unix_socket_path=str(embedded.ensure_running()))
    try:
        server.lpush("myspider_redis:start_urls", json.dumps({"url": web.url(HERE, "/p/11")}))
        with SpiderProcess(
            f"{SPIDERS}:MySpider", tmp_path, REDIS_URL="embedded:", DATA_DIR=str(data_dir), DEPTH_LIMIT=1,
            MAX_IDLE_TIME_BEFORE_CLOSE=1,
        ) as worker:  # fmt: skip
            assert worker.wait() == 0, worker.log
        assert not server.exists("myspider_redis:start_urls")
        assert web.url(HERE, "/p/11") in {hit.url for hit in web.pages()}
        assert all(one["server"] for one in worker.records() if "page" in one)
        assert "Traceback" not in worker.log
        assert not (tmp_path / "data" / "redis").exists()
    finally:
        server.close()
        embedded.release()


# --- The client that they are given ----------------------------------------------------------


def test_the_client_on_sentinel() -> None:
    with short_directory() as directory, RedisSentinel(directory) as sentinel:
        found = BlockingRedis.from_url(sentinel.url, socket_timeout=30, encoding="utf-8")
        found.set("a", "b")
        with sentinel.master.client() as master:
            assert master.get("a") == b"b"
        found.close()


def test_the_client_refuses_a_cluster_at_once() -> None:
    with pytest.raises(ConfigurationError, match="cannot use a cluster"):
        BlockingRedis.from_url("redis+cluster://127.0.0.1:1")


def test_the_client_asks_for_the_data_directory(data_dir: Path) -> None:
    found = BlockingRedis.from_url("embedded:", socket_timeout=30, socket_connect_timeout=30, retry_on_timeout=True)
    ask = found.ping  # bound early, as scrapy-redis does
    with pytest.raises(ConfigurationError, match="once the spider is open"):
        ask()
    found.use_data_dir(data_dir)
    assert ask()
    found.close()


def test_decoded_answers_when_asked_for(redis_url: str) -> None:
    found = BlockingRedis.from_url(redis_url, decode_responses=True)
    found.set("a", "b")
    assert found.get("a") == "b"
    found.close()
