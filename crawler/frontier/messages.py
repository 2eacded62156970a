"""What is handed to the frontier, and what does it answer? Values only; ``frontier.py`` has the acts."""

from dataclasses import dataclass, field
from typing import Any

# How a fetch ended after which its page waits to be crawled again: with a page that is new to the crawl or known to it,
# with the answer that it is as it was, or with nothing, this time.
AGAIN = ("new", "page", "unchanged", "missed")


@dataclass(frozen=True, slots=True)
class Link:
    """A URL on its way into the queue, scored."""

    host: str
    priority: str  # one of CLASSES
    score: float  # higher is sooner
    fingerprint: int  # random for a request that asked not to be filtered
    entry: bytes


@dataclass(frozen=True, slots=True)
class Visit:
    """URLs of one host, handed to one worker, under one fencing token."""

    fence: str
    host: str
    priority: str
    is_robots: bool
    entries: list[bytes]


@dataclass(frozen=True, slots=True)
class Leased:
    state: str  # "", "paused" or "draining"
    wait_seconds: float | None  # until something may be ready; None when nothing is waiting for a time
    visits: list[Visit]


@dataclass(slots=True)
class VisitReport:
    """How the URLs of a visit ended. Sent in parts: a visit ends when all its URLs have."""

    fence: str
    host: str
    idle_ms: int = 0  # since its last fetch began
    block_ms: int = 0
    failed: int = -1  # 1: the host could not be reached, 0: it answered, -1: nothing learnt
    robots_ms: int = 0  # robots.txt is now known for this long
    interval_ms: int = 0  # between requests, as robots.txt asks; goes with robots_ms
    pages: list[bytes] = field(default_factory=list)
    done: list[bytes] = field(default_factory=list)
    retries: list[tuple[bytes, int, bytes]] = field(default_factory=list)
    dead: list[tuple[bytes, str, str]] = field(default_factory=list)
    back: list[bytes] = field(default_factory=list)
    again: list[tuple[bytes, int, bytes, str]] = field(default_factory=list)  # the last is one of AGAIN

    def merge(self, later: "VisitReport") -> None:
        self.idle_ms = later.idle_ms
        self.block_ms = max(self.block_ms, later.block_ms)
        self.failed = max(self.failed, later.failed)
        if later.robots_ms:
            self.robots_ms, self.interval_ms = later.robots_ms, later.interval_ms
        self.pages += later.pages
        self.done += later.done
        self.retries += later.retries
        self.dead += later.dead
        self.back += later.back
        self.again += later.again

    def arguments(self) -> list[Any]:
        """As ack.lua reads them: each list with its length first."""
        return [
            self.fence, self.host, self.idle_ms, self.block_ms, self.failed, self.robots_ms, self.interval_ms,
            len(self.pages), *self.pages,
            len(self.done), *self.done,
            len(self.retries), *(value for retry in self.retries for value in retry),
            len(self.dead), *(value for death in self.dead for value in death),
            len(self.back), *self.back,
            len(self.again), *(value for page in self.again for value in page),
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Status:
    crawl: str
    state: str
    counts: dict[str, int]
    drops: dict[str, int]
    hosts_ready: int
    hosts_waiting: int  # for a token, or until they are tried again
    hosts_visited: int
    retries_waiting: int
    held_back: int  # queued URLs of blocked hosts
    next_due_seconds: float | None
    recrawls_waiting: int = 0  # pages that wait to be crawled again
    recrawls_due: int = 0  # those of them whose time has come, when RECRAWL is on

    def count(self, name: str) -> int:
        return self.counts.get(name, 0)

    @property
    def is_finished(self) -> bool:
        """Nothing is in flight, and nothing queued can be handed out: its host is blocked, or it was fetched and waits
        for its time to be crawled again.
        """
        not_now = self.held_back + self.recrawls_waiting - self.recrawls_due
        return self.count("leased") == 0 and self.count("queued") <= not_now

    @property
    def end_reason(self) -> str:
        """Of a crawl that is finished."""
        return "blocked" if self.count("queued") > self.recrawls_waiting else "finished"

    @property
    def dead_reasons(self) -> dict[str, int]:
        return {name.removeprefix("dead:"): n for name, n in self.counts.items() if name.startswith("dead:") and n}

    @property
    def balance(self) -> int:
        """Zero, always: accepted = queued + leased + done + dead."""
        return self.count("accepted") - sum(self.count(name) for name in ("queued", "leased", "done", "dead"))
