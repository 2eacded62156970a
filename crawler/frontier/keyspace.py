"""Which keys does a crawl have, and what is in them? Walked with cursors, so that Redis never stops for it.

Used by what looks at a whole crawl from outside: ``purge``, ``export``, ``audit``, ``hosts`` and ``why``.
"""

import re
from collections.abc import AsyncIterator, Iterable
from typing import Any, NamedTuple

from crawler.frontier.config import CLASSES
from crawler.frontier.entry import ID_BYTES
from crawler.frontier.frontier import Frontier

STEP = 1000  # keys or members asked for at once
TYPES = {
    "state": "string", "counts": "hash", "drops": "hash", "pages": "hash", "leased": "hash", "dead": "hash",
    "crashes": "hash", "later": "zset", "again": "zset", "blocked": "set", "turns": "string", "ready": "zset",
    "untold": "zset", "q": "zset", "seen": "set", "import": "string",
    "bodies": "hash", "near": "string",
}  # fmt: skip

LISTS = ("later", "again")  # what is queued for a time of its own: retries, and pages to be crawled again
NOBODY = "-"  # in place of a host that is not known


class CrawlKey(NamedTuple):
    """``{ow:3}:news:q:high:example.org`` is partition 3, name ``q`` and rest ``high:example.org``."""

    key: bytes
    partition: int
    name: str
    rest: str

    @property
    def queue(self) -> tuple[str, str]:
        """Class and host of a key named ``q``."""
        priority, _, host = self.rest.partition(":")
        return priority, host


class Waiting(NamedTuple):
    """A URL that is queued, waits for its time (``due_ms``) in one of ``LISTS``, or is leased (``fence``)."""

    host: str
    priority: str
    score: float  # as push has it: higher is sooner
    entry: bytes
    due_ms: int | None = None
    fence: str = ""
    waits_in: str = ""


class Grave(NamedTuple):
    """What ``dead`` says about a URL."""

    reason: str
    at_ms: int
    host: str  # empty when what was found is no entry
    detail: str
    entry: bytes


async def crawl_keys(frontier: Frontier) -> AsyncIterator[list[CrawlKey]]:
    """Every key of the crawl that is in a partition, once, some at a time."""
    keys = frontier.keys
    shape = re.compile(
        rb"\{%s:(\d+)\}:%s:([a-z]+)(?::(.*))?" % (re.escape(keys.namespace.encode()), re.escape(keys.crawl.encode())),
        re.DOTALL,
    )
    known: set[bytes] = set()  # a cursor may pass a key twice while Redis grows; there are few keys besides `seen`
    found: list[CrawlKey] = []
    async for key in scan(frontier, f"{{{keys.namespace}:*}}:{keys.crawl}:*"):
        match = shape.fullmatch(key)
        if match is None or key in known or int(match[1]) >= keys.partitions:
            continue
        name = match[2].decode()
        if name != "seen":
            known.add(key)
        found.append(CrawlKey(key, int(match[1]), name, (match[3] or b"").decode(errors="surrogateescape")))
        if len(found) >= STEP:
            yield found
            found = []
    if found:
        yield found


async def scan(frontier: Frontier, pattern: str) -> AsyncIterator[bytes]:
    """On Cluster: of every primary node."""
    async for key in frontier.connection.client.scan_iter(match=pattern, count=STEP):
        yield key


async def ask(frontier: Frontier, commands: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Sends them together; an error is an answer among the others."""
    pipeline = frontier.connection.client.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command)
    return list(await pipeline.execute(raise_on_error=False))


# --- What is in them -------------------------------------------------------------------------


async def read_queue(frontier: Frontier, key: CrawlKey) -> AsyncIterator[Waiting]:
    priority, host = key.queue
    async for entry, score in frontier.connection.client.zscan_iter(key.key, count=STEP):
        yield Waiting(host, priority, -score, entry)


async def read_later(frontier: Frontier, partition: int) -> AsyncIterator[Waiting]:
    client = frontier.connection.client
    for name in LISTS:
        async for packed, due in client.zscan_iter(frontier.keys.base(partition) + name, count=STEP):
            yield unpack_waiting(packed, int(due))._replace(waits_in=name)


def unpack_waiting(packed: bytes, due_ms: int | None = None) -> Waiting:
    """``class score host`` and the entry, as the scripts write them."""
    try:
        priority, score, host, entry = packed.split(b" ", 3)
        if priority.decode() in CLASSES:
            return Waiting(host.decode(), priority.decode(), -float(score), entry, due_ms)
    except ValueError:
        pass
    return Waiting("", "low", 0.0, packed, due_ms)


async def read_leased(frontier: Frontier, partition: int) -> AsyncIterator[Waiting]:
    client, keys = frontier.connection.client, frontier.keys
    async for name, value in client.hscan_iter(keys.base(partition) + "leased", count=STEP):
        yield unpack_waiting(value)._replace(fence=name[:-ID_BYTES].decode(errors="replace"))


async def read_visits(frontier: Frontier, partition: int) -> AsyncIterator[tuple[str, str]]:
    """Fence and host of each visit of the crawl."""
    client, keys = frontier.connection.client, frontier.keys
    async for member, _ in client.zscan_iter(keys.tag(partition) + ":visits", match=f"*|{keys.crawl}|*", count=STEP):
        fence, crawl, host = member.decode(errors="replace").split("|", 2)
        if crawl == keys.crawl:
            yield fence, host


async def read_dead(frontier: Frontier, partition: int) -> AsyncIterator[tuple[bytes, Grave]]:
    client = frontier.connection.client
    async for name, value in client.hscan_iter(frontier.keys.base(partition) + "dead", count=STEP):
        yield name, read_grave(value)


def read_grave(value: bytes) -> Grave:
    """``reason ms host length detail`` and the entry, as the scripts write them."""
    try:
        reason, at, host, length, rest = value.split(b" ", 4)
        size = int(length)
        detail = rest[:size].decode(errors="replace")
        return Grave(reason.decode(), int(at), host.decode().removeprefix(NOBODY), detail, rest[size:])
    except ValueError:
        return Grave("poisoned", 0, "", "", value)


def pack_grave(grave: Grave) -> bytes:
    detail = grave.detail.encode()
    return f"{grave.reason} {grave.at_ms} {grave.host or NOBODY} {len(detail)} ".encode() + detail + grave.entry
