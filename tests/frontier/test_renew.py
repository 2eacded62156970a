"""A worker that is alive keeps what it holds."""

from collections.abc import Callable

from tests.frontier.frontiers import Crawl, links
from tests.servers import wait_until

Open = Callable[..., Crawl]


def test_a_renewed_visit_is_not_reclaimed(open_crawl: Open) -> None:
    crawl = open_crawl(lock_seconds=0.001, partitions=0)
    crawl.push(*links("a", 2), *links("b", 2))
    visits = {visit.host: visit for visit in crawl.lease()}
    crawl.change(lock_seconds=60.0)
    assert crawl.renew(visits["a"]) == set()
    wait_until(lambda: crawl.reclaim() == 2)
    assert crawl.renew(*visits.values()) == {visits["b"].fence}
    assert crawl.ack(visits["a"]) == (2, 0)
    assert crawl.renew(*visits.values()) == {visit.fence for visit in visits.values()}
    crawl.status()


def test_many_visits_are_renewed_at_once(open_crawl_on_one: Open) -> None:
    crawl = open_crawl_on_one(visit_pages=1)
    crawl.push(*(one for host in range(3000) for one in links(f"h{host}", 1)))
    visits = crawl.lease(3000)
    crawl.crash(*visits[:10])
    assert crawl.renew(*visits) == set()
    assert crawl.reclaim() == 0


def test_nothing_to_renew_is_no_error(open_crawl: Open) -> None:
    assert open_crawl().renew() == set()
