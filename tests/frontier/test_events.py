"""Does the event log tell of every death, also of those that no worker caused?"""

import asyncio
from collections.abc import Callable

from crawler.frontier import events
from crawler.frontier.connection import load_script
from tests.frontier.frontiers import Crawl, ids, links, report

Open = Callable[..., Crawl]


def told(crawl: Crawl) -> list[str]:
    """Kinds of failures in the event log, after it was told what there is."""
    crawl.run(events.tell_failures(crawl.frontier))
    return log(crawl)


def log(crawl: Crawl) -> list[str]:
    return sorted(fields[b"error"].decode() for _, fields in crawl.run(crawl.redis.xrange(crawl.keys.events)))


def bury(crawl: Crawl, host: str, number: int) -> None:
    crawl.push(*links(host, number))
    for visit in crawl.lease(number):
        crawl.ack(report(visit, dead=[(name, "tls", "X") for name in ids(visit)]))


def test_every_way_to_die_is_told_once(open_crawl: Open) -> None:
    crawl = open_crawl(max_crashes=1, max_pages_per_host=1)
    bury(crawl, "acked", 1)
    crawl.push(*links("crashed", 1))
    crawl.crash(*crawl.lease())
    crawl.reclaim()
    crawl.push(*links("full", 3))
    crawl.finish()
    assert told(crawl) == ["CRASHED", "HOST_CAP", "HOST_CAP", "TLS"]
    assert told(crawl) == ["CRASHED", "HOST_CAP", "HOST_CAP", "TLS"]


def test_those_told_at_once_are_some(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=5000)
    bury(crawl, "a", events.TELL_AT_ONCE * 2 + 1)
    assert len(told(crawl)) == events.TELL_AT_ONCE * 2 + 1


def test_workers_that_tell_at_the_same_time_do_not_tell_the_same(open_crawl: Open) -> None:
    crawl = open_crawl(visit_pages=5000)
    bury(crawl, "a", 50)

    async def tell_together() -> None:
        await asyncio.gather(*(events.tell_failures(crawl.frontier) for _ in range(4)))

    crawl.run(tell_together())
    assert len(log(crawl)) == 50


def test_who_dies_before_telling_is_replaced(open_crawl: Open) -> None:
    crawl = open_crawl()
    bury(crawl, "a", 2)
    partition = crawl.keys.partition("a")
    claim = [crawl.keys.crawl, 10, 60_000]
    assert len(crawl.run(crawl.frontier.connection.run(load_script("untold"), crawl.keys.tag(partition), claim))) == 4
    assert told(crawl) == []
    key = crawl.base(partition) + "untold"
    for member in crawl.run(crawl.redis.zrange(key, 0, -1)):
        crawl.run(crawl.redis.zadd(key, {member: 0}, xx=True))  # the claim has run out
    assert told(crawl) == ["TLS", "TLS"]
    assert crawl.run(crawl.redis.exists(key)) == 0
