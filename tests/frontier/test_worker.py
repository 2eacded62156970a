"""Do workers agree on which hosts were seeded before a link is judged by it? The worker's task, on a real Redis."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from scrapy.settings import Settings

from crawler.frontier.dupefilter import DupeFilter
from crawler.frontier.frontier import Link
from crawler.frontier.leases import Holdings
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
        holdings = Holdings()
        self.outbox = Outbox(frontier, DupeFilter(frontier.config), self.scope, strategy, holdings)
        self.worker = Worker(frontier, self.outbox, holdings, self.scope, StartUrls("start", 10), room=8)


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
