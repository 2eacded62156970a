"""Does what somebody pushes into the Redis list reach the frontier, once, and never get lost?"""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from crawler.frontier.entry import decode
from crawler.frontier.scope import Scope
from crawler.frontier.start_urls import StartUrls
from tests.frontier.frontiers import Crawl, link

KEY = "broad:start_urls"
URLS = [f"http://h{number % 3}.example/{number}" for number in range(10)]
PUSH: dict[str, Callable[..., Any]] = {
    "list": lambda redis, entries: redis.lpush(KEY, *entries),
    "set": lambda redis, entries: redis.sadd(KEY, *entries),
    "zset": lambda redis, entries: redis.zadd(KEY, {entry: number for number, entry in enumerate(entries)}),
}


def read(crawl: Crawl, start_urls: StartUrls | None = None, scope: Scope | None = None) -> int:
    start_urls = start_urls or StartUrls(KEY, 500)
    moved: int = crawl.run(start_urls.read(crawl.frontier, scope or Scope(True, False, -1)))
    return moved


def queued(crawl: Crawl) -> list[str]:
    return crawl.finish_urls()


def rejected(crawl: Crawl) -> list[dict[str, str]]:
    return [json.loads(line) for line in crawl.run(crawl.redis.lrange(f"{KEY}:rejected", 0, -1))]


@pytest.mark.parametrize("kind", list(PUSH))
def test_every_kind_of_key(open_crawl: Callable[..., Crawl], kind: str) -> None:
    crawl = open_crawl()
    crawl.run(PUSH[kind](crawl.redis, URLS))
    start_urls = StartUrls(KEY, 4)
    assert not crawl.run(start_urls.is_empty(crawl.frontier))
    assert [read(crawl, start_urls) for _ in range(4)] == [4, 4, 2, 0]
    assert crawl.run(start_urls.is_empty(crawl.frontier))
    assert sorted(queued(crawl)) == sorted(URLS)
    assert crawl.run(crawl.redis.exists(f"{KEY}:reader")) == 0
    hosts = crawl.run(crawl.redis.smembers(crawl.keys.seed_hosts))
    assert hosts == {b"h0.example", b"h1.example", b"h2.example"}


def test_the_highest_of_a_sorted_set_are_read_first(open_crawl_on_one: Callable[..., Crawl]) -> None:
    crawl = open_crawl_on_one()
    crawl.run(PUSH["zset"](crawl.redis, URLS))
    read(crawl, StartUrls(KEY, 3))
    assert sorted(queued(crawl)) == sorted(URLS[-3:])


def test_json_objects(open_crawl_on_one: Callable[..., Crawl]) -> None:
    crawl = open_crawl_on_one()
    seed = {"url": "http://a.example/", "priority": -1, "depth": 2, "meta": {"job": [1, "x"]}}
    crawl.run(crawl.redis.rpush(KEY, json.dumps(seed), "http://b.example/"))
    assert read(crawl) == 2
    visits = {visit.host: visit for visit in crawl.lease()}
    assert (visits["a.example"].priority, visits["b.example"].priority) == ("low", "high")
    entry = decode(visits["a.example"].entries[0], "a.example")
    assert (entry.depth, entry.request and entry.request.meta) == (2, {"job": [1, "x"]})


def test_bad_entries_are_kept_with_a_reason(open_crawl_on_one: Callable[..., Crawl]) -> None:
    crawl = open_crawl_on_one()
    bad = ["no url", "mailto:x@a.example", "http://127.0.0.1/", '{"url": 3}', b"\xff\xfe"]
    crawl.run(crawl.redis.rpush(KEY, *bad, "http://a.example/"))
    assert read(crawl) == 6
    assert queued(crawl) == ["http://a.example/"]
    found = rejected(crawl)
    assert [one["reason"] for one in found] == ["bad_url", "bad_scheme", "private_address", "bad_url", "bad_url"]
    assert [one["entry"] for one in found] == [*bad[:4], "\ufffd\ufffd"]
    assert all(one["message"] for one in found)
    assert read(crawl) == 0


def test_a_key_of_another_type_is_left_alone(
    open_crawl_on_one: Callable[..., Crawl], caplog: pytest.LogCaptureFixture
) -> None:
    crawl = open_crawl_on_one()
    crawl.run(crawl.redis.set(KEY, "http://a.example/"))
    start_urls = StartUrls(KEY, 500)
    with caplog.at_level(logging.ERROR):
        assert [read(crawl, start_urls), read(crawl, start_urls)] == [0, 0]
    assert [one.message for one in caplog.records] == [
        f"{KEY} is a string: push start URLs into a list, a set or a sorted set"
    ]
    assert crawl.run(crawl.redis.get(KEY)) == b"http://a.example/"


@pytest.mark.parametrize("kind", list(PUSH))
def test_an_entry_is_removed_only_when_it_is_in_the_frontier(
    open_crawl_on_one: Callable[..., Crawl], monkeypatch: Any, kind: str
) -> None:
    crawl = open_crawl_on_one()
    crawl.run(PUSH[kind](crawl.redis, URLS))

    async def fail(links: Any) -> list[int]:
        raise ConnectionError("Redis is away")

    with monkeypatch.context() as patch:
        patch.setattr(crawl.frontier, "push", fail)
        with pytest.raises(ConnectionError):
            read(crawl)
    assert crawl.run(crawl.redis.exists(KEY)) == 1
    assert read(crawl) == 10
    assert sorted(queued(crawl)) == sorted(URLS)


def test_what_was_read_twice_is_accepted_once(open_crawl_on_one: Callable[..., Crawl]) -> None:
    crawl = open_crawl_on_one()
    for _ in range(2):
        crawl.run(crawl.redis.rpush(KEY, *URLS))
        read(crawl)
    assert crawl.counts("accepted") == (10,)


def test_an_entry_that_is_in_the_list_twice_is_removed_twice(open_crawl_on_one: Callable[..., Crawl]) -> None:
    crawl = open_crawl_on_one()
    crawl.run(crawl.redis.rpush(KEY, URLS[0], URLS[1], URLS[0]))
    assert read(crawl) == 3
    assert crawl.run(crawl.redis.exists(KEY)) == 0


def test_one_reads_at_a_time(open_crawl_on_one: Callable[..., Crawl]) -> None:
    crawl = open_crawl_on_one()
    crawl.run(crawl.redis.rpush(KEY, *URLS))
    crawl.run(crawl.redis.set(f"{KEY}:reader", 1))
    assert read(crawl) == 0
    assert crawl.run(crawl.redis.llen(KEY)) == 10
    crawl.run(crawl.redis.delete(f"{KEY}:reader"))
    assert read(crawl) == 10


def test_a_reader_of_the_spiders_own(open_crawl_on_one: Callable[..., Crawl]) -> None:
    crawl = open_crawl_on_one()
    crawl.run(crawl.redis.rpush(KEY, "1", "bad", "2"))

    def two_links(entry: bytes) -> list[Any]:
        return [link(f"http://a.example/{int(entry)}/{part}") for part in "ab"]

    assert read(crawl, StartUrls(KEY, 500, two_links)) == 3
    assert sorted(queued(crawl)) == [f"http://a.example/{number}/{part}" for number in (1, 2) for part in "ab"]
    [one] = rejected(crawl)
    assert one["entry"] == "bad"
    assert "invalid literal" in one["message"]
