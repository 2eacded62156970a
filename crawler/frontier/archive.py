"""How does a whole crawl move to another Redis, or to another number of partitions?

``export_crawl`` writes lines of JSON, ``import_crawl`` reads them: the first line says what it is, the last that it is
whole. Both stream. An import that broke off is taken up again by importing the same file once more.
"""

import base64
import binascii
import math
import os
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from crawler.errors import ConfigurationError, OrbweaverError
from crawler.frontier.audit import audit
from crawler.frontier.config import CLASSES
from crawler.frontier.control import PAUSED, set_state
from crawler.frontier.entry import ID_BYTES, Entry, Known, RequestFields, decode, encode
from crawler.frontier.frontier import Frontier
from crawler.frontier.keyspace import (
    LISTS,
    STEP,
    Grave,
    Waiting,
    ask,
    crawl_keys,
    pack_grave,
    read_dead,
    read_later,
    read_leased,
    read_queue,
)
from crawler.frontier.workers import live_workers
from crawler.urls import CANONICAL_VERSION

FORMAT = "orbweaver-frontier"
VERSION = 2
_COUNTED = {"queued", "leased", "dead", "accepted"}  # found again by counting
_line = msgspec.json.Encoder().encode
_read_line = msgspec.json.Decoder(dict[str, Any]).decode
_pack = msgspec.msgpack.Encoder().encode
_unpack_request = msgspec.msgpack.Decoder(RequestFields).decode
_unpack_known = msgspec.msgpack.Decoder(Known).decode


@dataclass(slots=True)
class Imported:
    queued: int = 0
    dead: int = 0
    seen: int = 0
    is_new: bool = True  # False: this very export had been imported before, and nothing was done


# --- Export ----------------------------------------------------------------------------------


async def export_crawl(frontier: Frontier) -> AsyncIterator[bytes]:
    """Lines, each with its end. Leased URLs of dead workers are exported as queued."""
    client, keys = frontier.connection.client, frontier.keys
    status = await frontier.status()
    alive = await live_workers(frontier.connection, keys, keys.crawl)
    if alive and not (status.state and status.count("leased") == 0):
        raise OrbweaverError(
            f"the crawl {keys.crawl!r} is being worked on, and a URL on its way from one list to another could be "
            f"missed: run 'scrapy frontier pause', wait until nothing is leased, and export then"
        )
    yield _dump(
        format=FORMAT, version=VERSION, id=os.urandom(8).hex(), crawl=keys.crawl, state=status.state,
        partitions=keys.partitions, canonical_version=CANONICAL_VERSION, exported_at=round(time.time(), 3),
    )  # fmt: skip
    lines = 1
    async for line in _export_body(frontier):
        yield line
        lines += 1
    status = await frontier.status()
    counts = {
        name: number for name, number in status.counts.items() if number and name.partition(":")[0] not in _COUNTED
    }
    spent = await client.hget(keys.budget, "spent")
    yield _dump(kind="end", lines=lines + 1, counts=counts, drops=status.drops, spent=int(cast(bytes, spent or b"0")))


async def _export_body(frontier: Frontier) -> AsyncIterator[bytes]:
    client, keys = frontier.connection.client, frontier.keys
    async for host in client.sscan_iter(keys.seed_hosts, count=STEP):
        yield _dump(kind="seed_host", host=host.decode())
    for partition in range(keys.partitions):
        async for waiting in read_later(frontier, partition):
            yield _dump_waiting(waiting)
        async for waiting in read_leased(frontier, partition):
            yield _dump_waiting(waiting)
        async for name, grave in read_dead(frontier, partition):
            yield _dump(
                kind="dead", partition=partition, id=_text(name), reason=grave.reason, at_ms=grave.at_ms,
                host=grave.host, detail=grave.detail, **_dump_entry(grave.entry, grave.host),
            )  # fmt: skip
        async for host, pages in client.hscan_iter(keys.base(partition) + "pages", count=STEP):
            yield _dump(kind="pages", host=host.decode(), pages=int(pages))
    async for found in crawl_keys(frontier):
        for key in found:
            if key.name == "q":
                async for waiting in read_queue(frontier, key):
                    yield _dump_waiting(waiting)
        buckets = [key for key in found if key.name == "seen"]
        members = await ask(frontier, (("SMEMBERS", key.key) for key in buckets))
        for key, numbers in zip(buckets, members, strict=True):
            if not isinstance(numbers, Exception):
                yield _dump(kind="seen", partition=key.partition, fingerprints=sorted(map(int, numbers)))


