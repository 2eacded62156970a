"""Why did a crawl end? The last worker says so in the crawl's events; the frontier tells the rest."""

from typing import Any

from crawler.frontier.frontier import Frontier
from crawler.frontier.messages import Status
from crawler.progress.summary import REASONS

_LOOK_BACK = 1000  # events


async def last_event(frontier: Frontier) -> str:
    """The place in the event stream where this run begins."""
    newest: Any = await frontier.connection.client.xrevrange(frontier.keys.events, count=1)
    return newest[0][0].decode() if newest else "0-0"


async def find_reason(frontier: Frontier, since: str, status: Status) -> str:
    """One of REASONS. ``since`` is an event of before this run."""
    events: Any = await frontier.connection.client.xrevrange(frontier.keys.events, min=f"({since}", count=_LOOK_BACK)
    for _, fields in events:
        if fields.get(b"kind") == b"finished":
            reason = fields.get(b"reason", b"").decode()
            if reason in REASONS:
                return str(reason)
    return _guess(status, frontier.config.max_pages)


def _guess(status: Status, max_pages: int) -> str:
    """For workers that could not say it any more."""
    if status.state == "draining":
        return "drained"
    if max_pages and status.count("pages") >= max_pages:
        return "max_pages"
    if status.is_finished:
        return status.end_reason
    return "unknown"


async def count_hosts(frontier: Frontier) -> int:
    """Hosts with at least one page."""
    client, keys = frontier.connection.client, frontier.keys
    numbers = [await client.hlen(keys.base(partition) + "pages") for partition in range(keys.partitions)]
    return sum(numbers)
