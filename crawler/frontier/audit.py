"""Is the frontier what it says it is? Recounts a crawl, and finds what no step would ever come back to.

Called by ``scrapy frontier audit`` and at the end of an import. Walks with cursors and repairs in atomic steps, so a
crawl may go on meanwhile; only its counts are then left alone, because they change while one counts.
"""

from collections import Counter
from dataclasses import dataclass, field

from crawler.frontier.config import CLASSES
from crawler.frontier.connection import load_script
from crawler.frontier.entry import decode
from crawler.frontier.frontier import Frontier
from crawler.frontier.keyspace import (
    LISTS,
    STEP,
    TYPES,
    CrawlKey,
    Waiting,
    ask,
    crawl_keys,
    read_dead,
    read_leased,
    read_queue,
    read_visits,
    unpack_waiting,
)

_BATCH = 200  # hosts looked at in one atomic step
_VERDICTS = {"l": "lost_host", "e": "empty_host", "s": "stuck_lock", "h": "held_back"}


@dataclass(frozen=True, slots=True)
class Finding:
    kind: str  # lost_host, empty_host, stuck_lock, held_back, orphan_lease, undecodable, wrong_type or miscount
    where: str
    message: str
    repaired: bool


@dataclass(slots=True)
class Audit:
    counted: dict[str, int] = field(default_factory=dict)  # queued, leased, dead and dead:<reason>
    kept: dict[str, int] = field(default_factory=dict)  # what `counts` said
    findings: list[Finding] = field(default_factory=list)
    is_moving: bool = False  # the crawl changed while it was counted: the counts say nothing

    @property
    def is_sound(self) -> bool:
        return all(finding.repaired for finding in self.findings)


async def audit(frontier: Frontier, *, repair: bool = False) -> Audit:
    result = Audit()
    before = await frontier.status()
    counted: list[Counter[str]] = [Counter() for _ in range(frontier.keys.partitions)]
    async for found in crawl_keys(frontier):
        sound = await _check_types(frontier, found, result, repair)
        await _check_queues(frontier, [key for key in sound if key.name == "q"], counted, result, repair)
    for partition in range(frontier.keys.partitions):
        await _check_partition(frontier, partition, counted[partition], result, repair)
    after = await frontier.status()
    # Repairs above keep the counts in step with what they move; so compare before them only what nobody changed.
    buried = sum(finding.repaired for finding in result.findings if finding.kind == "undecodable")
    result.is_moving = _moved(before.counts, after.counts, buried)
    result.kept = after.counts
    for counter in counted:
        for name, number in counter.items():
            result.counted[name] = result.counted.get(name, 0) + number
    if not result.is_moving:
        await _check_counts(frontier, counted, result, repair)
    return result


def _moved(before: dict[str, int], after: dict[str, int], buried: int) -> bool:
    names = ("accepted", "queued", "leased", "done", "dead", "retried", "reclaimed")
    expected = Counter({name: before.get(name, 0) for name in names})
    expected.update({"queued": -buried, "dead": buried})
    return any(expected[name] != after.get(name, 0) for name in names)


# --- Keys ------------------------------------------------------------------------------------


async def _check_types(frontier: Frontier, found: list[CrawlKey], result: Audit, repair: bool) -> list[CrawlKey]:
    """Answers those whose type is right, and of those with a name that is not known nothing."""
    known = [key for key in found if key.name in TYPES]
    types = await ask(frontier, (("TYPE", key.key) for key in known))
    sound = []
    for key, kind in zip(known, types, strict=True):
        if kind in {TYPES[key.name].encode(), TYPES[key.name]}:
            sound.append(key)
        elif kind not in {b"none", "none"}:
            if repair:  # as push and lease do it: set aside, not deleted
                tag = frontier.keys.tag(key.partition).encode()
                await frontier.connection.client.rename(key.key, tag + b":alien:" + key.key[len(tag) + 1 :])
            is_a = kind.decode() if isinstance(kind, bytes) else kind
            message = f"is a {is_a}, not a {TYPES[key.name]}" + (": set aside" if repair else "")
            result.findings.append(Finding("wrong_type", key.key.decode(errors="replace"), message, repair))
    return sound


# --- Hosts and entries -----------------------------------------------------------------------


async def _check_queues(
    frontier: Frontier, queues: list[CrawlKey], counted: list[Counter[str]], result: Audit, repair: bool
) -> None:
    by_partition: dict[int, list[tuple[str, str]]] = {}
    for key in queues:
        if key.queue[0] in CLASSES:
            by_partition.setdefault(key.partition, []).append(key.queue)
        poison: list[bytes] = []
        async for waiting in read_queue(frontier, key):
            counted[key.partition]["queued"] += 1
            if not _is_entry(waiting):
                poison.append(waiting.entry)
        if poison:
            await _bury(frontier, key.partition, key.queue, poison, counted[key.partition], result, repair)
    for partition, pairs in by_partition.items():
        await _check_hosts(frontier, partition, pairs, result, repair)


