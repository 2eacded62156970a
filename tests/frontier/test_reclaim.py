"""What dead workers held goes back."""

from collections.abc import Callable

import pytest

from tests.frontier.frontiers import Crawl, ids, links, report
from tests.servers import wait_until

Open = Callable[..., Crawl]


def test_killed_worker_returns_its_urls(open_crawl: Open) -> None:
    crawl = open_crawl(lock_seconds=0.001, partitions=0)
    crawl.push(*links("a", 3), *links("b", 3, "high"))
    held = crawl.lease()
    reclaimed = 0

    def all_back() -> bool:
        nonlocal reclaimed
        reclaimed += crawl.reclaim()
        return reclaimed == 6

    wait_until(all_back)
    assert crawl.counts("queued", "leased", "reclaimed") == (6, 0, 6)
    crawl.change(lock_seconds=60.0)
    entries = {entry for visit in held for entry in visit.entries}
    assert set(crawl.finish("w2")) == entries


def test_a_live_visit_is_left_alone(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 3))
    (visit,) = crawl.lease()
    assert crawl.reclaim() == 0
    assert crawl.ack(visit) == (3, 0)


def test_a_url_that_kills_its_workers_is_dead(open_crawl: Open) -> None:
    crawl = open_crawl(max_crashes=3)
    crawl.push(*links("a", 1))
    for _ in range(3):
        (visit,) = crawl.lease()
        crawl.crash(visit)
        assert crawl.reclaim() == 1
    assert crawl.lease() == []
    assert crawl.counts("dead", "dead:crashed", "queued", "reclaimed") == (1, 1, 0, 3)
    grave = crawl.run(crawl.redis.hget(crawl.base() + "dead", ids(visit)[0]))
    assert grave.endswith(visit.entries[0])


def test_what_was_acked_before_the_crash_stays_done(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 4))
    (visit,) = crawl.lease()
    crawl.ack(report(visit, pages=ids(visit)[:3]))
    crawl.crash(visit)
    assert crawl.reclaim() == 1
    assert crawl.finish() == visit.entries[3:]
    assert crawl.counts("done") == (4,)


def test_every_crawl_is_reclaimed_by_any_other(open_crawl: Open) -> None:
    dead, alive = open_crawl(crawl="dead"), open_crawl(crawl="alive")
    dead.push(*links("a", 2))
    alive.push(*links("a", 2))
    dead.crash(*dead.lease())
    assert alive.lease() == []
    assert alive.reclaim() == 2
    assert alive.lease()[0].host == "a"
    assert dead.counts("queued", "leased") == (2, 0)


def test_the_bucket_refills_from_the_last_moment_of_a_possible_fetch(open_crawl: Open) -> None:
    """That is the middle of the lock, and a second for the way; so three of eight seconds are tokens."""
    crawl = open_crawl(rate=1.0, burst=5, visit_pages=5, lock_seconds=8)
    crawl.push(*links("a", 10))
    (visit,) = crawl.lease()
    assert len(visit.entries) == 5
    wind_back(crawl, 60)
    crawl.crash(visit)
    crawl.reclaim()
    answer = crawl.ask()
    assert [len(visit.entries) for visit in answer.visits] == [3]


def test_a_short_lock_leaves_no_time_for_tokens(open_crawl: Open) -> None:
    crawl = open_crawl(rate=1.0, burst=1, lock_seconds=2)
    crawl.push(*links("a", 2))
    visits = crawl.lease()
    wind_back(crawl, 60)
    crawl.crash(*visits)
    crawl.reclaim()
    answer = crawl.ask()
    assert answer.visits == []
    assert 0.5 < (answer.wait_seconds or 0) <= 1


def wind_back(crawl: Crawl, seconds: float) -> None:
    """The visit to host a began longer ago."""
    script = """
        local record = cmsgpack.unpack(redis.call('GET', KEYS[1]))
        record[2] = record[2] - ARGV[1]
        redis.call('SET', KEYS[1], cmsgpack.pack(record))
    """
    crawl.run(crawl.redis.eval(script, 1, f"{crawl.tag()}:polite:a", seconds * 1000))


def test_many_dead_visits_are_reclaimed_in_steps(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=1)
    crawl.push(*(one for host in range(150) for one in links(f"h{host}", 1)))
    crawl.crash(*crawl.lease(150))
    assert crawl.reclaim() + crawl.reclaim() + crawl.reclaim() == 150
    assert crawl.counts("queued", "leased") == (150, 0)


def test_a_lost_record_of_the_host_loses_no_url(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 3), *links("b", 2))
    visits = crawl.lease()
    crawl.run(crawl.redis.delete(f"{crawl.tag()}:polite:a"))
    crawl.crash(*visits)
    assert crawl.reclaim() == 5
    assert len(crawl.finish()) == 5


@pytest.mark.parametrize("value", [None, b"", b"nonsense"])
def test_a_spoilt_lease_is_dead(open_crawl: Open, value: bytes | None) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    (visit,) = crawl.lease()
    leased, name = crawl.base() + "leased", visit.fence.encode() + ids(visit)[0]
    crawl.run(crawl.redis.hdel(leased, name) if value is None else crawl.redis.hset(leased, name, value))
    crawl.crash(visit)
    assert crawl.reclaim() == 2
    assert crawl.counts("dead:poisoned", "queued", "leased") == (1, 1, 0)


@pytest.mark.parametrize("member", [b"", b"nonsense", b"1|", b"||", b"999|nowhere|nohost", b"\xff|\xff|\xff"])
def test_a_spoilt_visit_does_not_stop_the_others(open_crawl: Open, member: bytes) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    crawl.crash(*crawl.lease())
    visits = f"{crawl.tag()}:visits"
    crawl.run(crawl.redis.zadd(visits, {member: 0}))
    assert crawl.reclaim() == 2
    assert crawl.run(crawl.redis.zcard(visits)) == 0
    crawl.status()


def test_urls_go_back_although_their_queue_was_overwritten(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    crawl.crash(*crawl.lease())
    crawl.run(crawl.redis.set(crawl.base() + "q:medium:a", "not ours"))
    assert crawl.reclaim() == 2
    assert len(crawl.finish()) == 2
