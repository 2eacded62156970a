"""The one task that talks to Redis for a crawling process, in batches, while Scrapy does something else.

``scheduler.py`` owns it. Every round: push the links that were found, ack the URLs that ended, lease more when there
is room; once a second or less: renew, heartbeat, reclaim what others left behind, read start URLs, see if all is done.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import urljoin

from crawler.frontier import events, workers
from crawler.frontier.budget import Budget
from crawler.frontier.ending import Ending
from crawler.frontier.entry import ID_BYTES, decode
from crawler.frontier.frontier import Frontier
from crawler.frontier.leases import Holdings, Lease, OpenVisit
from crawler.frontier.messages import Leased, Visit
from crawler.frontier.outbox import Outbox
from crawler.frontier.reasons import Dead
from crawler.frontier.scope import Scope
from crawler.frontier.spider_log import SpiderLog
from crawler.frontier.start_urls import StartUrls

logger = logging.getLogger(__name__)
T = TypeVar("T")

HEARTBEAT_SECONDS = 10.0
STOP_LOOK_SECONDS = 0.25  # how soon a stopped worker gives its leases back; local, costs Redis nothing
GOODBYE_SECONDS = 15.0  # a worker that is told to stop does not wait longer than this for a Redis that is away
CLOSE_SECONDS = 5.0  # a round that is under way may end this long, then it is cancelled: Redis is away
# No fetch begins in the second half of a lock. Locks are renewed well before; and when a worker died, the token bucket
# may refill from the middle of its last lock, not only from its end (reclaim.lua).
FETCHING_PART_OF_LOCK = 0.5


class RobotsFound(NamedTuple):
    known_seconds: float = 0.0  # 0: they could not be had, and the host is asked again
    delay_seconds: float = 0.0  # between requests, as the host asks
    sitemaps: tuple[str, ...] = ()


class RobotsKeeper(Protocol):
    """The robots middleware, as the worker knows it."""

    async def load(self, hosts: set[str]) -> None: ...

    async def fetch(self, visit: OpenVisit, sample_url: str) -> RobotsFound: ...


class Worker:
    def __init__(
        self, frontier: Frontier, outbox: Outbox, holdings: Holdings, scope: Scope, start_urls: StartUrls, room: int
    ) -> None:
        self.id = workers.new_worker_id()
        self.frontier = frontier
        self.robots: RobotsKeeper | None = None
        self.spider_log: SpiderLog | None = None
        self.engine_is_idle = False  # the spider's own start requests are through, and nothing is being fetched
        self._outbox = outbox
        self._holdings = holdings
        self._scope = scope
        self._start_urls = start_urls
        self._room = room  # URLs held at most that are being fetched, or wait for it here
        self._budget = Budget(frontier, self.id)
        self.ending = Ending(frontier, self._budget, start_urls, self.id)
        self._arrived: list[Lease] = []  # leased, but what must be known of their hosts is not known yet
        self._buffer: deque[Lease] = deque()  # ready to be fetched
        self._awake = asyncio.Event()
        self._robots_tasks: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._next_lease = 0.0
        self._next_flush = 0.0
        self._next_round = 0.0
        self._next_heartbeat = 0.0
        self._next_renew = 0.0
        self._partition = 0
        self._state = ""
        self._is_closing = False
        self.wake_engine: Callable[[], None] = lambda: None
        self.on_sitemap: Callable[[str], None] = lambda url: None
        self.is_stopping: Callable[[], bool] = lambda: False
        self.on_error: Callable[[], None] = lambda: None

    # --- Called by the scheduler -----------------------------------------------------------------

    async def open(self) -> None:
        await self._scope.refresh(self.frontier)
        await self._beat()
        await events.record(self.frontier, "worker_joined", worker=self.id)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="frontier")

    def take(self) -> Lease | None:
        """The next URL to fetch, if there is one whose lock is still ours."""
        now = time.monotonic()
        margin = self.frontier.config.lock_seconds * (1 - FETCHING_PART_OF_LOCK)
        for _ in range(len(self._buffer)):
            lease = self._buffer.popleft()
            if lease.visit.is_lost:
                continue
            if lease.visit.is_blocked:
                self._outbox.give_back(lease)
                self.note_news()
                continue
            if lease.visit.deadline < now:
                self._holdings.lose(lease.visit.fence)  # this process was stopped for a while
                continue
            if lease.visit.deadline - margin < now:
                self._buffer.append(lease)  # until the lock is renewed
                continue
            if len(self._buffer) * 2 < self._room:
                self._wake_at_lease_time(now)
            return lease
        self._wake_at_lease_time(now)
        return None

    @property
    def has_buffered(self) -> bool:
        return bool(self._buffer)

    def note_news(self) -> None:
        """Links were found or a URL ended: tell Redis soon, together with what else happens until then."""
        if not self._next_flush:
            self._next_flush = time.monotonic() + self.frontier.config.flush_seconds
            self._awake.set()

    async def close(self) -> None:
        if self._task is not None:
            # Asked first: a cancelled lease would be one that nobody knows of. And a cancellation alone is not
            # enough, because redis-py may swallow it.
            self._is_closing = True
            self._awake.set()
            await asyncio.wait([self._task], timeout=CLOSE_SECONDS)
            self._task.cancel()
            await asyncio.gather(self._task, *self._robots_tasks, return_exceptions=True)
        self._give_back_buffer()
        for visit in self._holdings:  # fetches that were cut off
            for lease in list(visit.leases.values()):
                self._outbox.give_back(lease)
        self._next_flush = time.monotonic()
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self._persist(self._flush)
                await workers.leave(self.frontier.connection, self.frontier.keys, self.id)
                await events.record(self.frontier, "worker_left", worker=self.id)
        except TimeoutError:
            logger.error(
                "Redis did not hear goodbye within %.0f s: what this worker held goes back when its locks run out",
                GOODBYE_SECONDS,
            )

    # --- The task --------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while not self._is_closing:
                await self._persist(self._flush)
                if self.is_stopping():
                    self._give_back_buffer()
                    await self._persist(self._flush)
                elif self.ending.reason is None:
                    await self._persist(self._lease_if_room)
                await self._persist(self._renew_if_due)
                await self._persist(self._do_rounds)
                await self._sleep()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            logger.critical("The frontier's task failed: %s", error, exc_info=True)
            self.on_error()

    async def _persist(self, operation: Callable[[], Awaitable[T]]) -> T:
        return await self.frontier.connection.persist(operation, logger.warning)

    async def _sleep(self) -> None:
        now = time.monotonic()
        wake_at = min(now + STOP_LOOK_SECONDS, self._next_round, self._next_renew)
        if self._next_flush:
            wake_at = min(wake_at, self._next_flush)
        if self._free_room > 0 and self._next_lease > now:
            wake_at = min(wake_at, self._next_lease)
        if wake_at <= now:
            await asyncio.sleep(0)
            return
        self._awake.clear()
        timer = asyncio.get_running_loop().call_later(wake_at - now, self._awake.set)
        await self._awake.wait()
        timer.cancel()

    def _wake_at_lease_time(self, now: float) -> None:
        if self._next_lease <= now:
            self._awake.set()

    async def _flush(self) -> None:
        now = time.monotonic()
        if not self._next_flush or (now < self._next_flush and not self.is_stopping()):
            return
        self._next_flush = 0.0
        # Taken before the push: whatever ends while we wait for Redis has its links in the next push.
        ended = self._outbox.take_ended()
        try:
            await self._scope.share(self.frontier)
            accepted = await self._outbox.push()
            if self.spider_log is not None:
                await self.spider_log.flush()
            await self._budget.settle(ended.pages, ended.others)
            ended.pages = ended.others = 0
            if ended.reports:
                _, stale = await self.frontier.ack(ended.reports.values())
                if stale:
                    logger.info("%d outcomes came too late: their URLs had been given to another worker", stale)
        except BaseException:
            self._outbox.put_back(ended)
            self._next_flush = now
            raise
        drops = self._outbox.take_drops()
        try:
            await self.frontier.count_drops(drops)
        except BaseException:
            self._outbox.drops.update(drops)
            self._next_flush = now
            raise
        if accepted or ended.reports:
            self._next_lease = 0.0  # what was pushed may be ready, and so may what waited for our lock

    async def _lease_if_room(self) -> None:
        await self._admit()
        now = time.monotonic()
        wanted = self._free_room
        # A quarter of the room at a time is cheaper than one by one; but slow hosts may hold the rest for long.
        if now < self._next_lease or wanted < (self._room // 4 if self._buffer else 1):
            return
        granted = await self._budget.reserve(wanted)
        leased = 0
        shortest = self.frontier.config.idle_seconds
        for _ in range(self.frontier.keys.partitions):
            if leased >= granted:
                shortest = 0.0
                break
            self._partition = (self._partition + 1) % self.frontier.keys.partitions
            called = time.monotonic()
            answer = await self.frontier.lease(
                self.id, granted - leased, partition=self._partition, ask_robots=self.robots is not None
            )
            self._state = answer.state
            leased += self._accept(answer, called)
            await self._admit()
            if answer.wait_seconds is not None:
                shortest = min(shortest, answer.wait_seconds)
        await self._budget.settle(0, granted - leased)
        self._next_lease = time.monotonic() + (shortest if leased < wanted else 0.0)

    @property
    def _free_room(self) -> int:
        """What is fetched but not acked would be fetched again if this worker died now: it takes room too, when there
        is too much of it.
        """
        unacked = self._holdings.answered + self._outbox.unacked
        being_fetched = self._holdings.urls - self._holdings.answered
        return self._room - being_fetched - max(unacked - self.frontier.config.unacked_pages, 0)

    def _accept(self, answer: Leased, called: float) -> int:
        deadline = called + self.frontier.config.lock_seconds
        leased = 0
        for visit in answer.visits:
            held = self._holdings.add(visit, deadline)
            if visit.is_robots:
                self._ask_robots(held, visit)
                continue
            for raw in visit.entries:
                leased += 1
                try:
                    lease = self._holdings.add_lease(held, raw, decode(raw, visit.host))
                except ValueError as error:
                    logger.error("The queue of %s held something that is no entry of ours: %s", visit.host, error)
                    self._outbox.bury(held, raw[:ID_BYTES], Dead.POISONED, str(error))
                    self.note_news()
                    continue
                self._arrived.append(lease)
            if not held.leases:
                self._holdings.visits.pop(held.fence, None)
        return leased

    async def _admit(self) -> None:
        """Apart from the lease: if Redis goes away in between, it is this that is tried again."""
        if not self._arrived:
            return
        hosts = {lease.visit.host for lease in self._arrived}
        if not hosts <= self._scope.seed_hosts:
            await self._scope.refresh(self.frontier)  # a seed may be younger than our last look
        if self.robots is not None:
            await self.robots.load(hosts)
        self._buffer.extend(self._arrived)
        self._arrived.clear()
        self.wake_engine()

    def _ask_robots(self, held: OpenVisit, visit: Visit) -> None:
        assert self.robots is not None  # noqa: S101  nobody else asks for robots visits
        task = asyncio.get_running_loop().create_task(self._fetch_robots(self.robots, held, visit))
        self._robots_tasks.add(task)
        task.add_done_callback(self._robots_tasks.discard)

    async def _fetch_robots(self, robots: RobotsKeeper, held: OpenVisit, visit: Visit) -> None:
        found = RobotsFound()
        try:
            url = decode(visit.entries[0], visit.host).url
            found = await robots.fetch(held, url)
            for sitemap in found.sitemaps:
                self.on_sitemap(urljoin(url, sitemap))
        except Exception:
            logger.exception("robots.txt of %s could not be read", visit.host)
            held.failed = 1
        finally:
            self._holdings.visits.pop(held.fence, None)
            if not held.is_lost:
                held.note_fetch(time.monotonic(), 0.0)
                self._outbox.end_robots(held, found.known_seconds, found.delay_seconds)
                self.note_news()

    def _give_back_buffer(self) -> None:
        self._buffer.extend(self._arrived)
        self._arrived.clear()
        while self._buffer:
            self._outbox.give_back(self._buffer.popleft())
            self._next_flush = self._next_flush or time.monotonic()

    # --- Rounds ----------------------------------------------------------------------------------

    async def _do_rounds(self) -> None:
        now = time.monotonic()
        if now < self._next_round:
            return
        if now >= self._next_heartbeat:
            await self._beat()
        await self.frontier.reclaim()
        await events.tell_failures(self.frontier)
        planted = 0 if self.is_stopping() else await self._start_urls.read(self.frontier, self._scope)
        if planted:
            self._next_lease = 0.0
        await self._scope.refresh(self.frontier)
        is_busy = planted or self._holdings.urls or self._robots_tasks or not self._outbox.is_empty
        if self.engine_is_idle and not is_busy:
            await self.ending.look(self._state)
            if self.ending.reason is not None:
                self.wake_engine()
        # Counted from the end: a slow Redis is not asked more often than a fast one.
        self._next_round = time.monotonic() + self.frontier.config.idle_seconds

    async def _renew_if_due(self) -> None:
        now = time.monotonic()
        if now < self._next_renew:
            return
        lock_seconds = self.frontier.config.lock_seconds
        visits = [visit for visit in self._holdings if not visit.is_lost]
        if visits:
            lost = await self.frontier.renew([(visit.fence, visit.host) for visit in visits])
            for visit in visits:
                if visit.fence in lost:
                    logger.warning("Lost %s to another worker: its lock had run out", visit.host)
                    self._holdings.lose(visit.fence)
                else:
                    visit.deadline = now + lock_seconds
            if self._buffer:
                self.wake_engine()
        self._next_renew = now + lock_seconds / 3

    async def _beat(self) -> None:
        await workers.beat(
            self.frontier.connection, self.frontier.keys, self.id, pages=self._outbox.pages, holds=self._holdings.urls
        )
        self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS
