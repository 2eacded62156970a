"""How leased URLs end."""

import time
from collections.abc import Callable

import pytest

from tests.frontier.frontiers import Crawl, again, ids, known, link, links, report
from tests.servers import wait_until

Open = Callable[..., Crawl]


def test_every_outcome_is_counted(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 5))
    (visit,) = crawl.lease()
    page, done, retry, dead, back = ids(visit)
    outcomes = report(
        visit,
        pages=[page],
        done=[done],
        retries=[(retry, 60_000, visit.entries[2])],
        dead=[(dead, "http_error", "404")],
        back=[back],
    )
    assert crawl.ack(outcomes) == (5, 0)
    assert crawl.counts("done", "pages", "dead", "queued", "leased", "retried") == (2, 1, 1, 2, 0, 1)
    status = crawl.status()
    assert status.dead_reasons == {"http_error": 1}
    assert status.retries_waiting == 1
    grave = crawl.run(crawl.redis.hget(crawl.base() + "dead", dead))
    assert grave.startswith(b"http_error ")
    assert grave.endswith(b" 3 404" + visit.entries[3])
    assert crawl.finish() == [visit.entries[4]]


def test_an_ack_sent_twice_is_taken_once(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 3))
    (visit,) = crawl.lease()
    assert crawl.ack(visit) == (3, 0)
    assert crawl.ack(visit) == (0, 3)
    assert crawl.counts("done", "stale", "leased") == (3, 3, 0)


def test_a_url_reported_twice_in_one_ack_is_taken_once(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    (visit,) = crawl.lease()
    first, second = ids(visit)
    twice = report(visit, pages=[first, first], done=[first], dead=[(first, "dns", "")], back=[first])
    assert crawl.ack(twice, report(visit, pages=[second]), report(visit, pages=[second])) == (2, 5)
    assert crawl.counts("done", "dead", "queued", "leased") == (2, 0, 0, 0)


@pytest.mark.parametrize("name", [b"\x00" * 8, b"", b"short", b"much longer than an id", b"robots"])
def test_an_id_that_nobody_leased_is_stale(open_crawl: Open, name: bytes) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 3))
    (visit,) = crawl.lease()
    assert crawl.ack(report(visit, pages=[name])) == (0, 1)
    assert crawl.counts("leased", "stale") == (3, 1)
    assert crawl.ack(visit) == (3, 0)


def test_an_id_across_two_others_is_not_taken_for_one(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 3))
    (visit,) = crawl.lease()
    together = b"".join(ids(visit))
    assert crawl.ack(report(visit, pages=[together[3:11]])) == (0, 1)
    assert crawl.ack(visit) == (3, 0)


def test_a_worker_that_slept_too_long_is_refused(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    (visit,) = crawl.lease()
    crawl.crash(visit)
    assert crawl.reclaim() == 2
    assert crawl.ack(visit) == (0, 2)
    (again,) = crawl.lease(worker="w2")
    assert crawl.ack(visit) == (0, 2)  # also while somebody else has the host
    assert crawl.ack(again) == (2, 0)
    assert crawl.counts("done", "stale", "reclaimed") == (2, 4, 2)


def test_a_visit_may_be_acked_in_parts(open_crawl: Open) -> None:
    crawl = open_crawl(rate=1e6)
    crawl.push(*links("a", 6))
    (visit,) = crawl.lease(4)
    for name in ids(visit):
        assert crawl.lease(worker="w2") == []
        assert crawl.ack(report(visit, pages=[name])) == (1, 0)
    assert crawl.lease(worker="w2")[0].host == "a"


def test_acks_of_many_visits_go_together(open_crawl: Open) -> None:
    crawl = open_crawl(partitions=0)
    crawl.push(*(one for host in range(50) for one in links(f"h{host}", 3)))
    visits = crawl.lease(150)
    assert crawl.ack(*visits) == (150, 0)
    assert crawl.counts("done", "pages", "leased") == (150, 150, 0)


def test_pages_are_counted_by_host(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 3), *links("b", 2))
    crawl.finish()
    crawl.push(*links("a", 2))
    (visit,) = crawl.lease()
    crawl.ack(report(visit, done=ids(visit)))
    assert crawl.run(crawl.redis.hgetall(crawl.base() + "pages")) == {b"a": b"3", b"b": b"2"}