def _dump(**values: Any) -> bytes:
    return _line(values) + b"\n"


def _dump_waiting(waiting: Waiting) -> bytes:
    due = {} if waiting.due_ms is None else {"due_ms": waiting.due_ms, "waits_in": waiting.waits_in}
    return _dump(
        kind="queued", host=waiting.host, **{"class": waiting.priority}, score=waiting.score, **due,
        **_dump_entry(waiting.entry, waiting.host),
    )  # fmt: skip


def _dump_entry(raw: bytes, host: str) -> dict[str, Any]:
    try:
        entry = decode(raw, host)
    except ValueError:
        return {"raw": _text(raw)}
    values = {"url": entry.url, "depth": entry.depth, "attempt": entry.attempt, "redirects": entry.redirects,
              "identity": raw[:ID_BYTES].hex()}  # fmt: skip
    if entry.request is not None:
        values["request"] = _text(_pack(entry.request))
    if entry.known is not None:
        values["known"] = _text(_pack(entry.known))
    return values


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


# --- Import ----------------------------------------------------------------------------------


async def import_crawl(frontier: Frontier, lines: Iterable[bytes]) -> Imported:
    """Into an empty crawl, or one that began with the same export. Paused until all is there."""
    source = iter(lines)
    header = _read_header(next(source, b""))
    marker = frontier.keys.base(0) + "import"
    if not await _claim(frontier, marker, header["id"]):
        return Imported(is_new=False)
    result = Imported()
    await set_state(frontier, PAUSED)
    await frontier.connection.client.sadd(frontier.keys.crawls, frontier.keys.crawl)
    read, ended = 1, None
    batch: list[dict[str, Any]] = []
    for line in source:
        read += 1
        values = _read(line, read)
        if values.get("kind") == "end":
            ended = values
            break
        batch.append(values)
        if len(batch) >= STEP:
            await _store(frontier, header["partitions"], batch, result, read)
            batch = []
    await _store(frontier, header["partitions"], batch, result, read)
    if ended is None or ended.get("lines") != read:
        raise OrbweaverError(
            f"the export ends in line {read}, but that is not its end: something is missing. The crawl stays paused; "
            f"import the whole file, or purge the crawl"
        )
    await _finish(frontier, ended)
    await set_state(frontier, header["state"])
    await frontier.connection.client.set(marker, header["id"] + " done")
    return result


def _read_header(line: bytes) -> dict[str, Any]:
    header = _read(line, 1) if line.strip() else {}
    if header.get("format") != FORMAT:
        raise ConfigurationError("this is no export of a frontier: its first line does not say so")
    for name, known in (("version", VERSION), ("canonical_version", CANONICAL_VERSION)):
        if header.get(name) != known:
            raise ConfigurationError(f"the export has {name} {header.get(name)!r}, this program reads {known}")
    if (
        not isinstance(header.get("partitions"), int)
        or header["partitions"] < 1
        or not isinstance(header.get("id"), str)
    ):
        raise ConfigurationError("the export's first line has no id, or no number of partitions")
    if header.setdefault("state", "") not in {"", "paused", "draining"}:
        raise ConfigurationError(f"the export has the state {header['state']!r}, which is not known")
    return header


def _read(line: bytes, number: int) -> dict[str, Any]:
    try:
        return _read_line(line)
    except msgspec.DecodeError as error:
        raise OrbweaverError(f"line {number} of the export cannot be read: {error}") from None


async def _claim(frontier: Frontier, marker: str, export: str) -> bool:
    """Answers whether there is anything to do. Raises ConfigurationError if the crawl is something else."""
    client, keys = frontier.connection.client, frontier.keys
    begun = await client.get(marker)
    if begun is not None and cast(bytes, begun).decode() == export + " done":
        return False
    if begun is None or cast(bytes, begun).decode() != export:
        status = await frontier.status()
        if any(status.counts.values()) or await client.exists(keys.seed_hosts):
            raise ConfigurationError(
                f"the crawl {keys.crawl!r} is not empty: import into another (--crawl), or purge it first"
            )
    await client.set(marker, export)
    return True


