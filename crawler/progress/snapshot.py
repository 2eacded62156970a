"""What is there to know about a running crawl at one moment?"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from crawler.frontier.messages import Status

RATE_WINDOW_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    crawl: str
    state: str  # "", "paused" or "draining"
    elapsed_seconds: float
    pages: int  # of the crawl, those of earlier runs included
    new_pages: int  # of this run
    pages_per_second: float  # over the last ten seconds
    accepted: int
    queued: int
    leased: int
    done: int
    dead: int
    hosts_ready: int
    hosts_waiting: int
    hosts_visited: int
    retries_waiting: int
    held_back: int  # queued URLs of blocked hosts
    workers: int
    max_pages: int  # 0 for no limit
    eta_seconds: float | None  # until max_pages, when there is one and pages are coming in
    errors: dict[str, int] = field(default_factory=dict)  # by reason, most frequent first
    dropped: dict[str, int] = field(default_factory=dict)
    recrawls_waiting: int = 0  # pages that wait to be crawled again
    unchanged: int = 0  # times a server said that a page is as it was, in this run

    @property
    def mean_pages_per_second(self) -> float:
        return self.new_pages / self.elapsed_seconds if self.elapsed_seconds > 0 else 0.0


class Meter:
    """Turns one status after the other into snapshots: remembers the beginning and the last ten seconds."""

    def __init__(self, first: Status, max_pages: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_pages = max_pages
        self._clock = clock
        self._began = clock()
        self._first_pages = first.count("pages")
        self._first_unchanged = first.count("unchanged")
        self._recent: deque[tuple[float, int]] = deque([(self._began, self._first_pages)])

    def read(self, status: Status, workers: int) -> Snapshot:
        now, pages = self._clock(), status.count("pages")
        rate = self._rate(now, pages)
        left = self._max_pages - pages
        return Snapshot(
            crawl=status.crawl,
            state=status.state,
            elapsed_seconds=now - self._began,
            pages=pages,
            new_pages=pages - self._first_pages,
            pages_per_second=rate,
            accepted=status.count("accepted"),
            queued=status.count("queued"),
            leased=status.count("leased"),
            done=status.count("done"),
            dead=status.count("dead"),
            hosts_ready=status.hosts_ready,
            hosts_waiting=status.hosts_waiting,
            hosts_visited=status.hosts_visited,
            retries_waiting=status.retries_waiting,
            held_back=status.held_back,
            workers=workers,
            max_pages=self._max_pages,
            eta_seconds=max(0.0, left / rate) if self._max_pages and rate > 0 else None,
            errors=_most_first(status.dead_reasons),
            dropped=_most_first(status.drops),
            recrawls_waiting=status.recrawls_waiting,
            unchanged=status.count("unchanged") - self._first_unchanged,
        )

    def _rate(self, now: float, pages: int) -> float:
        self._recent.append((now, pages))
        # One older than the window stays, so that the window is full.
        while len(self._recent) > 2 and now - self._recent[1][0] >= RATE_WINDOW_SECONDS:
            self._recent.popleft()
        then, before = self._recent[0]
        return max(0.0, (pages - before) / (now - then)) if now > then else 0.0


def _most_first(counts: dict[str, int]) -> dict[str, int]:
    return {name: n for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if n}
