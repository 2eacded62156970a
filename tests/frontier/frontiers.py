"""A frontier for tests: the real one, on a real Redis, called without ``await``."""

import asyncio
import itertools
import time
from collections.abc import Coroutine, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from scrapy.settings import Settings

from crawler.frontier.config import FrontierConfig
from crawler.frontier.connection import load_script
from crawler.frontier.entry import Entry, Known, decode, encode, identity, random_fingerprint
from crawler.frontier.frontier import Frontier
from crawler.frontier.messages import Leased, Link, Status, Visit, VisitReport
from crawler.urls import fingerprint

_numbers = itertools.count(1)
# No limits, unless a test is about one of them.
FREE: dict[str, Any] = {"rate": 0.0, "partitions": 1, "lock_seconds": 60.0, "seen_buckets": 64}


def link(url: str, priority: str = "medium", score: float = 0.5, *, is_filtered: bool = True) -> Link:
    number = fingerprint(url) if is_filtered else random_fingerprint()
    host = url.split("/")[2]
    return Link(host, priority, score, number, encode(Entry(url=url), identity(number), host))


def links(host: str, number: int, priority: str = "medium") -> list[Link]:
    return [link(f"http://{host}/{priority}/{next(_numbers)}", priority) for _ in range(number)]


def ids(visit: Visit) -> list[bytes]:
    return [entry[:8] for entry in visit.entries]


def known(entry: bytes, host: str, fetches: int = 1) -> bytes:
    """The entry of a page that was fetched before."""
    return encode(msgspec.structs.replace(decode(entry, host), known=Known(fetches, 1000, 7)), entry[:8], host)


def again(visit: Visit, ended: str = "new", delay_ms: int = 0) -> list[tuple[bytes, int, bytes, str]]:
    """All its URLs are to be crawled again."""
    return [(entry[:8], delay_ms, known(entry, visit.host), ended) for entry in visit.entries]


def report(visit: Visit, **outcomes: Any) -> VisitReport:
    """All its URLs are pages, unless told otherwise; their fetches began long ago."""
    if not {"pages", "done", "retries", "dead", "back", "again"} & set(outcomes) and not visit.is_robots:
        outcomes["pages"] = ids(visit)
    return VisitReport(visit.fence, visit.host, **{"idle_ms": 3_600_000, **outcomes})


class Crawl:
    """One crawl's frontier. Tests with several crawls give them one ``runner``, since connections belong to a loop."""

    def __init__(self, url: str, runner: asyncio.Runner, **changes: Any) -> None:
        config = FrontierConfig.from_settings(Settings({**_defaults(), "REDIS_URL": url}))
        config = replace(config, data_dir=Path("/nonexistent"), **{**FREE, **changes})
        self._runner = runner
        self.frontier: Frontier = self.run(Frontier.open(config))
        self.keys = self.frontier.keys
        self.redis = self.frontier.connection.client

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(asyncio.wait_for(work, 60))

    def close(self) -> None:
        self.run(self.frontier.close())

    def change(self, **changes: Any) -> None:
        self.frontier.config = replace(self.frontier.config, **changes)

    def push(self, *what: Link | str) -> list[int]:
        answer: list[int] = self.run(self.frontier.push([link(w) if isinstance(w, str) else w for w in what]))
        return answer

    def ask(self, wanted: int = 10, worker: str = "w1", *, ask_robots: bool = False, partition: int = 0) -> Leased:
        answer: Leased = self.run(self.frontier.lease(worker, wanted, partition=partition, ask_robots=ask_robots))
        return answer

    def lease(self, wanted: int = 10, worker: str = "w1", *, ask_robots: bool = False) -> list[Visit]:
        visits: list[Visit] = []
        for partition in range(self.keys.partitions):
            left = wanted - sum(len(visit.entries) for visit in visits)
            if left > 0:
                visits += self.ask(left, worker, ask_robots=ask_robots, partition=partition).visits
        return visits

    def ack(self, *reports: VisitReport | Visit) -> tuple[int, int]:
        answer: tuple[int, int] = self.run(
            self.frontier.ack([report(r) if isinstance(r, Visit) else r for r in reports])
        )
        return answer

    def renew(self, *visits: Visit) -> set[str]:
        answer: set[str] = self.run(self.frontier.renew([(visit.fence, visit.host) for visit in visits]))
        return answer

    def reclaim(self) -> int:
        answer: int = self.run(self.frontier.reclaim())
        return answer

    def block(self, host: str, ms: int, crawls: Iterable[str] = ()) -> None:
        tag = self.keys.tag(self.keys.partition(host))
        arguments: list[Any] = [host, ms, *(crawls or [self.keys.crawl])]
        self.run(self.frontier.connection.run(load_script("block"), tag, arguments))

    def set_state(self, state: str) -> None:
        for partition in range(self.keys.partitions):
            key = self.keys.base(partition) + "state"
            self.run(self.redis.set(key, state) if state else self.redis.delete(key))

    def status(self) -> Status:
        """Checked: accepted = queued + leased + done + dead, and what is leased is really there."""
        status: Status = self.run(self.frontier.status())
        assert status.balance == 0, status
        leased = sum(self.run(self.redis.hlen(self.base(p) + "leased")) for p in range(self.keys.partitions))
        assert leased == status.count("leased"), status
        return status

    def counts(self, *names: str) -> tuple[int, ...]:
        status = self.status()
        return tuple(status.count(name) for name in names)

    def base(self, partition: int = 0) -> str:
        return self.keys.base(partition)

    def tag(self) -> str:
        return self.keys.tag(0)

    def crash(self, *visits: Visit) -> None:
        """The lock of these visits runs out now."""
        for visit in visits:
            member = f"{visit.fence}|{self.keys.crawl}|{visit.host}"
            tag = self.keys.tag(self.keys.partition(visit.host))
            self.run(self.redis.zadd(f"{tag}:visits", {member: int(time.time() * 1000)}, xx=True))

    def make_due(self) -> None:
        """The time of all pages that wait to be crawled again has come."""
        for partition in range(self.keys.partitions):
            key = self.base(partition) + "again"
            for member in self.run(self.redis.zrange(key, 0, -1)):
                self.run(self.redis.zadd(key, {member: 0}, xx=True))

    def finish(self, worker: str = "w1") -> list[bytes]:
        """Leases and acks until nothing is handed out; answers every entry, in order."""
        return [entry for visit in self._finish(worker) for entry in visit.entries]

    def finish_urls(self, worker: str = "w1") -> list[str]:
        return [decode(entry, visit.host).url for visit in self._finish(worker) for entry in visit.entries]

    def _finish(self, worker: str) -> Iterator[Visit]:
        while visits := self.lease(100, worker):
            self.ack(*visits)
            yield from visits


def _defaults() -> dict[str, Any]:
    settings = Settings()
    settings.setmodule("crawler.settings")
    return settings.copy_to_dict()