async def _check_partition(
    frontier: Frontier, partition: int, counter: Counter[str], result: Audit, repair: bool
) -> None:
    client, base = frontier.connection.client, frontier.keys.base(partition)
    for name in LISTS:
        poison = []
        async for packed, due in client.zscan_iter(base + name, count=STEP):
            counter["queued"] += 1
            waiting = unpack_waiting(packed, int(due))
            if not waiting.host or not _is_entry(waiting):
                poison.append(packed)
        if poison:
            await _bury(frontier, partition, (name, ""), poison, counter, result, repair)
    for priority in CLASSES:
        pairs: list[tuple[str, str]] = []
        async for host, _ in client.zscan_iter(f"{base}ready:{priority}", count=STEP):
            pairs.append((priority, host.decode(errors="surrogateescape")))
            if len(pairs) >= _BATCH:
                await _check_hosts(frontier, partition, pairs, result, repair)
                pairs = []
        await _check_hosts(frontier, partition, pairs, result, repair)
    await _check_leases(frontier, partition, counter, result, repair)
    async for _, grave in read_dead(frontier, partition):
        counter["dead"] += 1
        counter["dead:" + grave.reason] += 1


async def _check_leases(frontier: Frontier, partition: int, counter: Counter[str], result: Audit, repair: bool) -> None:
    orphans: dict[str, str] = {}
    visits = {fence async for fence, _ in read_visits(frontier, partition)}
    async for leased in read_leased(frontier, partition):
        counter["leased"] += 1
        if leased.fence not in visits:
            orphans[leased.fence] = leased.host
    if orphans:  # or they were leased just now
        visits = {fence async for fence, _ in read_visits(frontier, partition)}
    for fence, host in orphans.items():
        if fence in visits:
            continue
        repaired = repair and bool(host)
        if repaired:  # reclaim does the rest, as for any worker that died
            visit = f"{fence}|{frontier.keys.crawl}|{host}"
            await frontier.connection.client.zadd(frontier.keys.tag(partition) + ":visits", {visit: 0}, nx=True)
        message = "has URLs leased in a visit that nobody would reclaim" + (": will be reclaimed" if repaired else "")
        result.findings.append(Finding("orphan_lease", host or fence, message, repaired))


async def _check_hosts(
    frontier: Frontier, partition: int, pairs: list[tuple[str, str]], result: Audit, repair: bool
) -> None:
    for first in range(0, len(pairs), _BATCH):
        batch = pairs[first : first + _BATCH]
        arguments: list[bytes | str | int] = [
            frontier.keys.crawl,
            int(repair),
            *(value for pair in batch for value in pair),
        ]
        letters = await frontier.connection.run(load_script("audit"), frontier.keys.tag(partition), arguments)
        for (priority, host), letter in zip(batch, letters.decode(), strict=True):
            if letter in _VERDICTS:
                message = _MESSAGES[letter] + (f": {_REPAIRS[letter]}" if repair else "")
                result.findings.append(Finding(_VERDICTS[letter], f"{host} ({priority})", message, repair))


_MESSAGES = {
    "l": "has URLs queued, but nothing would ever lead to them",
    "e": "is in the ready list with nothing queued",
    "s": "is locked by a visit that nobody would reclaim",
    "h": "is held back as blocked, but is not blocked for good",
}
_REPAIRS = {"l": "made ready", "e": "taken out", "s": "lock released", "h": "made ready"}


_LIST_NAMES = {"later": "retries", "again": "pages to be crawled again"}


async def _bury(
    frontier: Frontier,
    partition: int,
    queue: tuple[str, str],
    poison: list[bytes],
    counter: Counter[str],
    result: Audit,
    repair: bool,
) -> None:
    where = f"{queue[1]} ({queue[0]})" if queue[1] else _LIST_NAMES[queue[0]]
    for first in range(0, len(poison), _BATCH):
        batch = poison[first : first + _BATCH]
        if repair:
            arguments: list[bytes | str | int] = [frontier.keys.crawl, *queue, *batch]
            await frontier.connection.run(load_script("bury"), frontier.keys.tag(partition), arguments)
            counter["queued"] -= len(batch)
    for entry in poison:
        message = f"holds something that is no entry: {entry!r:.60}" + (": buried as poisoned" if repair else "")
        result.findings.append(Finding("undecodable", where, message, repair))


def _is_entry(waiting: Waiting) -> bool:
    try:
        decode(waiting.entry, waiting.host)
    except ValueError:
        return False
    return True


# --- Counts ----------------------------------------------------------------------------------


async def _check_counts(frontier: Frontier, counted: list[Counter[str]], result: Audit, repair: bool) -> None:
    """`done` is known from `counts` alone, so `accepted` has to follow from the others."""
    client, keys = frontier.connection.client, frontier.keys
    total: Counter[str] = Counter()
    for partition, counter in enumerate(counted):
        key = keys.base(partition) + "counts"
        kept = {name.decode(): int(value) for name, value in (await client.hgetall(key)).items()}
        names = {"queued", "leased", "dead", *counter, *(name for name in kept if name.startswith("dead:"))}
        for name in sorted(names):
            wrong = counter[name] - kept.get(name, 0)
            if wrong:
                total[name] += wrong
                if repair:
                    await client.hincrby(key, name, wrong)
    status = await frontier.status()
    sums = {name: status.count(name) + (0 if repair else total[name]) for name in ("queued", "leased", "done", "dead")}
    wrong = sum(sums.values()) - status.count("accepted")
    if wrong:
        total["accepted"] += wrong
        if repair:
            await client.hincrby(keys.base(0) + "counts", "accepted", wrong)
    for name, number in sorted(total.items()):
        if number:
            found = result.kept.get(name, 0)
            message = f"was {found}, is {found + number}" + (": corrected" if repair else "")
            result.findings.append(Finding("miscount", name, message, repair))
