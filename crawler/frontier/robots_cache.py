"""robots.txt files that one worker fetched, for all workers and until they are a day old."""

import asyncio
import time
from typing import cast

from crawler.frontier.frontier import Frontier
from crawler.robots.answer import DISALLOW_ALL

# Kept for a host whose file could not be had. The comment tells it from a file that says the same.
UNREACHABLE = "# this robots.txt could not be had\n" + DISALLOW_ALL
# Kept somewhat longer than it is valid, so that who was told "known" a moment ago still finds it.
GRACE_SECONDS = 3600.0
FAILURES_MEMORY_SECONDS = 3600


class RobotsCache:
    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier

    async def load(self, hosts: list[str]) -> dict[str, tuple[str, float]]:
        """Of those that are there: the text, and for how many more seconds it is valid, perhaps below 0."""
        client = self._frontier.connection.client
        values = await asyncio.gather(*(client.get(self._key("robots", host)) for host in hosts))
        found = {}
        for host, value in zip(hosts, values, strict=True):
            if value is not None:
                expires, _, text = cast(bytes, value).decode(errors="replace").partition("\n")
                found[host] = (text, float(expires) - time.time() if expires.isdigit() else 0.0)
        return found

    async def keep(self, host: str, text: str, seconds: float) -> None:
        client = self._frontier.connection.client
        value = f"{int(time.time() + seconds)}\n{text}".encode(errors="replace")
        await client.set(self._key("robots", host), value, px=int((seconds + GRACE_SECONDS) * 1000))
        await client.delete(self._key("robots-failures", host))

    async def count_failure(self, host: str) -> int:
        """How often it could not be had, this time included."""
        client, key = self._frontier.connection.client, self._key("robots-failures", host)
        number = int(await client.incr(key))
        await client.expire(key, FAILURES_MEMORY_SECONDS)
        return number

    async def claim(self, host: str, seconds: float) -> bool:
        """One worker fetches, the others wait. Visits of the frontier need no claim: they are one at a time."""
        key = self._key("robots-claim", host)
        return bool(await self._frontier.connection.client.set(key, 1, nx=True, px=int(seconds * 1000)))

    async def disclaim(self, host: str) -> None:
        await self._frontier.connection.client.delete(self._key("robots-claim", host))

    def _key(self, name: str, host: str) -> str:
        keys = self._frontier.keys
        return f"{keys.tag(keys.partition(host))}:{name}:{host}"
