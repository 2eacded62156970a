"""The worker's task without an engine, on a real Redis."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from scrapy.settings import Settings

from crawler.frontier.dupefilter import DupeFilter
from crawler.frontier.leases import Holdings, Lease, OpenVisit
from crawler.frontier.messages import Link
from crawler.frontier.outbox import Outbox
from crawler.frontier.scope import Scope
from crawler.frontier.seeds import plant, read_seed
from crawler.frontier.start_urls import StartUrls
from crawler.frontier.strategy.runner import StrategyRunner
from crawler.frontier.worker import Worker
from tests.frontier.frontiers import Crawl, _defaults, link


class Task:
    """A worker without an engine. Rounds are rare: what it knows of seeds it knows by other means."""

    def __init__(self, crawl: Crawl) -> None:
        frontier = crawl.frontier
        frontier.config = replace(frontier.config, idle_seconds=60.0, flush_seconds=0.0)
        self.scope = Scope(follow_all_hosts=False, allow_private=True, max_depth=-1)
        strategy = StrategyRunner.from_settings(Settings(_defaults()))
        self.holdings = Holdings()
        self.outbox = Outbox(frontier, DupeFilter(frontier.config), self.scope, strategy, self.holdings)
        self.worker = Worker(frontier, self.outbox, self.holdings, self.scope, StartUrls("start", 10), room=8)

    async def lease(self) -> OpenVisit:
        """Starts, and answers the one visit that there is to make."""
        await self.worker.open()
        is_leased = asyncio.Event()
        self.worker.wake_engine = is_leased.set
        self.worker.start()
        await is_leased.wait()
        (visit,) = self.holdings
        return visit


def test_a_seed_younger_than_the_last_look_is_known_before_it_is_fetched(
    open_crawl: Callable[..., Crawl],
) -> None:
    crawl = open_crawl()
    task = Task(crawl)
    known: list[set[str]] = []

    async def scenario() -> None:
        await task.worker.open()
        await plant(crawl.frontier, [read_seed("http://young.example/")], task.scope)
        is_leased = asyncio.Event()

        def wake() -> None:
            known.append(set(task.scope.seed_hosts))
            is_leased.set()

        task.worker.wake_engine = wake
        task.worker.start()
        await is_leased.wait()
        await task.worker.close()

    crawl.run(scenario())
    assert known[0] == {"young.example"}
    assert crawl.counts("queued", "leased") == (1, 0)


def test_a_seed_host_found_here_is_told_before_its_url_can_be_leased(open_crawl: Callable[..., Crawl]) -> None:
    crawl = open_crawl()
    task = Task(crawl)
    told: list[set[bytes]] = []
    is_pushed = asyncio.Event()
    push = crawl.frontier.push

    async def watch(links: list[Link]) -> list[int]:
        told.append(await crawl.redis.smembers(crawl.keys.seed_hosts))
        is_pushed.set()
        return await push(links)

    async def scenario() -> None:
        await task.worker.open()
        crawl.frontier.push = watch  # type: ignore[method-assign, assignment]
        task.scope.add_seed_host("found.example")
        task.outbox.add_link(link("http://found.example/"))
        task.worker.note_news()
        task.worker.start()
        await is_pushed.wait()
        await task.worker.close()

    crawl.run(scenario())
    assert told == [{b"found.example"}]


def test_no_fetch_begins_in_the_second_half_of_a_lock(open_crawl_on_one: Callable[..., Crawl]) -> None:
    crawl = open_crawl_on_one(lock_seconds=60.0)
    crawl.push("http://a.example/")
    task = Task(crawl)

    async def scenario() -> None:
        visit = await task.lease()
        visit.deadline = time.monotonic() + 29
        assert task.worker.take() is None
        assert task.worker.has_buffered  # until the lock is renewed
        visit.deadline = time.monotonic() + 31
        lease = task.worker.take()
        assert lease is not None
        assert lease.visit is visit
        await task.worker.close()

    crawl.run(scenario())


def test_what_is_buffered_longer_than_its_lock_is_not_fetched(open_crawl_on_one: Callable[..., Crawl]) -> None:
    crawl = open_crawl_on_one(lock_seconds=60.0)
    crawl.push("http://a.example/")
    task = Task(crawl)

    async def scenario() -> None:
        visit = await task.lease()
        visit.deadline = time.monotonic() - 1  # the process was stopped
        assert task.worker.take() is None
        assert not task.worker.has_buffered
        assert visit.is_lost
        await task.worker.close()

    crawl.run(scenario())
    assert crawl.counts("leased") == (1,)  # reclaimed when Redis sees the lock run out


def test_pages_that_are_being_kept_leave_room_for_others_but_not_without_end(
    open_crawl_on_one: Callable[..., Crawl],
) -> None:
    crawl = open_crawl_on_one(unacked_pages=4)
    crawl.push(*(f"http://h{number}.example/" for number in range(30)))
    task = Task(crawl)
    taken: list[Lease] = []

    async def take(number: int) -> None:
        """As the engine does: it asks again whenever it is woken."""
        async with asyncio.timeout(10):
            while len(taken) < number:
                lease = task.worker.take()
                if lease is None:
                    await asyncio.sleep(0.001)
                else:
                    taken.append(lease)

    async def scenario() -> None:
        await task.worker.open()
        task.worker.start()
        await take(8)
        for lease in taken[:4]:
            task.holdings.note_answer(lease)
        await take(12)  # four are fetched and not acked: others were leased in their place
        for lease in taken[4:8]:
            task.holdings.note_answer(lease)
        assert task.worker._free_room == 0
        assert task.worker.take() is None
        for lease in taken[:3]:
            task.outbox.end(lease)
        task.worker.note_news()
        await take(15)
        assert task.holdings.answered == 5
        assert task.holdings.urls <= 12 + 3
        task.holdings.lose(taken[4].visit.fence)
        assert task.holdings.answered == 4
        await task.worker.close()

    crawl.run(scenario())
