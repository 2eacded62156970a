"""How does a URL that a person or a program gives us become part of a crawl?

``read_seed`` understands a line of a file, an argument or an element of a Redis list; ``plant`` queues seeds. Called by
the ``seed`` command, by workers for their Redis lists, and by whatever starts a crawl.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from crawler.errors import BadUrl
from crawler.frontier.config import CLASSES
from crawler.frontier.entry import Entry, RequestFields, encode, identity
from crawler.frontier.frontier import Frontier
from crawler.frontier.messages import Link
from crawler.frontier.reasons import Drop
from crawler.frontier.scope import Scope
from crawler.frontier.travel import MAX_NESTING
from crawler.urls import Url, canonicalise

BATCH = 500
SEED_SCORE = 1.0
MAX_SEED_DEPTH = 10_000  # as for MAX_DEPTH
_FIELDS = {"url", "priority", "depth", "meta"}
_HOST_ALONE = re.compile(r"(localhost|[^\s:/?#@]+\.[^\s:/?#@]+)(:\d+)?([/?#]\S*)?")


@dataclass(frozen=True, slots=True)
class Seed:
    url: Url
    priority: str = "high"  # one of CLASSES
    depth: int = 0
    meta: dict[str, Any] | None = None


@dataclass(slots=True)
class Planted:
    accepted: int = 0
    duplicates: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)  # URL, reason: one of EXPLANATIONS


# --- Reading ---------------------------------------------------------------------------------


def read_seed(text: str | bytes, priority: str = "high") -> Seed:
    """A plain URL, or a JSON object; ``priority`` is for seeds that name none. Raises BadUrl with the drop reason."""
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError:
            raise BadUrl(Drop.BAD_URL, f"{text!r:.200} is not text in UTF-8") from None
    text = text.strip()
    if text.startswith("{"):
        return _read_object(text, priority)
    return Seed(_read_url(text), priority)


def _read_url(text: str) -> Url:
    try:
        return canonicalise(text)
    except BadUrl as error:
        if error.reason in {Drop.BAD_URL, Drop.BAD_SCHEME} and _HOST_ALONE.fullmatch(text):
            raise BadUrl(
                Drop.BAD_URL, f"{text!r:.200} is not a URL: it has no scheme; try https://{text:.200}"
            ) from None
        raise


def _read_object(text: str, priority: str) -> Seed:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise BadUrl(Drop.BAD_URL, f"{text!r:.200} is not a JSON object: {error}") from None
    unknown = sorted(found.keys() - _FIELDS)
    if unknown:
        raise _unfit(unknown[0], found[unknown[0]], f"is not known; a seed has {', '.join(sorted(_FIELDS))}")
    url = found.get("url")
    if not isinstance(url, str):
        raise _unfit("url", url, "is not a URL")
    depth = found.get("depth", 0)
    if type(depth) is not int or not 0 <= depth <= MAX_SEED_DEPTH:
        raise _unfit("depth", depth, f"is not a whole number from 0 to {MAX_SEED_DEPTH}")
    given = found.get("priority")
    return Seed(_read_url(url.strip()), priority if given is None else _read_priority(given), depth, _read_meta(found))


def _read_priority(value: Any) -> str:
    """Numbers as scrapy-redis has them: the higher, the sooner."""
    if isinstance(value, str) and value in CLASSES:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "high" if value > 0 else "low" if value < 0 else "medium"
    raise _unfit("priority", value, f"is neither a number nor one of {', '.join(CLASSES)}")


def _read_meta(found: dict[str, Any]) -> dict[str, Any] | None:
    meta = found.get("meta")
    if meta is None:
        return None
    if not isinstance(meta, dict):
        raise _unfit("meta", meta, "is not an object")
    if _nesting(meta) > MAX_NESTING:
        raise _unfit("meta", "…", f"is nested more than {MAX_NESTING} deep")
    try:
        msgspec.msgpack.encode(meta)
    except (OverflowError, UnicodeEncodeError) as error:
        raise _unfit("meta", meta, f"cannot be queued: {error}") from None
    return meta or None


def _nesting(value: Any) -> int:
    """How deep, without recursion: whoever wrote the JSON chose the depth."""
    deepest, stack = 0, [(value, 1)]
    while stack:
        member, depth = stack.pop()
        if isinstance(member, dict | list):
            deepest = max(deepest, depth)
            stack += [(inner, depth + 1) for inner in (member.values() if isinstance(member, dict) else member)]
    return deepest


def _unfit(name: str, value: Any, trouble: str) -> BadUrl:
    return BadUrl(Drop.BAD_URL, f"the seed's {name} {value!r:.200} {trouble}")


# --- Planting --------------------------------------------------------------------------------


async def plant(frontier: Frontier, seeds: Iterable[Seed], scope: Scope) -> Planted:
    """Queues them, in batches. May run twice: what was accepted the first time is a duplicate the second."""
    planted = Planted()
    rest = iter(seeds)
    while batch := list(itertools.islice(rest, BATCH)):
        await _plant_batch(frontier, batch, scope, planted)
    return planted


async def _plant_batch(frontier: Frontier, batch: list[Seed], scope: Scope, planted: Planted) -> None:
    welcome, drops = [], Counter[str]()
    for seed in batch:
        reason = scope.refuse_seed(seed.url)
        if reason:
            drops[reason] += 1
            planted.refused.append((seed.url.text, reason))
        else:
            welcome.append(seed)
    if drops:
        await frontier.count_drops(drops)
    if not welcome:
        return
    # Before the push: a worker must not lease a seed and then drop the links to its own host.
    client, keys = frontier.connection.client, frontier.keys
    await client.sadd(keys.crawls, keys.crawl)
    await client.sadd(keys.seed_hosts, *{seed.url.host for seed in welcome})
    for seed, answer in zip(welcome, await frontier.push([_link(seed) for seed in welcome]), strict=True):
        if answer == 1:
            planted.accepted += 1
        elif answer == 0:
            planted.duplicates += 1
        else:
            planted.refused.append((seed.url.text, Drop.HOST_CAP))


def _link(seed: Seed) -> Link:
    number = seed.url.fingerprint
    request = RequestFields(meta=seed.meta) if seed.meta else None
    entry = encode(Entry(url=seed.url.text, depth=seed.depth, request=request), identity(number), seed.url.host)
    return Link(seed.url.host, seed.priority, SEED_SCORE, number, entry)
