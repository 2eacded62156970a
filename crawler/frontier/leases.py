"""What does this worker hold, and how did each of its URLs end?

A lease travels in the meta of the request that was made from it (``meta["lease"]``); whoever learns how the URL
ended writes it there, and the worker reports it when the engine is completely done with the request.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from scrapy import Request

from crawler.frontier.entry import ID_BYTES, Entry, RequestFields
from crawler.frontier.messages import Visit, VisitReport
from crawler.frontier.recrawl import Fetched

META_KEY = "lease"
# The server sees a request somewhat after we sent it; if the answer took longer than this, that was the server's time.
LONGEST_CONNECT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Retry:
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class GoBack:
    """Not now: to its queue again, without an attempt being counted."""


@dataclass(frozen=True, slots=True)
class Death:
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Redirect:
    url: str
    fields: RequestFields | None


@dataclass(eq=False, slots=True)
class Lease:
    visit: "OpenVisit"
    id: bytes
    entry: Entry
    outcome: Retry | GoBack | Death | Redirect | None = None
    recrawl: Fetched | None = None  # the page is to be crawled again, and this is what to remember of it
    is_conditional: bool = False  # the server was asked for the page only if it changed
    is_answered: bool = False  # a response reached the spider: what comes back now is a new request, not this one
    is_page: bool = False
    is_finished: bool = False

    @property
    def is_open(self) -> bool:
        return not self.is_finished and not self.visit.is_lost


@dataclass(eq=False, slots=True)
class OpenVisit:
    """A host that this worker has locked."""

    visit: Visit
    deadline: float  # on this process's monotonic clock; the lock is ours no longer than that
    leases: dict[bytes, Lease] = field(default_factory=dict)
    last_fetch: float = 0.0
    block_seconds: float = 0.0
    failed: int = -1
    is_lost: bool = False
    is_blocked: bool = False  # the server asked to be left alone: what is not sent yet is not sent

    @property
    def fence(self) -> str:
        return self.visit.fence

    @property
    def host(self) -> str:
        return self.visit.host

    def note_fetch(self, now: float, latency_seconds: float) -> None:
        """Keeps when the server last heard from us: never too early, so that the token bucket is never generous."""
        self.last_fetch = max(self.last_fetch, now - max(0.0, latency_seconds - LONGEST_CONNECT_SECONDS))

    def block(self, seconds: float) -> None:
        self.block_seconds = max(self.block_seconds, seconds)
        self.is_blocked = True

    def report(self, now: float) -> VisitReport:
        idle_ms = int((now - self.last_fetch) * 1000) if self.last_fetch else 10**9
        report = VisitReport(
            self.fence, self.host, idle_ms=idle_ms, block_ms=int(self.block_seconds * 1000), failed=self.failed
        )
        self.block_seconds, self.failed = 0.0, -1
        return report


class Holdings:
    """All open visits of this worker, by fencing token."""

    def __init__(self) -> None:
        self.visits: dict[str, OpenVisit] = {}
        self.urls = 0
        self.answered = 0  # of these: fetched, and not ended yet

    def add(self, visit: Visit, deadline: float) -> OpenVisit:
        held = self.visits.get(visit.fence)
        if held is None:
            held = self.visits[visit.fence] = OpenVisit(visit, deadline)
        return held

    def add_lease(self, held: OpenVisit, raw: bytes, entry: Entry) -> Lease:
        lease = Lease(held, raw[:ID_BYTES], entry)
        held.leases[lease.id] = lease
        self.urls += 1
        return lease

    def note_answer(self, lease: Lease) -> None:
        if not lease.is_answered:
            lease.is_answered = True
            self.answered += lease.id in lease.visit.leases

    def remove(self, lease: Lease) -> None:
        if lease.visit.leases.pop(lease.id, None) is not None:
            self.urls -= 1
            self.answered -= lease.is_answered
        if not lease.visit.leases:
            self.visits.pop(lease.visit.fence, None)

    def lose(self, fence: str) -> None:
        """The frontier gave the visit to somebody else: whatever we still say about it would be refused."""
        held = self.visits.pop(fence, None)
        if held is not None:
            held.is_lost = True
            self.urls -= len(held.leases)
            self.answered -= sum(lease.is_answered for lease in held.leases.values())
            held.leases.clear()

    def __iter__(self) -> Iterator[OpenVisit]:
        return iter(list(self.visits.values()))


def lease_of(request: Request | None) -> Lease | None:
    found: Any = request.meta.get(META_KEY) if request is not None else None
    return found if isinstance(found, Lease) else None