def test_a_failing_host_is_left_alone_longer_and_longer(open_crawl: Open) -> None:
    crawl = open_crawl(host_backoff_max_seconds=3.0)
    waits: list[float] = []
    for _ in range(4):
        crawl.push(*links("a", 1))
        (visit,) = crawl.lease()
        crawl.ack(report(visit, failed=1))
        crawl.push(*links("a", 1))
        waits.append(crawl.ask().wait_seconds or 0)
        crawl.block("a", 1)  # the back-off is cut short; the failures are not forgotten
        time.sleep(0.002)
    for wait, least, most in zip(waits, [1, 2, 3, 3], [1.25, 2.5, 3, 3], strict=True):
        assert least - 0.2 <= wait <= most, waits
    crawl.push(*links("a", 2))
    (visit,) = crawl.lease(1)
    crawl.ack(report(visit, failed=0))
    (visit,) = crawl.lease(1)
    crawl.ack(report(visit, failed=1))
    assert 0.8 <= (crawl.ask().wait_seconds or 0) <= 1.25


def test_retry_after_holds_for_all_crawls(open_crawl: Open) -> None:
    one, two = open_crawl(crawl="one"), open_crawl(crawl="two")
    one.push(*links("a", 2))
    two.push(*links("a", 2))
    (visit,) = one.lease()
    one.ack(report(visit, block_ms=30_000))
    assert two.lease() == []
    assert two.ask().wait_seconds == pytest.approx(30, abs=1)


def test_a_shorter_block_does_not_end_a_longer_one(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 3))
    (visit,) = crawl.lease(2)
    first, second = ids(visit)
    crawl.ack(report(visit, pages=[first], block_ms=30_000), report(visit, pages=[second], block_ms=10))
    assert crawl.ask().wait_seconds == pytest.approx(30, abs=1)


def test_given_back_urls_keep_their_place(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*(link(f"http://a/{n}", score=n / 10) for n in range(5)))
    (visit,) = crawl.lease(3)
    crawl.ack(report(visit, back=ids(visit)))
    again = crawl.lease(3)
    assert [entry for part in again for entry in part.entries] == visit.entries


