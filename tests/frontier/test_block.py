"""Hosts that are left alone."""

from collections.abc import Callable

import pytest

from tests.frontier.frontiers import Crawl, links, report
from tests.servers import wait_until

Open = Callable[..., Crawl]


def test_a_blocked_host_is_held_back_until_unblocked(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2), *links("a", 1, "high"), *links("b", 1))
    crawl.block("a", -1)
    assert len(crawl.finish()) == 1
    status = crawl.status()
    assert status.held_back == 3
    assert status.is_finished  # nothing that is queued could ever be handed out
    assert crawl.ask().wait_seconds is None
    crawl.push(*links("a", 1), *links("a", 1, "low"))
    assert crawl.lease() == []
    assert crawl.status().held_back == 5
    crawl.block("a", 0)
    assert not crawl.status().is_finished
    assert len(crawl.finish()) == 5


def test_a_block_ends_by_itself(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    crawl.block("a", 60)
    assert crawl.lease() == []
    assert 0 < (crawl.ask().wait_seconds or 0) <= 0.06
    assert wait_until(crawl.lease)


def test_a_block_for_good_becomes_one_for_a_time(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    crawl.block("a", -1)
    assert crawl.lease() == []
    crawl.block("a", 30)
    assert wait_until(crawl.lease)


def test_what_was_leased_before_the_block_may_end(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=2)
    crawl.push(*links("a", 4))
    (visit,) = crawl.lease(2)
    crawl.block("a", -1)
    assert crawl.ack(visit) == (2, 0)
    assert crawl.lease() == []
    assert crawl.status().held_back == 2
    crawl.block("a", 0)
    assert len(crawl.finish()) == 2


def test_a_block_is_remembered_by_a_host_that_is_locked(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 1))
    (visit,) = crawl.lease()
    crawl.block("a", -1)
    crawl.ack(report(visit, failed=0, block_ms=5))
    crawl.push(*links("a", 1))
    assert crawl.lease() == []
    assert crawl.run(crawl.redis.pttl(f"{crawl.tag()}:polite:a")) == -1


@pytest.mark.parametrize("ms", [-1, 60_000])
def test_a_block_holds_for_all_crawls_and_ends_for_all(open_crawl: Open, ms: int) -> None:
    names = ["one", "two"]
    crawls = [open_crawl(crawl=name) for name in names]
    for crawl in crawls:
        crawl.push(*links("a", 2))
    crawls[0].block("a", ms, names)
    assert [crawl.lease() for crawl in crawls] == [[], []]
    crawls[0].block("a", 0, names)
    assert len(crawls[0].finish()) == 2
    assert len(crawls[1].finish()) == 2


def test_blocking_an_unknown_host_is_remembered(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.block("a", -1)
    crawl.push(*links("a", 2))
    assert crawl.lease() == []
    assert crawl.counts("queued") == (2,)
