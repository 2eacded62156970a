"""What happened in a crawl, for those who were not watching: a Redis Stream that commands and servers read."""

import time
from collections.abc import Sequence
from typing import Any

from crawler.frontier.failures import Failure
from crawler.frontier.frontier import Frontier


async def record_failures(frontier: Frontier, failures: Sequence[Failure]) -> None:
    pipeline = frontier.connection.client.pipeline(transaction=False)
    for failure in failures:
        entry: dict[Any, Any] = {"kind": "url_failed", "at": f"{failure.at:.3f}", **failure.as_record()}
        pipeline.xadd(frontier.keys.events, entry, maxlen=frontier.config.events_length, approximate=True)
    await pipeline.execute()


async def record(frontier: Frontier, kind: str, **fields: Any) -> None:
    entry = {"kind": kind, "at": f"{time.time():.3f}"} | {name: str(value) for name, value in fields.items()}
    await frontier.connection.client.xadd(
        frontier.keys.events,
        entry,
        maxlen=frontier.config.events_length,
        approximate=True,
    )
