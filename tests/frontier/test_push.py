"""What is accepted, once, and what is not."""

import asyncio
from collections.abc import Callable

import pytest
from redis.exceptions import OutOfMemoryError

from tests.frontier.frontiers import Crawl, link, links, report
from tests.servers import RedisServer, short_directory, wait_until

Open = Callable[..., Crawl]


def test_a_url_is_accepted_once(open_crawl: Open) -> None:
    crawl = open_crawl()
    assert crawl.push("http://a/1", "http://a/2", "http://a/1") == [1, 1, 0]
    assert crawl.push("http://a/2", "http://b/1") == [0, 1]
    assert crawl.counts("accepted", "queued") == (3, 3)
    assert crawl.status().drops == {"duplicate": 2}


def test_answers_come_in_the_order_of_the_links(open_crawl: Open) -> None:
    crawl = open_crawl(partitions=8)
    old = links("a", 3) + links("b", 3, "high")
    crawl.push(*old)
    new = links("c", 3) + links("a", 3, "low")
    mixed = [one for pair in zip(old, new, strict=True) for one in pair]
    assert crawl.push(*mixed) == [0, 1] * 6


def test_two_workers_that_find_the_same_links_share_them(open_crawl: Open) -> None:
    first, second = open_crawl(), open_crawl()
    found = links("a", 200)

    async def both() -> list[list[int]]:
        return await asyncio.gather(first.frontier.push(found), second.frontier.push(found[::-1]))

    mine, theirs = first.run(both())
    assert all(a + b == 1 for a, b in zip(mine, theirs[::-1], strict=True))
    assert first.counts("accepted", "queued") == (200, 200)


def test_crawls_do_not_share_what_they_have_seen(open_crawl: Open) -> None:
    assert open_crawl(crawl="news").push("http://a/1") == [1]
    assert open_crawl(crawl="sport").push("http://a/1") == [1]


def test_unfiltered_links_are_accepted_again_and_again(open_crawl: Open) -> None:
    crawl = open_crawl()
    for _ in range(3):
        assert crawl.push(link("http://a/1", is_filtered=False)) == [1]
        assert len(crawl.finish()) == 1
    assert crawl.counts("accepted", "done") == (3, 3)


def test_an_unfiltered_link_sent_twice_is_counted_once(open_crawl: Open) -> None:
    crawl = open_crawl()
    same = link("http://a/1", is_filtered=False)
    assert crawl.push(same) == [1]
    assert crawl.push(same) == [0]  # as after an answer that was lost
    assert crawl.counts("accepted", "queued") == (1, 1)


def test_a_host_with_its_pages_is_refused(open_crawl: Open) -> None:
    crawl = open_crawl(max_pages_per_host=2)
    crawl.push(*links("a", 2))
    crawl.finish()
    assert crawl.push("http://a/x", "http://b/x") == [2, 1]
    assert crawl.status().drops == {"host_cap": 1}
    crawl.change(max_pages_per_host=3)
    assert crawl.push("http://a/x") == [1]  # refusing it had not marked it as seen


def test_a_batch_may_be_large(open_crawl: Open) -> None:
    crawl = open_crawl()
    assert sum(crawl.push(*links("a", 2500))) == 2500
    assert sum(crawl.push(*(link(f"http://h{number}/") for number in range(2500)))) == 2500
    assert crawl.counts("accepted", "queued") == (5000, 5000)


@pytest.mark.parametrize("name", ["q:medium:a", "seen:{bucket}"])
def test_a_key_of_the_wrong_type_loses_no_link(open_crawl: Open, name: str) -> None:
    crawl = open_crawl(seen_buckets=1)
    key = crawl.base() + name.format(bucket=0)
    crawl.run(crawl.redis.set(key, "not ours"))
    assert crawl.push(*links("a", 3)) == [1, 1, 1]
    assert len(crawl.finish()) == 3
    aside = f"{crawl.tag()}:alien:{key.removeprefix(crawl.tag() + ':')}"
    assert crawl.run(crawl.redis.get(aside)) == b"not ours"


def test_confirm_seen_knows_what_was_accepted(open_crawl: Open) -> None:
    crawl = open_crawl(partitions=8)
    known, unknown = links("a", 5) + links("b", 5), links("a", 5) + links("c", 5)
    crawl.push(*known)
    asked = [one for pair in zip(known, unknown, strict=True) for one in pair]
    answer = crawl.run(crawl.frontier.confirm_seen([one.host for one in asked], [one.fingerprint for one in asked]))
    assert answer == [True, False] * 10


def test_a_full_redis_refuses_the_whole_batch_and_takes_acks(runner: asyncio.Runner) -> None:
    with short_directory() as directory, RedisServer(directory, extra_args=["--maxmemory", "6mb"]) as server:
        crawl = Crawl(server.url, runner, visit_pages=50)
        crawl.push(*links("a", 50), *(one for host in range(20) for one in links(f"h{host}", 2)))
        held = crawl.lease(50)
        assert len(held[0].entries) + sum(len(visit.entries) for visit in held[1:]) == 50
        _fill(server)
        before = crawl.status()
        for batch in (links("b", 5), links("a", 500)):
            with pytest.raises(OutOfMemoryError):
                crawl.push(*batch)
        assert crawl.status() == before
        first, *others = held
        ids = [entry[:8] for entry in first.entries]
        outcomes = {"pages": ids[:1], "dead": [(ids[1], "timeout", "")], "retries": [(ids[2], 0, first.entries[2])]}
        assert crawl.ack(report(first, **outcomes)) == (3, 0)
        assert crawl.ack(report(first, back=ids[3:]), *others) == (50 - 3, 0)
        assert crawl.counts("leased", "dead", "retried") == (0, 1, 1)
        with server.client() as client:
            client.delete("filler")
        assert crawl.push(*links("b", 5)) == [1] * 5
        crawl.close()


def _fill(server: RedisServer) -> None:
    with server.client() as client:

        def is_full() -> bool:
            try:
                client.rpush("filler", "x" * 20_000)
            except OutOfMemoryError:
                return True
            return False

        wait_until(is_full, "Redis to be full")
