"""What happened in a crawl, for those who were not watching: a Redis Stream that commands and servers read."""

import time
from typing import Any

from crawler.frontier.frontier import Frontier


async def record(frontier: Frontier, kind: str, **fields: Any) -> None:
    entry = {"kind": kind, "at": f"{time.time():.3f}"} | {name: str(value) for name, value in fields.items()}
    await frontier.connection.client.xadd(
        frontier.keys.events,
        entry,
        maxlen=frontier.config.events_length,
        approximate=True,
    )