async def _store(frontier: Frontier, partitions: int, batch: list[dict[str, Any]], result: Imported, last: int) -> None:
    keys = frontier.keys
    commands: list[tuple[Any, ...]] = []
    for number, values in enumerate(batch, last - len(batch) + 1):
        try:
            match values["kind"]:
                case "queued":
                    result.queued += 1
                    _restore_queued(frontier, values, commands)
                case "dead":
                    result.dead += 1
                    entry = _read_entry(values)
                    host = values["host"]
                    partition = keys.partition(host) if host else values["partition"] % keys.partitions
                    packed = pack_grave(Grave(values["reason"], int(values["at_ms"]), host, values["detail"], entry))
                    commands.append(("HSET", keys.base(partition) + "dead", base64.b64decode(values["id"]), packed))
                case "seen":
                    result.seen += len(values["fingerprints"])
                    commands += _restore_seen(frontier, values["partition"], partitions, values["fingerprints"])
                case "pages":
                    host = values["host"]
                    commands.append(("HSET", keys.base(keys.partition(host)) + "pages", host, int(values["pages"])))
                case "seed_host":
                    commands.append(("SADD", keys.seed_hosts, values["host"]))
                case kind:
                    raise ValueError(f"the kind {kind!r} is not known")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, msgspec.MsgspecError) as error:
            raise OrbweaverError(f"line {number} of the export cannot be read: {error!r}") from None
    for first in range(0, len(commands), STEP):
        for answer in await ask(frontier, commands[first : first + STEP]):
            if isinstance(answer, Exception):
                raise answer


def _restore_queued(frontier: Frontier, values: dict[str, Any], commands: list[tuple[Any, ...]]) -> None:
    keys, host, priority, score = frontier.keys, values["host"], values["class"], float(values["score"])
    if priority not in CLASSES or not isinstance(host, str) or not math.isfinite(score):
        raise ValueError("its class, host or score will not do")
    entry = _read_entry(values)
    if not host:  # nobody knows where it belongs; audit finds it, and so does the first lease
        commands.append(("ZADD", keys.base(0) + "later", values.get("due_ms", 0), entry))
    elif "due_ms" in values:
        name = values.get("waits_in", "later")  # there was one list when the first exports were written
        if name not in LISTS:
            raise ValueError(f"it waits in {name!r}, which is not known")
        packed = f"{priority} {-score!r} {host} ".encode() + entry
        commands.append(("ZADD", keys.base(keys.partition(host)) + name, int(values["due_ms"]), packed))
    else:
        # Not pushed: its fingerprint may be among those seen already.
        base = keys.base(keys.partition(host))
        commands.append(("ZADD", f"{base}q:{priority}:{host}", repr(-score), entry))
        commands.append(("ZADD", f"{base}ready:{priority}", "NX", 0, host))


def _read_entry(values: dict[str, Any]) -> bytes:
    if "raw" in values:
        return base64.b64decode(values["raw"])
    request = _unpack_request(base64.b64decode(values["request"])) if "request" in values else None
    known = _unpack_known(base64.b64decode(values["known"])) if "known" in values else None
    entry = Entry(
        url=values["url"], depth=values["depth"], attempt=values["attempt"], redirects=values["redirects"],
        request=request, known=known,
    )  # fmt: skip
    name = binascii.unhexlify(values["identity"])
    if len(name) != ID_BYTES:
        raise ValueError(f"its identity has {len(name)} bytes")
    return encode(entry, name, values["host"])


def _restore_seen(frontier: Frontier, partition: int, partitions: int, numbers: list[int]) -> list[tuple[Any, ...]]:
    """A fingerprint does not tell its host. What is known is the host's partition of before, so the fingerprint goes
    wherever such a host can be now: into one partition when their number is the same or divides the old one.
    """
    keys = frontier.keys
    step = math.gcd(partitions, keys.partitions)
    by_bucket: dict[str, list[int]] = {}
    for number in numbers:
        by_bucket.setdefault(keys.bucket(number), []).append(number)
    return [
        ("SADD", f"{keys.base(home)}seen:{bucket}", *members)
        for home in range(partition % step, keys.partitions, step)
        for bucket, members in by_bucket.items()
    ]


async def _finish(frontier: Frontier, ended: dict[str, Any]) -> None:
    """What is not in any list: how many are done, and what was dropped. The rest is counted."""
    client, keys = frontier.connection.client, frontier.keys
    for name in ("counts", "drops"):
        values = {str(key): int(number) for key, number in ended[name].items()}
        if values:
            await client.hset(keys.base(0) + name, mapping=values)
    if ended["spent"]:
        await client.hset(keys.budget, "spent", int(ended["spent"]))
    await audit(frontier, repair=True)