def test_a_url_given_back_beside_its_equal_is_one_url(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push("http://a/1")
    (visit,) = crawl.lease()
    crawl.run(crawl.redis.delete(crawl.base() + "seen:" + crawl.keys.bucket(link("http://a/1").fingerprint)))
    assert crawl.push("http://a/1") == [1]  # the seen-set was lost: it is queued a second time
    crawl.ack(report(visit, back=ids(visit)))
    assert crawl.counts("accepted", "queued") == (1, 1)
    assert len(crawl.finish()) == 1


def test_links_and_acks_survive_a_queue_of_the_wrong_type(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    (visit,) = crawl.lease()
    crawl.run(crawl.redis.set(crawl.base() + "q:medium:a", "not ours"))
    assert crawl.ack(report(visit, back=ids(visit))) == (2, 0)
    assert len(crawl.finish()) == 2


def test_a_leased_url_that_vanished_is_dead(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    (visit,) = crawl.lease()
    crawl.run(crawl.redis.delete(crawl.base() + "leased"))
    assert crawl.ack(report(visit, back=ids(visit)[:1], pages=ids(visit)[1:])) == (2, 0)
    assert crawl.counts("dead:poisoned", "done", "leased") == (1, 1, 0)


def test_crashes_are_forgotten_when_a_url_ends(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    crawl.crash(*crawl.lease())
    crawl.reclaim()
    assert crawl.run(crawl.redis.hlen(crawl.base() + "crashes")) == 2
    crawl.finish()
    assert crawl.run(crawl.redis.exists(crawl.base() + "crashes")) == 0


def test_nothing_is_left_of_a_finished_crawl_but_its_sums(open_crawl: Open) -> None:
    crawl = open_crawl(rate=1e6)
    crawl.push(*(one for host in range(5) for one in links(f"h{host}", 5)))
    assert len(crawl.finish()) == 25

    def left() -> set[bytes]:
        keys = set(crawl.run(_all_keys(crawl)))
        known = (b"seen:", b"counts", b"pages", b"turns", b":fence", b":layout")
        return {key for key in keys if not any(name in key for name in known)}

    wait_until(lambda: not left(), "the hosts to be forgotten")


async def _all_keys(crawl: Crawl) -> list[bytes]:
    return [key async for key in crawl.redis.scan_iter(match="*", count=1000)]


# --- Pages that are crawled again --------------------------------------------------------------


def test_a_page_to_be_crawled_again_is_counted_and_queued_in_one_step(open_crawl: Open) -> None:
    crawl = open_crawl(recrawl=True)
    crawl.push(link("http://a/1", "low", 0.25), *links("a", 2, "high"))
    (visit,) = crawl.lease(1)
    assert crawl.ack(report(visit, again=again(visit, delay_ms=60_000))) == (1, 0)
    assert crawl.counts("accepted", "queued", "leased", "done", "pages") == (3, 3, 0, 0, 1)
    status = crawl.status()
    assert (status.recrawls_waiting, status.recrawls_due, status.retries_waiting) == (1, 0, 0)
    assert not status.is_finished
    visits = crawl.lease()
    crawl.ack(*(report(one, again=again(one, delay_ms=60_000)) for one in visits))
    status = crawl.status()
    assert status.is_finished
    assert status.end_reason == "finished"
    assert status.next_due_seconds == pytest.approx(60, abs=2)
    assert crawl.ask().wait_seconds == pytest.approx(60, abs=2)
    waiting = {entry for visit in visits for entry in visit.entries}
    low = next(entry for entry in waiting if entry.startswith(link("http://a/1").entry[:8]))
    key = crawl.base() + "again"
    assert crawl.run(crawl.redis.zscore(key, b"low -0.25 a " + known(low, "a"))) is not None, "class and score are kept"


def test_an_ack_of_pages_to_be_crawled_again_is_taken_once(open_crawl: Open) -> None:
    crawl = open_crawl(recrawl=True)
    crawl.push(*links("a", 3))
    (visit,) = crawl.lease()
    said = report(visit, again=again(visit, delay_ms=60_000))
    assert crawl.ack(said) == (3, 0)
    assert crawl.ack(said) == (0, 3)
    assert crawl.counts("queued", "pages", "stale") == (3, 3, 3)
    assert crawl.status().recrawls_waiting == 3
    assert crawl.run(crawl.redis.hgetall(crawl.base() + "pages")) == {b"a": b"3"}


def test_a_worker_that_dies_before_its_ack_makes_the_page_be_fetched_again(open_crawl: Open) -> None:
    crawl = open_crawl(recrawl=True)
    crawl.push(*links("a", 1))
    (visit,) = crawl.lease()
    crawl.ack(report(visit, again=again(visit)))
    (second,) = crawl.lease()
    crawl.crash(second)
    assert crawl.reclaim() == 1
    assert crawl.ack(report(second, again=again(second, "page"))) == (0, 1)
    (third,) = crawl.lease(worker="w2")
    assert third.entries == [known(visit.entries[0], "a")], "what is remembered of it is not lost"
    assert crawl.ack(report(third, again=again(third, "page", 60_000))) == (1, 0)
    assert crawl.counts("accepted", "queued", "pages", "done", "dead") == (1, 1, 2, 0, 0)


def test_every_way_a_refetch_ends_is_counted_apart(open_crawl: Open) -> None:
    crawl = open_crawl(recrawl=True)
    crawl.push(*links("a", 4))
    (visit,) = crawl.lease()
    crawl.ack(report(visit, again=again(visit)))
    (visit,) = crawl.lease()
    ways = ("page", "unchanged", "missed", "page")
    said = [(*page[:3], way) for page, way in zip(again(visit, delay_ms=60_000), ways, strict=True)]
    assert crawl.ack(report(visit, again=said)) == (4, 0)
    assert crawl.counts("pages", "unchanged", "missed", "queued", "done", "dead") == (6, 1, 1, 4, 0, 0)
    assert crawl.run(crawl.redis.hgetall(crawl.base() + "pages")) == {b"a": b"4"}, "different pages of the host"


def test_a_full_redis_takes_pages_to_be_crawled_again(redis_url: str, open_crawl_on_one: Open) -> None:
    crawl = open_crawl_on_one(recrawl=True)
    crawl.push(*links("a", 3))
    (visit,) = crawl.lease()
    crawl.run(crawl.redis.config_set("maxmemory", 1))
    try:
        assert crawl.ack(report(visit, again=again(visit, delay_ms=60_000))) == (3, 0)
    finally:
        crawl.run(crawl.redis.config_set("maxmemory", 0))
    assert crawl.counts("queued", "pages") == (3, 3)
