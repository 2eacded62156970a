"""What is handed out, when, and in which order."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from crawler.frontier.entry import Known, decode
from crawler.frontier.messages import Visit
from tests.frontier.frontiers import Crawl, again, ids, known, link, links, report
from tests.servers import wait_until

Open = Callable[..., Crawl]
FAST = 1_000_000.0  # a finite rate that no test ever has to wait for


def hosts_of(visits: list[Visit]) -> list[str]:
    return [visit.host for visit in visits]


def size(visits: list[Visit]) -> int:
    return sum(len(visit.entries) for visit in visits)


# --- Which class -----------------------------------------------------------------------------


def serve(crawl: Crawl, total: int, wanted: int) -> Iterator[str]:
    """The class of each URL that is handed out; every visit ends before the next lease."""
    number = 0
    while number < total:
        # A quick machine asks again before the next token has come, however high the rate.
        visits = wait_until(lambda: crawl.lease(wanted), "a lease")
        crawl.ack(*visits)
        for visit in visits:
            number += len(visit.entries)
            yield from [visit.priority] * len(visit.entries)


@pytest.mark.parametrize("visit_pages", [1, 8])
@pytest.mark.parametrize("rate", [0.0, FAST])
@pytest.mark.parametrize("hosts", [1, 40])
def test_classes_get_their_shares(open_crawl_on_one: Open, hosts: int, rate: float, visit_pages: int) -> None:
    crawl = open_crawl_on_one(rate=rate, burst=10, visit_pages=visit_pages)
    for priority in ("high", "medium", "low"):
        crawl.push(*(one for host in range(hosts) for one in links(f"h{host}", 1200 // hosts, priority)))
    served = Counter(serve(crawl, 1000, 16))
    total = served.total()
    for priority, share in {"high": 0.7, "medium": 0.2, "low": 0.1}.items():
        assert served[priority] / total == pytest.approx(share, abs=0.05)


def test_classes_of_different_hosts_get_their_shares(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=4)
    for priority in ("high", "medium", "low"):
        crawl.push(*(one for host in range(20) for one in links(f"{priority}{host}", 30, priority)))
    served = Counter(serve(crawl, 400, 32))
    for priority, share in {"high": 0.7, "medium": 0.2, "low": 0.1}.items():
        assert served[priority] / served.total() == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("priority", ["high", "medium", "low"])
def test_a_class_alone_gets_everything(open_crawl: Open, priority: str) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 100, priority))
    assert len(crawl.finish()) == 100


@pytest.mark.parametrize("absent", ["high", "low"])
def test_a_class_that_had_nothing_cannot_starve_the_others_later(open_crawl_on_one: Open, absent: str) -> None:
    crawl = open_crawl_on_one(visit_pages=8)
    present = [priority for priority in ("high", "medium", "low") if priority != absent]
    for priority in present:
        crawl.push(*(one for host in range(10) for one in links(f"h{host}", 150, priority)))
    crawl.push(*(one for host in range(10) for one in links(f"h{host}", 100, absent)))
    for host in range(10):  # queued, and never ready
        crawl.run(crawl.redis.zrem(f"{crawl.base()}ready:{absent}", f"h{host}"))
    assert absent not in Counter(serve(crawl, 1000, 16))
    for host in range(10):
        crawl.run(crawl.redis.zadd(f"{crawl.base()}ready:{absent}", {f"h{host}": 0}))
    served = Counter(serve(crawl, 200, 16))
    assert all(served[priority] for priority in present)
    share = {"high": 0.7, "low": 0.1}[absent]
    assert served[absent] / served.total() == pytest.approx(share, abs=0.2)


# --- Which host, which URL -------------------------------------------------------------------


def test_the_host_that_is_ready_longest_is_served_first(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=2)
    for host in ("c", "a", "b"):
        crawl.push(*links(host, 6))
        time.sleep(0.002)  # readiness is counted in milliseconds
    order: list[str] = []
    for _ in range(9):
        (visit,) = crawl.lease(2)
        crawl.ack(visit)
        order.append(visit.host)
        time.sleep(0.002)
    assert order == ["c", "a", "b"] * 3


def test_the_best_score_of_a_host_goes_first(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*(link(f"http://a/{score}", score=score / 10) for score in (3, 9, 1, 5)))
    assert crawl.finish_urls() == [f"http://a/{score}" for score in (9, 5, 3, 1)]


def test_a_visit_is_no_larger_than_allowed(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=3, rate=FAST, burst=100)
    crawl.push(*links("a", 10), *links("b", 10))
    visits = crawl.lease(100)
    assert sorted(hosts_of(visits)) == ["a", "b"]
    assert [len(visit.entries) for visit in visits] == [3, 3]
    assert crawl.lease(100) == []


def test_no_more_is_handed_out_than_wanted(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=8)
    crawl.push(*(one for host in range(5) for one in links(f"h{host}", 20)))
    assert size(crawl.lease(13)) == 13
    assert crawl.counts("queued", "leased") == (87, 13)


def test_a_large_batch_is_handed_out_at_once(open_crawl_on_one: Open) -> None:
    crawl = open_crawl_on_one(visit_pages=1000)
    crawl.push(*(link(f"http://h{number}/") for number in range(2500)), *links("a", 1000))
    visits = crawl.lease(3500)
    assert size(visits) == 3500
    assert crawl.ack(*visits) == (3500, 0)
    assert crawl.counts("queued", "leased", "done") == (0, 0, 3500)


def test_a_locked_host_is_handed_to_nobody_else(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=2)
    crawl.push(*links("a", 6), *links("a", 6, "high"))
    (visit,) = crawl.lease(2)
    assert crawl.lease(10, "w2") == []
    crawl.ack(visit)
    assert hosts_of(crawl.lease(2, "w2")) == ["a"]


def test_partitions_hold_all_hosts(open_crawl: Open) -> None:
    crawl = open_crawl(partitions=0)  # one, or 32 on a cluster
    crawl.push(*(link(f"http://h{number}/") for number in range(200)))
    assert len(set(crawl.finish())) == 200
    assert crawl.counts("accepted", "done") == (200, 200)


# --- Visits that are joined ------------------------------------------------------------------


def test_without_a_limit_the_owner_tops_up_its_visit(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=4)
    crawl.push(*links("a", 10))
    (first,) = crawl.lease(2)
    (more,) = crawl.lease(10)
    assert more.fence == first.fence
    assert (len(first.entries), len(more.entries)) == (2, 2)
    assert crawl.lease(10) == []  # the visit is full
    crawl.ack(report(first, pages=ids(first)[:1]))
    (one,) = crawl.lease(10)
    assert (one.fence, len(one.entries)) == (first.fence, 1)
    assert crawl.counts("queued", "leased", "done") == (5, 4, 1)
    assert crawl.ack(report(first, pages=ids(first)[1:]), more, one) == (4, 0)
    assert len(crawl.finish()) == 5


def test_all_classes_of_a_host_join_one_visit(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=6)
    for priority in ("high", "medium", "low"):
        crawl.push(*links("a", 4, priority))
    visits = crawl.lease(20)
    assert len({visit.fence for visit in visits}) == 1
    assert size(visits) == 6
    assert crawl.ack(*visits) == (6, 0)
    assert len(crawl.finish()) == 6


def test_what_joins_counts_against_the_page_cap(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=8, max_pages_per_host=5)
    crawl.push(*links("a", 20))
    visits = crawl.lease(3) + crawl.lease(10) + crawl.lease(10)
    assert size(visits) == 5
    crawl.ack(*visits)
    assert crawl.lease(10) == []
    assert crawl.counts("done", "dead", "dead:host_cap", "queued") == (5, 15, 15, 0)


def test_a_failed_page_leaves_room_under_the_cap(open_crawl: Open) -> None:
    crawl = open_crawl(max_pages_per_host=2)
    crawl.push(*links("a", 4))
    visits = crawl.lease(10)
    first, second = [name for visit in visits for name in ids(visit)]
    crawl.ack(report(visits[0], pages=[first], dead=[(second, "timeout", "")]))
    assert size(crawl.lease(10)) == 1


def test_many_queued_urls_over_the_cap_end_in_steps(open_crawl: Open) -> None:
    crawl = open_crawl(max_pages_per_host=1)
    crawl.push(*links("a", 900))
    crawl.finish()
    wait_until(lambda: crawl.lease(10) == [] and crawl.status().count("queued") == 0)
    assert crawl.counts("done", "dead:host_cap") == (1, 899)


# --- Politeness ------------------------------------------------------------------------------


def test_a_host_is_asked_no_faster_than_its_bucket_allows(open_crawl: Open) -> None:
    """Two crawls share the host; one worker of each dies now and then."""
    rate, burst = 80.0, 5
    crawls = [open_crawl(crawl=name, rate=rate, burst=burst, visit_pages=3) for name in ("one", "two")]
    for crawl in crawls:
        crawl.push(*links("a", 200))
    taken: list[tuple[float, float, int]] = []
    stop = time.monotonic() + 1.0
    while time.monotonic() < stop:
        for crawl in crawls:
            before = time.monotonic()
            visits = crawl.lease(10)
            taken += [(before, time.monotonic(), len(visit.entries)) for visit in visits]
            if len(taken) % 4 == 3:
                crawl.crash(*visits)
                crawl.reclaim()
            else:
                crawl.ack(*visits)
    for first, (start, _, _) in enumerate(taken):
        number = 0
        for _, end, some in taken[first:]:
            number += some
            assert number <= burst + rate * (end - start) + 0.1
    assert sum(some for *_, some in taken) > 40
    assert {crawl.status().count("done") > 5 for crawl in crawls} == {True}


def test_no_token_is_gained_during_a_visit(open_crawl: Open) -> None:
    crawl = open_crawl(rate=20.0, burst=1)
    crawl.push(*links("a", 5))
    (visit,) = crawl.lease(5)
    time.sleep(0.08)  # more than a token's worth
    crawl.ack(report(visit, idle_ms=0))  # it fetched only now
    answer = crawl.ask(5)
    assert answer.visits == []
    assert answer.wait_seconds == pytest.approx(0.05, abs=0.02)


def test_a_fetch_long_ago_has_refilled_the_bucket(open_crawl: Open) -> None:
    crawl = open_crawl(rate=20.0, burst=1)
    crawl.push(*links("a", 5))
    (visit,) = crawl.lease(5)
    time.sleep(0.08)
    crawl.ack(report(visit, idle_ms=10_000))
    assert size(crawl.lease(5)) == 1


def test_the_wait_is_what_the_bucket_needs(open_crawl: Open) -> None:
    crawl = open_crawl(rate=2.0, burst=2)
    assert crawl.ask().wait_seconds is None
    crawl.push(*links("a", 5))
    answer = crawl.ask(5)
    assert size(answer.visits) == 2
    assert answer.wait_seconds == pytest.approx(0.5, abs=0.01)
    crawl.ack(*answer.visits)
    assert crawl.ask().wait_seconds == pytest.approx(0.5, abs=0.1)


def test_crawl_delay_slows_a_host_down_and_no_other(open_crawl: Open) -> None:
    crawl = open_crawl(rate=FAST, burst=10)
    crawl.push(*links("a", 5), *links("b", 5))
    robots = crawl.lease(10, ask_robots=True)
    for visit in robots:
        crawl.ack(report(visit, robots_ms=60_000, interval_ms=150 if visit.host == "a" else 0))
    times: list[float] = []
    start = time.monotonic()
    counted: Counter[str] = Counter()
    while counted["a"] < 3:
        for visit in crawl.lease(10, ask_robots=True):
            assert not visit.is_robots
            counted[visit.host] += len(visit.entries)
            if visit.host == "a":
                assert len(visit.entries) == 1
                times.append(time.monotonic() - start)
            crawl.ack(visit)
    assert counted["b"] == 5
    # robots.txt was a request too; leases may come late, never early.
    assert times[0] >= 0.1
    assert all(later - earlier >= 0.14 for earlier, later in itertools.pairwise(times))


def test_crawl_delay_holds_without_a_rate_limit(open_crawl: Open) -> None:
    crawl = open_crawl(rate=0.0)
    crawl.push(*links("a", 5))
    (robots,) = crawl.lease(10, ask_robots=True)
    crawl.ack(report(robots, idle_ms=0, robots_ms=60_000, interval_ms=60_000))
    assert crawl.lease(10, ask_robots=True) == []
    assert crawl.ask(ask_robots=True).wait_seconds == pytest.approx(60, abs=5)


@pytest.mark.parametrize("rate", [0.0, FAST])
def test_robots_txt_is_fetched_once_and_first(open_crawl: Open, rate: float) -> None:
    crawl = open_crawl(rate=rate)
    crawl.push(*links("a", 5), *links("a", 5, "high"))
    (visit,) = crawl.lease(10, ask_robots=True)
    assert visit.is_robots
    assert len(visit.entries) == 1
    assert crawl.counts("queued", "leased") == (10, 0)
    assert crawl.lease(10, "w2", ask_robots=True) == []
    assert crawl.lease(10, ask_robots=True) == []  # not even more of the same host for its owner
    assert crawl.ack(report(visit, robots_ms=60_000)) == (0, 0)
    wait_until(lambda: crawl.lease(10, ask_robots=True))
    crawl.status()


def test_robots_txt_of_a_dead_worker_is_fetched_by_another(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    (visit,) = crawl.lease(10, ask_robots=True)
    crawl.crash(visit)
    assert crawl.reclaim() == 0
    (again,) = crawl.lease(10, "w2", ask_robots=True)
    assert again.is_robots
    assert crawl.ack(report(visit, robots_ms=1000)) == (0, 0)  # too late: it changes nothing
    assert crawl.lease(10, "w3", ask_robots=True) == []


def test_an_idle_host_is_forgotten_and_what_it_said_is_not(open_crawl: Open) -> None:
    crawl = open_crawl(rate=10.0, burst=10)
    hosts = ("plain", "robots", "delay", "failing", "locked", "blocked")
    crawl.push(*(one for host in hosts for one in links(host, 2)))
    visits = {visit.host: visit for visit in crawl.lease(100, ask_robots=True)}
    crawl.ack(
        report(visits["plain"], idle_ms=0),
        report(visits["robots"], robots_ms=86_400_000),
        report(visits["delay"], robots_ms=1000, interval_ms=30_000),
        report(visits["failing"], failed=1, block_ms=120_000),
        report(visits["blocked"]),
    )
    crawl.block("blocked", -1)
    ttl = {host: crawl.run(crawl.redis.pttl(f"{crawl.tag()}:polite:{host}")) for host in hosts}
    assert 0 < ttl["plain"] <= 1000  # its bucket is full again by then
    assert ttl["robots"] > 86_000_000
    assert ttl["delay"] > 3_000_000
    assert ttl["failing"] > 120_000
    assert ttl["locked"] == ttl["blocked"] == -1
    wait_until(lambda: not crawl.run(crawl.redis.exists(f"{crawl.tag()}:polite:plain")))


def test_an_unfinished_bucket_is_not_forgotten(open_crawl: Open) -> None:
    crawl = open_crawl(rate=0.01, burst=3)
    crawl.push(*links("a", 5))
    crawl.ack(*crawl.lease(3))
    assert crawl.run(crawl.redis.pttl(f"{crawl.tag()}:polite:a")) > 250_000


# --- Several crawls --------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, FAST])
def test_a_parked_host_comes_back_to_every_crawl_that_waits(open_crawl: Open, rate: float) -> None:
    crawls = [open_crawl(crawl=f"c{number}", rate=rate) for number in range(4)]
    for crawl in crawls:
        crawl.push(*links("a", 1, "high"), *links("a", 1, "low"))
    held = crawls[0].lease(1)
    assert [crawl.lease() for crawl in crawls[1:]] == [[], [], []]
    crawls[0].ack(*held)
    left = set(range(4))

    def all_served() -> bool:
        for number in list(left):
            crawl = crawls[number]
            crawl.ack(*crawl.lease())
            if crawl.status().is_finished:
                left.discard(number)
        return not left

    wait_until(all_served, "all crawls to get the host", 10)


def test_a_parked_host_comes_back_when_its_visitor_dies(open_crawl: Open) -> None:
    one, two = open_crawl(crawl="one"), open_crawl(crawl="two")
    one.push(*links("a", 2))
    two.push(*links("a", 2))
    held = one.lease()
    assert two.lease() == []
    one.crash(*held)
    assert two.reclaim() == 2
    assert size(two.lease()) == 2
    assert one.counts("queued", "leased", "reclaimed") == (2, 0, 2)


@pytest.mark.parametrize(("rate", "visit_pages"), [(0.0, 2), (FAST, 2), (0.0, 8)])
def test_a_busy_crawl_does_not_starve_another(open_crawl: Open, rate: float, visit_pages: int) -> None:
    """The greedy one always asks first, and asks again before every answer; the other comes by now and then."""
    greedy = open_crawl(crawl="greedy", rate=rate, visit_pages=visit_pages)
    modest = open_crawl(crawl="modest", rate=rate, visit_pages=visit_pages)
    greedy.push(*links("a", 3000))
    modest.push(*links("a", 8))
    served = 0
    held: list[Visit] = []
    rounds = 0
    while served < 8:
        rounds += 1
        assert rounds < 100
        for _ in range(3):
            more = greedy.lease(1 if visit_pages == 8 else 10)
            if held:
                greedy.ack(held.pop(0))
            held += more
        visits = modest.lease()
        served += size(visits)
        modest.ack(*visits)


def test_a_crawl_that_went_away_does_not_keep_its_turn(open_crawl: Open) -> None:
    one, two = open_crawl(crawl="one"), open_crawl(crawl="two")
    one.push(*links("a", 4))
    two.push(*links("a", 4))
    held = one.lease(1)
    assert two.lease() == []
    one.ack(*held)
    two.set_state("paused")  # it was its turn
    wait_until(lambda: one.lease(1), "the other crawl to give up its turn", 5)


def test_a_crawl_with_a_lower_rate_still_gets_its_turn(open_crawl: Open) -> None:
    fast, slow = open_crawl(crawl="fast", rate=40.0, burst=1), open_crawl(crawl="slow", rate=10.0, burst=1)
    fast.push(*links("a", 200))
    slow.push(*links("a", 3))

    def slow_is_served() -> bool:
        visits = fast.lease()
        looked = slow.lease()
        slow.ack(*looked)
        fast.ack(*visits)
        return slow.status().count("done") == 3

    wait_until(slow_is_served, "the slow crawl", 10)


# --- State -----------------------------------------------------------------------------------


def test_a_paused_crawl_hands_nothing_out(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 3))
    crawl.set_state("paused")
    answer = crawl.ask()
    assert (answer.state, answer.visits, answer.wait_seconds) == ("paused", [], None)
    crawl.set_state("")
    assert size(crawl.lease()) == 3


def test_retries_come_back_when_they_are_due(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 1))
    (visit,) = crawl.lease()
    crawl.ack(report(visit, retries=[(ids(visit)[0], 80, visit.entries[0])]))
    answer = crawl.ask()
    assert answer.visits == []
    assert 0 < (answer.wait_seconds or 0) <= 0.08
    (again,) = wait_until(crawl.lease)
    assert again.entries == visit.entries


# --- What is not ours ------------------------------------------------------------------------


def test_garbage_in_a_queue_is_dead_and_the_rest_goes_on(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=20)
    crawl.push(*links("a", 6))
    queue = crawl.base() + "q:medium:a"
    real: list[bytes] = crawl.run(crawl.redis.zrange(queue, 0, -1))
    # What was accepted is replaced: the sums must hold all the same.
    crawl.run(crawl.redis.zrem(queue, *real[:4]))
    twin = real[4][:8] + b"something else"
    crawl.run(crawl.redis.zadd(queue, {b"": -9, b"short": -9, b"\xff" * 8: -9, twin: 9}))
    visits = crawl.lease(20)
    assert sorted(entry for visit in visits for entry in visit.entries) == sorted(real[4:])
    assert crawl.counts("leased", "dead", "dead:poisoned", "queued") == (2, 4, 4, 0)
    assert crawl.ack(*visits) == (2, 0)
    assert crawl.status().is_finished


def test_a_twin_of_a_url_in_a_joined_visit_is_dead(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    (visit,) = crawl.lease(1)
    queue = crawl.base() + "q:medium:a"
    (other,) = crawl.run(crawl.redis.zrange(queue, 0, -1))
    crawl.run(crawl.redis.zrem(queue, other))
    crawl.run(crawl.redis.zadd(queue, {ids(visit)[0] + b"twin": 0}))
    assert crawl.lease() == []
    assert crawl.counts("leased", "dead:poisoned", "queued") == (1, 1, 0)
    assert crawl.ack(visit) == (1, 0)


def test_garbage_does_not_become_a_robots_visit(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    queue = crawl.base() + "q:medium:a"
    first = crawl.run(crawl.redis.zpopmin(queue))[0][0]
    crawl.run(crawl.redis.zadd(queue, {b"short": -9}))
    (visit,) = wait_until(lambda: crawl.lease(ask_robots=True))
    assert visit.is_robots
    assert visit.entries != [first]
    assert crawl.counts("dead:poisoned", "queued") == (1, 1)


@pytest.mark.parametrize(
    "garbage", [b"", b"high", b"low 1 host", b"\xff\xfe", b"none 0 a entry", b"high x a entry", b"high nan a entry"]
)
def test_garbage_among_the_retries_is_dead(open_crawl: Open, garbage: bytes) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    (visit,) = crawl.lease(1)
    crawl.ack(report(visit, retries=[(ids(visit)[0], 0, visit.entries[0])]))
    later = crawl.base() + "later"
    crawl.run(crawl.redis.delete(later))
    crawl.run(crawl.redis.zadd(later, {garbage: 0}))
    assert len(crawl.finish()) == 1
    assert crawl.counts("dead:poisoned", "done", "queued") == (1, 1, 0)


def test_a_queue_of_the_wrong_type_does_not_stop_the_others(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2), *links("b", 2))
    crawl.run(crawl.redis.set(crawl.base() + "q:medium:a", "not ours"))
    assert len(crawl.finish()) == 2
    assert crawl.push(*links("a", 2)) == [1, 1]  # and the host works again
    assert len(crawl.finish()) == 2
    crawl.status()


@pytest.mark.parametrize("garbage", [b"not ours", b"\x93\x01\x02\x03", None])
def test_a_spoilt_record_of_a_host_is_replaced(open_crawl: Open, garbage: bytes | None) -> None:
    crawl = open_crawl()
    crawl.push(*links("a", 2))
    key = f"{crawl.tag()}:polite:a"
    crawl.run(crawl.redis.set(key, garbage) if garbage else crawl.redis.rpush(key, "x"))
    assert len(crawl.finish()) == 2


def test_two_runs_of_the_same_lease_do_not_share_urls(open_crawl: Open) -> None:
    one, two = open_crawl(visit_pages=3), open_crawl(visit_pages=3)
    one.push(*(one_link for host in range(30) for one_link in links(f"h{host}", 3)))

    async def both() -> list[list[Visit]]:
        answers = await asyncio.gather(*(crawl.frontier.lease(name, 40) for crawl, name in ((one, "w1"), (two, "w2"))))
        return [answer.visits for answer in answers]

    first, second = one.run(both())
    mine, theirs = ({entry for visit in visits for entry in visit.entries} for visits in (first, second))
    assert len(mine) == len(theirs) == 40
    assert not mine & theirs
    assert not set(hosts_of(first)) & set(hosts_of(second))


# --- Pages that are crawled again --------------------------------------------------------------


def recrawl_all(crawl: Crawl, ended: str = "new", delay_ms: int = 0) -> int:
    visits = crawl.lease(100)
    crawl.ack(*(report(visit, again=again(visit, ended, delay_ms)) for visit in visits))
    return size(visits)


def test_pages_come_back_when_their_time_has_come(open_crawl: Open) -> None:
    crawl = open_crawl(recrawl=True)
    crawl.push(*links("a", 3))
    assert recrawl_all(crawl, delay_ms=300) == 3
    began = time.monotonic()
    assert crawl.lease() == []
    wait_until(lambda: recrawl_all(crawl, "page", 60_000) == 3)
    assert time.monotonic() - began > 0.2
    assert crawl.counts("accepted", "queued", "pages", "done") == (3, 3, 6, 0)


def test_without_recrawl_pages_go_on_waiting(open_crawl: Open) -> None:
    crawl = open_crawl(recrawl=True)
    crawl.push(*links("a", 3))
    recrawl_all(crawl)
    assert not crawl.status().is_finished, "they are due"
    crawl.change(recrawl=False)
    assert crawl.ask().visits == []
    assert crawl.ask().wait_seconds is None
    status = crawl.status()
    assert (status.is_finished, status.end_reason, status.recrawls_waiting) == (True, "finished", 3)
    crawl.change(recrawl=True)
    assert recrawl_all(crawl, "page") == 3


def test_what_waits_to_be_crawled_again_does_not_hide_a_blocked_host(open_crawl: Open) -> None:
    crawl = open_crawl(recrawl=True)
    crawl.push(*links("a", 2))
    recrawl_all(crawl, delay_ms=60_000)
    crawl.push(*links("b", 1))
    assert not crawl.status().is_finished
    crawl.block("b", -1)
    wait_until(lambda: crawl.lease() == [] and crawl.status().is_finished)
    assert crawl.status().end_reason == "blocked"


@pytest.mark.parametrize("rate", [0.0, 1_000_000.0])
def test_a_refetch_takes_nothing_of_the_page_cap_of_its_host(open_crawl: Open, rate: float) -> None:
    crawl = open_crawl(recrawl=True, max_pages_per_host=5, rate=rate, burst=1000)
    crawl.push(*links("a", 20))
    wait_until(lambda: recrawl_all(crawl, delay_ms=60_000) == 0 and crawl.counts("dead:host_cap", "pages") == (15, 5))
    for pages in (10, 15, 20):
        crawl.make_due()
        wait_until(lambda pages=pages: recrawl_all(crawl, "page", 60_000) == 0 and crawl.counts("pages") == (pages,))
    assert crawl.push(*links("a", 2)) == [2, 2], "nor does it make room for others"
    assert crawl.counts("accepted", "queued", "dead", "done") == (20, 5, 15, 0)


def test_pages_of_a_host_over_its_cap_are_found_among_what_is_put_away(open_crawl: Open) -> None:
    """A cap that was lowered meanwhile: new URLs stand before and behind those that were fetched."""
    crawl = open_crawl(recrawl=True, visit_pages=300)
    crawl.push(*(link(f"http://a/known/{number}", score=0.5) for number in range(260)))
    assert [recrawl_all(crawl, delay_ms=60_000) for _ in range(4)] == [100, 100, 60, 0]
    crawl.make_due()
    crawl.push(*(link(f"http://a/new/{number}", score=number % 2) for number in range(500)))
    crawl.change(max_pages_per_host=10)
    wait_until(lambda: recrawl_all(crawl, "page", 60_000) == 0 and crawl.counts("dead:host_cap") == (500,))
    wait_until(lambda: recrawl_all(crawl, "page", 60_000) == 0 and crawl.status().recrawls_waiting == 260)
    assert crawl.counts("accepted", "queued", "dead") == (760, 260, 500)


@pytest.mark.parametrize("garbage", [b"", b"x", b"high nan a entry", b"none 0 a entry"])
def test_garbage_among_the_pages_to_be_crawled_again_is_dead(open_crawl: Open, garbage: bytes) -> None:
    crawl = open_crawl(recrawl=True)
    crawl.push(*links("a", 1))
    crawl.run(crawl.redis.zadd(crawl.base() + "again", {garbage: 1}))
    crawl.run(crawl.redis.hincrby(crawl.base() + "counts", "queued", 1))
    crawl.run(crawl.redis.hincrby(crawl.base() + "counts", "accepted", 1))
    assert len(crawl.finish()) == 1
    assert crawl.counts("done", "dead:poisoned", "queued") == (1, 1, 0)


def test_the_entry_of_a_known_page_is_told_by_its_ninth_byte_and_others_are_not() -> None:
    plain = link("http://a/1").entry
    assert (plain[8], known(plain, "a")[8]) == (0x96, 0x97)
    assert decode(known(plain, "a", 3), "a").known == Known(3, 1000, 7)
