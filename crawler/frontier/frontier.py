"""The acts on a frontier: push, lease, ack, renew, reclaim, each one Lua file and, per partition, one round trip.

Called by the worker's task inside a crawl and by the commands from outside. Holds no state of its own: everything
it knows is in Redis, so that any number of them, anywhere, are one frontier.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from crawler.errors import ConfigurationError
from crawler.frontier.config import CLASSES, FrontierConfig
from crawler.frontier.connection import Connection, connect, load_script
from crawler.frontier.entry import VERSION as ENTRY_VERSION
from crawler.frontier.keys import Keys
from crawler.frontier.messages import Leased, Link, Status, Visit, VisitReport
from crawler.urls import CANONICAL_VERSION

CLUSTER_PARTITIONS = 32
REQUESTS = "@requests"  # stands for a crawl where a host is visited for no leased URL; see acquire.lua
_RECLAIM_VISITS = 64
MAX_JITTER = 1.25  # hosts that failed together, behind one router say, do not come back together


class Frontier:
    def __init__(self, connection: Connection, keys: Keys, config: FrontierConfig) -> None:
        self.connection = connection
        self.keys = keys
        self.config = config

    @classmethod
    async def open(cls, config: FrontierConfig) -> "Frontier":
        connection = await connect(config.redis_url, config.data_dir)
        try:
            keys = await _agree_on_layout(connection, config)
        except BaseException:
            await connection.close()
            raise
        return cls(connection, keys, config)

    async def close(self) -> None:
        await self.connection.close()

    async def push(self, links: Sequence[Link]) -> list[int]:
        """Answers for each link: 1 accepted, 0 seen before, 2 refused because its host has its pages."""
        answers = [0] * len(links)
        for partition, positions in self._by_partition([link.host for link in links]).items():
            groups: dict[tuple[str, str], list[int]] = {}
            for position in positions:
                link = links[position]
                groups.setdefault((link.host, link.priority), []).append(position)
            arguments: list[Any] = [self.keys.crawl, self.config.max_pages_per_host]
            for (host, priority), members in groups.items():
                arguments += (host, priority, len(members))
                for position in members:
                    arguments += self._push_arguments(links[position])
            digits = await self._run("push", partition, arguments)
            order = (position for members in groups.values() for position in members)
            for position, digit in zip(order, digits, strict=True):
                answers[position] = digit - 48
        return answers

    def _push_arguments(self, link: Link) -> tuple[str, str, str, bytes]:
        score = repr(-link.score)  # zsets are read from the lowest score
        return str(link.fingerprint), self.keys.bucket(link.fingerprint), score, link.entry

    async def confirm_seen(self, hosts: Sequence[str], fingerprints: Sequence[int]) -> list[bool]:
        """Which of these has the crawl accepted? Decided by the exact sets."""
        answers = [False] * len(hosts)
        for partition, positions in self._by_partition(hosts).items():
            arguments: list[str] = [self.keys.crawl]
            for position in positions:
                arguments += (str(fingerprints[position]), self.keys.bucket(fingerprints[position]))
            digits = await self._run("seen", partition, arguments)
            for position, digit in zip(positions, digits, strict=True):
                answers[position] = digit == ord("1")
        return answers

    async def lease(self, worker: str, wanted: int, *, partition: int = 0, ask_robots: bool = False) -> Leased:
        config = self.config
        state, wait_ms, visits = await self._run(
            "lease",
            partition,
            [
                self.keys.crawl, worker, wanted, config.visit_pages, repr(config.rate / 1000), config.burst,
                int(config.lock_seconds * 1000), config.max_pages_per_host, *config.weights, int(ask_robots),
                int(config.recrawl),
            ],
        )  # fmt: skip
        return Leased(
            state.decode(),
            None if wait_ms < 0 else wait_ms / 1000,
            [
                Visit(fence.decode(), host.decode(), priority.decode(), kind == b"robots", entries)
                for fence, host, priority, kind, *entries in visits
            ],
        )

    async def acquire(self, owner: str, host: str, lock_seconds: float) -> tuple[str, float | None]:
        """A token and the lock of the host for one request without a lease: answers the fencing token; or "", and after
        how many seconds to ask again, None if the host is blocked for good. Ended by ``release``.
        """
        config = self.config
        arguments = [host, owner, repr(config.rate / 1000), config.burst, int(lock_seconds * 1000)]
        fence, wait_ms = await self._run("acquire", self.keys.partition(host), arguments)
        return fence.decode(), None if wait_ms < 0 else wait_ms / 1000

    async def charge(self, fence: str, host: str, idle_seconds: float) -> float | None:
        """One more token of a host that is being visited: answers 0 when it is taken, or after how many seconds to ask
        again; None when the visit is lost.
        """
        config = self.config
        arguments = [host, fence, int(idle_seconds * 1000), repr(config.rate / 1000), config.burst]
        wait_ms = await self._run("charge", self.keys.partition(host), arguments)
        return None if wait_ms < 0 else wait_ms / 1000

    async def release(self, report: VisitReport) -> None:
        await self._ack(REQUESTS, [report])

    async def ack(self, reports: Iterable[VisitReport]) -> tuple[int, int]:
        """Answers how many outcomes were taken, and how many refused because their visit was no longer ours."""
        return await self._ack(self.keys.crawl, reports)

    async def _ack(self, crawl: str, reports: Iterable[VisitReport]) -> tuple[int, int]:
        by_partition: dict[int, list[Any]] = {}
        for report in reports:
            arguments = by_partition.setdefault(self.keys.partition(report.host), [])
            arguments += report.arguments()
        taken = stale = 0
        backoff_ms = int(self.config.host_backoff_max_seconds * 1000)
        jitter = repr(random.uniform(1, MAX_JITTER))
        for partition, arguments in by_partition.items():
            some_taken, some_stale = await self._run("ack", partition, [crawl, backoff_ms, jitter, *arguments])
            taken += some_taken
            stale += some_stale
        return taken, stale

    async def renew(self, visits: Iterable[tuple[str, str]]) -> set[str]:
        """Takes (fence, host) pairs; answers the fences that are lost."""
        by_partition: dict[int, list[str]] = {}
        for fence, host in visits:
            by_partition.setdefault(self.keys.partition(host), []).append(f"{fence}|{self.keys.crawl}|{host}")
        lost: set[str] = set()
        for partition, members in by_partition.items():
            gone = await self._run("renew", partition, [int(self.config.lock_seconds * 1000), *members])
            lost.update(fence.decode() for fence in gone)
        return lost

    async def reclaim(self) -> int:
        """Puts back what dead workers of any crawl held; answers how many URLs that were."""
        total = 0
        for partition in range(self.keys.partitions):
            answer = await self._run("reclaim", partition, [self.config.max_crashes, _RECLAIM_VISITS])
            total += sum(answer[1::3]) + sum(answer[2::3])
        return total

    async def count_drops(self, drops: Counter[str]) -> None:
        if drops:
            pipeline = self.connection.client.pipeline(transaction=False)
            for reason, number in drops.items():
                pipeline.hincrby(self.keys.base(0) + "drops", reason, number)
            await pipeline.execute()

    async def status(self) -> Status:
        counts: Counter[str] = Counter()
        drops: Counter[str] = Counter()
        ready = waiting = visited = retries = held_back = again = again_due = 0
        due_ms: list[int] = []
        state = b""
        for partition in range(self.keys.partitions):
            state, some_counts, some_drops, numbers = await self._run(
                "status", partition, [self.keys.crawl, int(self.config.recrawl)]
            )
            counts.update(_pairs(some_counts))
            drops.update(_pairs(some_drops))
            ready += numbers[0]
            waiting += numbers[1]
            retries += numbers[2]
            held_back += numbers[3]
            visited += numbers[5]
            again += numbers[6]
            again_due += numbers[7]
            if numbers[4] >= 0:
                due_ms.append(numbers[4])
        return Status(
            self.keys.crawl,
            state.decode(),
            dict(counts),
            dict(drops),
            hosts_ready=ready,
            hosts_waiting=waiting,
            hosts_visited=visited,
            retries_waiting=retries,
            held_back=held_back,
            next_due_seconds=min(due_ms) / 1000 if due_ms else None,
            recrawls_waiting=again,
            recrawls_due=again_due,
        )

    def _by_partition(self, hosts: Sequence[str]) -> dict[int, list[int]]:
        if self.keys.partitions == 1:
            return {0: list(range(len(hosts)))} if hosts else {}
        found: dict[int, list[int]] = {}
        for position, host in enumerate(hosts):
            found.setdefault(self.keys.partition(host), []).append(position)
        return found

    async def _run(self, script: str, partition: int, arguments: list[Any]) -> Any:
        return await self.connection.run(load_script(script), self.keys.tag(partition), arguments)


def _pairs(flat: list[bytes]) -> dict[str, int]:
    return {flat[i].decode(): int(flat[i + 1]) for i in range(0, len(flat), 2)}


async def _agree_on_layout(connection: Connection, config: FrontierConfig) -> Keys:
    """The first process to open a namespace fixes how it is laid out; all others follow, or are told to."""
    key = Keys.layout(config.namespace)
    wanted = {
        "partitions": config.partitions or (CLUSTER_PARTITIONS if connection.is_cluster else 1),
        "seen_buckets": config.seen_buckets,
        "canonical_version": CANONICAL_VERSION,
        "entry_version": ENTRY_VERSION,
    }
    found: dict[str, int] = {}
    for name, value in wanted.items():
        await connection.client.hsetnx(key, name, value)
        found[name] = int(await connection.client.hget(key, name) or value)
    if config.partitions and found["partitions"] != config.partitions:
        raise ConfigurationError(
            f"FRONTIER_PARTITIONS is {config.partitions}, but the namespace {config.namespace!r} in this Redis has "
            f"{found['partitions']}; leave the setting at 0, or use another FRONTIER_NAMESPACE"
        )
    for name, what in (("canonical_version", "canonical URLs"), ("entry_version", "queue entries")):
        if found[name] != wanted[name]:
            raise ConfigurationError(
                f"the namespace {config.namespace!r} was written with {what} of version {found[name]}, this program "
                f"writes {wanted[name]}: export it with the program that wrote it, or use another FRONTIER_NAMESPACE"
            )
    return Keys(config.namespace, config.crawl, found["partitions"], found["seen_buckets"])


__all__ = ["CLASSES", "Frontier", "Leased", "Link", "Status", "Visit", "VisitReport"]
