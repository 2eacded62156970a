"""One consistent look at a crawl."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.frontier.frontiers import Crawl, ids, links, report

Open = Callable[..., Crawl]


def test_an_empty_crawl_is_finished(open_crawl: Open) -> None:
    status = open_crawl(partitions=0).status()
    assert status.is_finished
    assert (status.counts, status.drops, status.next_due_seconds) == ({}, {}, None)


def test_a_crawl_is_finished_when_nothing_is_queued_or_leased(open_crawl: Open) -> None:
    crawl = open_crawl(partitions=0)
    crawl.push(*links("a", 2))
    assert not crawl.status().is_finished
    visits = crawl.lease()
    assert not crawl.status().is_finished
    crawl.ack(*visits)
    assert crawl.status().is_finished


def test_a_waiting_retry_keeps_a_crawl_going(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 1))
    (visit,) = crawl.lease()
    crawl.ack(report(visit, retries=[(ids(visit)[0], 30_000, visit.entries[0])]))
    status = crawl.status()
    assert not status.is_finished
    assert status.retries_waiting == 1
    assert status.next_due_seconds == pytest.approx(30, abs=1)


def test_hosts_are_ready_or_visited_or_waiting(open_crawl: Open) -> None:
    crawl = open_crawl(rate=0.1, burst=1)

    def hosts() -> tuple[int, int, int]:
        status = crawl.status()
        return status.hosts_ready, status.hosts_visited, status.hosts_waiting

    crawl.push(*links("a", 2), *links("b", 2))
    assert hosts() == (2, 0, 0)
    visits = crawl.lease(1)
    assert hosts() == (1, 1, 0)
    crawl.ack(*visits)
    assert hosts() == (1, 0, 1)


def test_visits_of_another_crawl_are_not_counted(open_crawl: Open) -> None:
    crawl, other = open_crawl(), open_crawl(crawl="other")
    crawl.push(*links("a", 1))
    assert crawl.lease()
    assert other.status().hosts_visited == 0


def test_partitions_are_summed(open_crawl: Open) -> None:
    crawl = open_crawl(partitions=16)
    crawl.push(*(one for host in range(40) for one in links(f"h{host}", 2)))
    crawl.run(crawl.frontier.count_drops(Counter(too_deep=3)))
    crawl.set_state("paused")
    status = crawl.status()
    assert status.state == "paused"
    assert status.count("queued") == 80
    assert status.drops == {"too_deep": 3}
    assert status.hosts_ready == 40
