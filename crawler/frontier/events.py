"""What happened in a crawl, for those who were not watching: a Redis Stream that commands and servers read."""

import time
from typing import Any

from crawler.frontier.connection import load_script
from crawler.frontier.failures import Failure
from crawler.frontier.frontier import Frontier
from crawler.frontier.keyspace import read_grave

TELL_AT_ONCE = 1000  # failures: a script call of a millisecond or two
CLAIM_SECONDS = 10.0  # whoever has not told them by then is taken to be dead


async def tell_failures(frontier: Frontier) -> None:
    """Of all workers: URLs also die where no worker is asked, such as those of a host that has its pages."""
    for partition in range(frontier.keys.partitions):
        while await _tell_some(frontier, partition) == TELL_AT_ONCE:
            pass


async def _tell_some(frontier: Frontier, partition: int) -> int:
    keys, client = frontier.keys, frontier.connection.client
    arguments: list[bytes | str | int] = [keys.crawl, TELL_AT_ONCE, int(CLAIM_SECONDS * 1000)]
    found = await frontier.connection.run(load_script("untold"), keys.tag(partition), arguments)
    if not found:
        return 0
    pipeline = client.pipeline(transaction=False)
    for value in filter(None, found[1::2]):  # empty: what was dead was purged meanwhile
        failure = Failure.of(read_grave(value))
        entry: dict[Any, Any] = {"kind": "url_failed", "at": f"{failure.at:.3f}", **failure.as_record()}
        pipeline.xadd(keys.events, entry, maxlen=frontier.config.events_length, approximate=True)
    await pipeline.execute()
    await client.zrem(keys.base(partition) + "untold", *found[::2])
    return len(found) // 2


async def record(frontier: Frontier, kind: str, **fields: Any) -> None:
    entry = {"kind": kind, "at": f"{time.time():.3f}"} | {name: str(value) for name, value in fields.items()}
    await frontier.connection.client.xadd(
        frontier.keys.events,
        entry,
        maxlen=frontier.config.events_length,
        approximate=True,
    )
