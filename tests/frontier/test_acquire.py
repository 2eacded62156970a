"""A request without a lease, and the visits of crawls, take turns at a host."""

import time
from collections.abc import Callable

import pytest

from crawler.frontier.messages import VisitReport
from tests.frontier.frontiers import Crawl, links
from tests.servers import wait_until

Open = Callable[..., Crawl]


def acquire(crawl: Crawl, host: str = "a", lock_seconds: float = 60.0) -> tuple[str, float | None]:
    answer: tuple[str, float | None] = crawl.run(crawl.frontier.acquire("w1", host, lock_seconds))
    return answer


def release(crawl: Crawl, fence: str, host: str = "a", **report: int) -> None:
    crawl.run(crawl.frontier.release(VisitReport(fence, host, **{"idle_ms": 3_600_000, **report})))


def test_one_request_at_a_time(open_crawl: Open) -> None:
    crawl = open_crawl()
    fence, _ = acquire(crawl)
    assert fence
    assert acquire(crawl) == ("", 0.1)
    assert acquire(crawl, "b")[0]
    release(crawl, fence)
    assert acquire(crawl)[0] not in {"", fence}


def test_a_host_that_is_visited_is_not_for_a_request(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 1))
    (visit,) = crawl.lease()
    assert acquire(crawl)[0] == ""
    crawl.ack(visit)
    assert acquire(crawl)[0]
    assert crawl.counts("done", "leased", "queued") == (1, 0, 0)


def test_a_host_with_a_request_is_not_visited(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 1))
    fence, _ = acquire(crawl)
    assert crawl.lease() == []
    release(crawl, fence)
    assert len(crawl.lease()) == 1


def test_tokens_are_shared(open_crawl: Open) -> None:
    crawl = open_crawl(rate=1.0, burst=3)
    crawl.push(*links("a", 2))
    (visit,) = crawl.lease()
    crawl.ack(VisitReport(visit.fence, "a", idle_ms=0, pages=[entry[:8] for entry in visit.entries]))
    fence, _ = acquire(crawl)
    release(crawl, fence, idle_ms=0)
    fence, wait = acquire(crawl)
    assert fence == ""
    assert wait is not None
    assert 0.5 < wait <= 1
    crawl.push(*links("a", 1))
    assert crawl.lease() == []


def test_a_crawl_with_much_to_fetch_lets_a_request_in(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=2)
    crawl.push(*links("a", 20))
    (visit,) = crawl.lease(2)
    assert acquire(crawl)[0] == ""
    crawl.ack(visit)
    assert crawl.lease(2) == []  # it is the request's turn
    fence, _ = acquire(crawl)
    assert fence
    release(crawl, fence)
    assert len(crawl.lease(2)) == 1  # and now the crawl's again


def test_a_request_that_never_comes_back_costs_a_second(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=2)
    crawl.push(*links("a", 20))
    (visit,) = crawl.lease(2)
    assert acquire(crawl)[0] == ""
    crawl.ack(visit)
    wait_until(lambda: crawl.lease(2))


def test_requests_cannot_shut_a_crawl_out(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 1))
    fence, _ = acquire(crawl)
    assert crawl.lease() == []
    release(crawl, fence)
    assert acquire(crawl)[0] == ""  # the crawl has waited
    assert len(crawl.lease()) == 1


@pytest.mark.parametrize("ms", [60_000, -1])
def test_a_blocked_host_is_not_asked(open_crawl: Open, ms: int) -> None:
    crawl = open_crawl()
    crawl.block("a", ms)
    fence, wait = acquire(crawl)
    assert fence == ""
    assert wait is None if ms < 0 else wait == pytest.approx(60, abs=2)


def test_what_a_request_learns_holds_for_all(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 1))
    fence, _ = acquire(crawl)
    release(crawl, fence, block_ms=30_000)  # 429 with Retry-After
    answer = crawl.ask(partition=crawl.keys.partition("a"))
    assert answer.visits == []
    assert answer.wait_seconds == pytest.approx(30, abs=2)


def test_the_host_of_a_dead_owner_comes_back(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 1))
    assert acquire(crawl, lock_seconds=0.001)[0]
    time.sleep(0.002)
    crawl.reclaim()
    assert len(crawl.lease()) == 1


def test_a_late_release_is_refused(open_crawl: Open) -> None:
    crawl = open_crawl()
    fence, _ = acquire(crawl, lock_seconds=0.001)
    time.sleep(0.002)
    crawl.reclaim()
    second, _ = acquire(crawl)
    release(crawl, fence, block_ms=60_000)
    assert acquire(crawl) == ("", 0.1)  # the second still has it, and nothing was blocked
    release(crawl, second)
    assert acquire(crawl)[0]


def test_nothing_is_left_behind(open_crawl_on_one: Open) -> None:
    crawl = open_crawl_on_one()
    crawl.push(*links("a", 1))
    (visit,) = crawl.lease()
    acquire(crawl)
    crawl.ack(visit)
    fence, _ = acquire(crawl)
    release(crawl, fence)
    assert crawl.run(crawl.redis.keys("*@requests*")) == []
    assert crawl.run(crawl.redis.zcard(f"{crawl.tag()}:visits")) == 0


# --- One more request of a visit -------------------------------------------------------------


def charge(crawl: Crawl, fence: str, idle_seconds: float = 0.0) -> float | None:
    wait: float | None = crawl.run(crawl.frontier.charge(fence, "a", idle_seconds))
    return wait


def test_what_a_page_loads_takes_tokens_of_its_host(open_crawl: Open) -> None:
    crawl = open_crawl(rate=1.0, burst=3)
    crawl.push(*links("a", 1))
    (visit,) = crawl.lease()
    assert charge(crawl, visit.fence) == 0
    assert charge(crawl, visit.fence) == 0
    wait = charge(crawl, visit.fence)
    assert wait is not None
    assert 0.9 <= wait <= 1
    crawl.ack(visit)
    assert acquire(crawl)[0] == ""  # and they are gone for everybody


def test_without_a_rate_there_is_nothing_to_take(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 1))
    (visit,) = crawl.lease()
    assert {charge(crawl, visit.fence) for _ in range(20)} == {0.0}
    assert crawl.ack(visit) == (1, 0)


def test_a_lost_visit_has_no_tokens(open_crawl: Open) -> None:
    crawl = open_crawl(rate=1.0)
    crawl.push(*links("a", 1))
    (visit,) = crawl.lease()
    crawl.crash(visit)
    crawl.reclaim()
    assert charge(crawl, visit.fence) is None
