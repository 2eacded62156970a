"""How do the hosts of a crawl stand, and what became of this URL?

Answers for people: the ``frontier`` command and the API ask. Looks only.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from crawler.errors import BadUrl
from crawler.frontier.config import CLASSES
from crawler.frontier.connection import load_script
from crawler.frontier.entry import Entry, Known, decode, identity
from crawler.frontier.frontier import Frontier
from crawler.frontier.keyspace import LISTS, STEP, ask, crawl_keys, read_grave, read_leased, unpack_waiting
from crawler.frontier.reasons import EXPLANATIONS
from crawler.frontier.robots_cache import UNREACHABLE, RobotsCache
from crawler.frontier.scope import Scope
from crawler.robots.rules import parse
from crawler.urls import Url, canonicalise

_GLOB = frozenset(b"*?[]^-\\")


@dataclass(frozen=True, slots=True)
class HostState:
    host: str
    queued: dict[str, int]  # by class; classes with nothing queued are left out
    state: str  # ready, waiting, blocked, locked, idle (nothing queued) or lost (audit --repair helps)
    wait_seconds: float | None  # until it may be visited; None when no time is known
    worker: str  # that visits it now
    worker_crawl: str
    leased: int
    pages: int
    fails: int  # in a row

    @property
    def total(self) -> int:
        return sum(self.queued.values())

    def describe(self) -> str:
        if self.state == "locked":
            return f"visited by {self.worker}"
        if self.state == "blocked" and self.wait_seconds is None:
            return "blocked until unblocked"
        if self.wait_seconds:
            return f"{self.state} for {self.wait_seconds:.1f} s"
        return self.state


async def describe_hosts(frontier: Frontier, hosts: Sequence[str]) -> list[HostState]:
    by_partition: dict[int, list[str]] = {}
    for host in hosts:
        by_partition.setdefault(frontier.keys.partition(host), []).append(host)
    found: dict[str, HostState] = {}
    for partition, some in by_partition.items():
        answers = await frontier.connection.run(
            load_script("describe"), frontier.keys.tag(partition), [frontier.keys.crawl, *some]
        )
        found.update((host, _read_state(host, answer)) for host, answer in zip(some, answers, strict=True))
    return [found[host] for host in hosts]


def _read_state(host: str, answer: list[Any]) -> HostState:
    ready = [ms for ms in answer[3:6] if ms >= 0]
    blocked_ms, fails, pages, worker, crawl, held, _ = answer[6:13]
    queued = {name: number for name, number in zip(CLASSES, answer[:3], strict=True) if number}
    wait_ms: int | None = None
    if blocked_ms:
        state, wait_ms = "blocked", None if blocked_ms < 0 else blocked_ms
    elif worker:
        state = "locked"
    elif not queued:
        state = "idle"
    elif not ready:
        state = "lost"
    else:
        wait_ms = min(ready)
        state = "waiting" if wait_ms else "ready"
    seconds = None if wait_ms is None else wait_ms / 1000
    return HostState(host, queued, state, seconds, worker.decode(), crawl.decode(), int(held), pages, fails)


async def hosts(frontier: Frontier, most: int = 20) -> list[HostState]:
    """Those with the most URLs queued, first."""
    largest: list[tuple[int, str]] = []
    kept = most * len(CLASSES)  # a host may be there once for each class
    async for found in crawl_keys(frontier):
        queues = [key for key in found if key.name == "q"]
        sizes = await ask(frontier, (("ZCARD", key.key) for key in queues))
        for key, size in zip(queues, sizes, strict=True):
            if isinstance(size, int):
                (heapq.heappush if len(largest) < kept else heapq.heappushpop)(largest, (size, key.queue[1]))
    states = await describe_hosts(frontier, sorted({host for _, host in largest}))
    return sorted(states, key=lambda state: (-state.total, state.host))[:most]


# --- One URL ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Why:
    url: str  # canonical
    host: str
    state: str  # refused, never_found, out_of_scope, queued, retry, recrawl, leased, dead or done
    message: str
    reason: str = ""  # one of EXPLANATIONS
    details: dict[str, Any] = field(default_factory=dict)


async def why(frontier: Frontier, text: str, scope: Scope, user_agent: str = "") -> Why:
    """What became of this URL, or what would; and for the user agent, which line of robots.txt decides. Requests with a
    body or another method are not looked for.
    """
    try:
        url = canonicalise(text)
    except BadUrl as error:
        return Why(text, "", "refused", f"It cannot be crawled: {error}.", error.reason)
    answer = await _find(frontier, url, scope)
    if user_agent:
        await _ask_robots(frontier, url, user_agent, answer)
    return answer


async def _ask_robots(frontier: Frontier, url: Url, user_agent: str, answer: Why) -> None:
    found = await RobotsCache(frontier).load([url.host])
    if url.host not in found:
        return
    text, _ = found[url.host]
    decision = parse(text).decide(url.text, user_agent)
    answer.details["robots"] = {"allowed": decision.allowed, "line": decision.line_number, "text": decision.line}
    if text.startswith(UNREACHABLE):
        answer.message += " The robots.txt of its host cannot be had, so nothing of the host is fetched for now."
    elif decision.line is not None:
        verb = "allows" if decision.allowed else "disallows"
        answer.message += f" robots.txt {verb} it in line {decision.line_number}: {printable(decision.line)}"
    else:
        answer.message += " No line of robots.txt is about it."


async def _find(frontier: Frontier, url: Url, scope: Scope) -> Why:
    name = identity(url.fingerprint)
    # A URL may move while it is looked for: from the queue to a lease, and on to its end. So in that order, and the
    # queues once more when it was nowhere, since a retry goes the other way.
    for look in (_in_queue, _in_later, _in_leased, _in_dead, _in_queue, _in_later):
        answer = await look(frontier, url, name)
        if answer:
            return answer
    [seen] = await frontier.confirm_seen([url.host], [url.fingerprint])
    if seen:
        return Why(url.text, url.host, "done", "It was accepted and is done: fetched, or redirected to another URL.")
    await scope.refresh(frontier)
    reason = scope.refuse_link(url, 0)
    if reason:
        advice = "" if scope.refuse_seed(url) else " As a seed it would be accepted."
        return Why(
            url.text, url.host, "out_of_scope", f"It would not be accepted: {EXPLANATIONS[reason]}.{advice}", reason
        )
    return Why(url.text, url.host, "never_found", "It is in scope, but was never found: no page so far links to it.")


async def _in_queue(frontier: Frontier, url: Url, name: bytes) -> Why | None:
    client, keys = frontier.connection.client, frontier.keys
    base = keys.base(keys.partition(url.host))
    for priority in CLASSES:
        key = f"{base}q:{priority}:{url.host}"
        async for raw, score in client.zscan_iter(key, match=_escape(name) + b"*", count=STEP):
            entry = _decode(raw, url.host)
            if not raw.startswith(name) or entry is None:
                continue
            [host] = await describe_hosts(frontier, [url.host])
            ahead = await client.zcount(key, "-inf", f"({score!r}")
            details = {"class": priority, "score": -score, "ahead": ahead, **_history(entry), "host_state": host.state,
                       "wait_seconds": host.wait_seconds}  # fmt: skip
            fetched = f"It was {_fetches(entry.known)}, and is queued again" if entry.known else "It is queued"
            message = f"{fetched}, class {priority}, with {ahead} of its host before it; the host is "
            return Why(url.text, url.host, "queued", f"{message}{host.describe()}.", "", details)
    return None


async def _in_later(frontier: Frontier, url: Url, name: bytes) -> Why | None:
    client, keys = frontier.connection.client, frontier.keys
    partition = keys.partition(url.host)
    # What stands before the entry is class, score and host.
    pattern = b"* " + _escape(url.host.encode()) + b" " + _escape(name) + b"*"
    for list_name in LISTS:
        async for packed, due in client.zscan_iter(keys.base(partition) + list_name, match=pattern, count=STEP):
            waiting = unpack_waiting(packed, int(due))
            entry = _decode(waiting.entry, waiting.host)
            if not waiting.entry.startswith(name) or entry is None:
                continue
            seconds = max(0.0, due / 1000 - await _now(frontier))
            details = {"class": waiting.priority, "due_seconds": round(seconds, 3), "due_at": due / 1000,
                       **_history(entry)}  # fmt: skip
            if list_name == "again" and entry.known:
                next_time = f"next in {duration(seconds)}" if seconds else "and is due"
                message = f"It was {_fetches(entry.known)}, {next_time} (with --recrawl)."
                return Why(url.text, url.host, "recrawl", message, "", details)
            message = f"It waits for a retry, due in {seconds:.1f} s, after {entry.attempt} failed attempts."
            return Why(url.text, url.host, "retry", message, "", details)
    return None


async def _in_leased(frontier: Frontier, url: Url, name: bytes) -> Why | None:
    async for leased in read_leased(frontier, frontier.keys.partition(url.host)):
        entry = _decode(leased.entry, leased.host)
        if not leased.entry.startswith(name) or entry is None:
            continue
        [host] = await describe_hosts(frontier, [url.host])
        worker = host.worker or "a worker that is gone; it will be reclaimed"
        details = {"worker": host.worker, "fence": leased.fence, **_history(entry)}
        return Why(url.text, url.host, "leased", f"It is being fetched by {worker}.", "", details)
    return None


async def _in_dead(frontier: Frontier, url: Url, name: bytes) -> Why | None:
    key = frontier.keys.base(frontier.keys.partition(url.host)) + "dead"
    value = await frontier.connection.client.hget(key, name)
    if value is None:
        return None
    grave = read_grave(cast(bytes, value))
    entry = _decode(grave.entry, grave.host)
    details = {"at": grave.at_ms / 1000, "detail": grave.detail, **(_history(entry) if entry else {})}
    explanation = EXPLANATIONS.get(grave.reason, grave.reason)
    detail = f" ({grave.detail})" if grave.detail else ""
    return Why(url.text, url.host, "dead", f"It is dead: {explanation}{detail}.", grave.reason, details)


def _history(entry: Entry) -> dict[str, Any]:
    history = {"depth": entry.depth, "attempt": entry.attempt, "redirects": entry.redirects}
    known = entry.known
    if known is None:
        return history
    return {**history, "fetches": known.fetches, "unchanged": known.unchanged, "missed": known.missed,
            "interval_seconds": known.interval_ms / 1000}  # fmt: skip


def _fetches(known: Known) -> str:
    times = "once" if known.fetches == 1 else f"{known.fetches} times"
    return f"fetched {times}" + (f", unchanged the last {known.unchanged}" if known.unchanged else "")


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3 h``, ``2 days``: of the unit that leaves a number above one."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def _decode(raw: bytes, host: str) -> Entry | None:
    try:
        return decode(raw, host)
    except ValueError:
        return None


def _escape(name: bytes) -> bytes:
    """For MATCH, byte by byte."""
    return b"".join(b"\\" + bytes([byte]) if byte in _GLOB else bytes([byte]) for byte in name)


async def _now(frontier: Frontier) -> float:
    now: int = await frontier.connection.client.execute_command(
        "EVAL", "local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000)", 1, frontier.keys.tag(0)
    )
    return now / 1000


def printable(text: str) -> str:
    """What a server wrote, for a terminal: it must not steer it."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
