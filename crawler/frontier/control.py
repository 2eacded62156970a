"""How is a crawl steered from outside? Pausing, draining, blocking hosts, and removing a crawl.

Called by ``scrapy frontier`` and by the API. Each act may run twice.
"""

from collections.abc import AsyncIterator
from typing import cast

from crawler.errors import OrbweaverError
from crawler.frontier.connection import load_script
from crawler.frontier.entry import ID_BYTES
from crawler.frontier.frontier import Frontier
from crawler.frontier.keyspace import STEP, ask, crawl_keys, read_leased, read_visits, scan
from crawler.frontier.messages import VisitReport
from crawler.frontier.workers import live_workers
from crawler.urls import canonicalise

PAUSED = "paused"  # nothing is handed out; workers wait
DRAINING = "draining"  # nothing is handed out; workers finish what they hold, and end


async def pause(frontier: Frontier) -> None:
    await set_state(frontier, PAUSED)


async def drain(frontier: Frontier) -> None:
    await set_state(frontier, DRAINING)


async def resume(frontier: Frontier) -> None:
    await set_state(frontier, "")


async def set_state(frontier: Frontier, state: str) -> None:
    client, keys = frontier.connection.client, frontier.keys
    for partition in range(keys.partitions):
        key = keys.base(partition) + "state"
        if state:
            await client.set(key, state)
        else:
            await client.delete(key)


# --- Hosts -----------------------------------------------------------------------------------


def read_host(text: str) -> str:
    """``example.org``, ``example.org:8080`` or any URL of it. Raises BadUrl."""
    return canonicalise(text if "://" in text else f"https://{text}/").host


async def block(frontier: Frontier, host: str, seconds: float | None = None) -> None:
    """Leaves the host alone, in all crawls of this Redis, for some time or (None) until it is unblocked."""
    await _block(frontier, host, -1 if seconds is None else max(1, round(seconds * 1000)))


async def unblock(frontier: Frontier, host: str) -> None:
    await _block(frontier, host, 0)


async def _block(frontier: Frontier, host: str, ms: int) -> None:
    keys = frontier.keys
    members = cast(set[bytes], await frontier.connection.client.smembers(keys.crawls))
    crawls = sorted({keys.crawl, *(crawl.decode() for crawl in members)})
    tag = keys.tag(keys.partition(host))
    await frontier.connection.run(load_script("block"), tag, [host, ms, *crawls])


# --- The end of a crawl ----------------------------------------------------------------------


async def purge(frontier: Frontier) -> int:
    """Removes the crawl, and nothing of any other; answers how many keys that were."""
    await refuse_if_alive(frontier, "end them first (scrapy frontier drain lets them finish)")
    connection, keys = frontier.connection, frontier.keys
    # Whatever a dead worker held is given back first: the hosts' locks are not the crawl's own.
    for partition in range(keys.partitions):
        held = {fence: VisitReport(fence, host) async for fence, host in read_visits(frontier, partition)}
        async for waiting in read_leased(frontier, partition):
            if waiting.fence in held:
                held[waiting.fence].back.append(waiting.entry[:ID_BYTES])
        await frontier.ack(held.values())
    removed = 0
    async for found in crawl_keys(frontier):
        removed += await _unlink(frontier, [key.key for key in found])
    async for aliens in _batches(scan(frontier, f"{{{keys.namespace}:*}}:alien:{keys.crawl}:*")):
        removed += await _unlink(frontier, aliens)
    single = [keys.seed_hosts, keys.budget, keys.events, keys.spider_log]
    removed += await _unlink(frontier, [key.encode() for key in single])
    await connection.client.srem(keys.crawls, keys.crawl)
    return removed


async def refuse_if_alive(frontier: Frontier, advice: str) -> None:
    alive = await live_workers(frontier.connection, frontier.keys, frontier.keys.crawl)
    if alive:
        names = ", ".join(worker.id for worker in alive[:3]) + ("…" if len(alive) > 3 else "")
        raise OrbweaverError(f"workers of the crawl {frontier.keys.crawl!r} are alive ({names}): {advice}")


async def _unlink(frontier: Frontier, keys: list[bytes]) -> int:
    answers = await ask(frontier, (("UNLINK", key) for key in keys))
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return sum(answers)


async def _batches(keys: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    batch: list[bytes] = []
    async for key in keys:
        batch.append(key)
        if len(batch) >= STEP:
            yield batch
            batch = []
    if batch:
        yield batch
