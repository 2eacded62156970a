"""Which URLs did somebody push into the spider's Redis list? The worker asks once a second.

As scrapy-redis has it: a list, a set or a sorted set, named by ``redis_key`` or ``REDIS_START_URLS_KEY``. Unlike there,
an entry is read, put into the frontier, and only then removed: a crash in between costs a duplicate, not a URL.
"""

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

from crawler.errors import BadUrl, OrbweaverError
from crawler.frontier.frontier import Frontier
from crawler.frontier.messages import Link
from crawler.frontier.reasons import Drop
from crawler.frontier.scope import Scope
from crawler.frontier.seeds import Seed, plant, read_seed

logger = logging.getLogger(__name__)

LOCK_MS = 10_000
# Makes links of an entry itself: what a scrapy-redis spider does in make_request_from_data.
Reader = Callable[[bytes], Sequence[Link]]


class StartUrls:
    def __init__(self, key: str, batch: int, reader: Reader | None = None) -> None:
        self.key = key
        self._batch = batch
        self._reader = reader
        self._complained = False

    async def is_empty(self, frontier: Frontier) -> bool:
        return not await frontier.connection.client.exists(self.key)

    async def read(self, frontier: Frontier, scope: Scope) -> int:
        """Moves a batch into the frontier; answers how many entries that were."""
        client: Any = frontier.connection.client
        kind = (await client.type(self.key)).decode()
        if kind == "none":
            return 0
        # One worker at a time: requests that ask not to be filtered would be queued by each that reads them.
        lock = f"{self.key}:reader"
        if not await client.set(lock, 1, nx=True, px=LOCK_MS):
            return 0
        try:
            return await self._read(client, kind, frontier, scope)
        finally:
            await client.delete(lock)

    async def _read(self, client: Any, kind: str, frontier: Frontier, scope: Scope) -> int:
        if kind == "list":
            entries = await client.lrange(self.key, 0, self._batch - 1)
        elif kind == "set":
            entries = await client.srandmember(self.key, self._batch)
        elif kind == "zset":
            entries = await client.zrevrange(self.key, 0, self._batch - 1)
        else:
            if not self._complained:
                self._complained = True
                logger.error("%s is a %s: push start URLs into a list, a set or a sorted set", self.key, kind)
            return 0
        rejected = await self._move(frontier, scope, entries)
        if rejected:
            await client.rpush(f"{self.key}:rejected", *rejected)
        pipeline = client.pipeline(transaction=False)
        for entry in entries:
            if kind == "list":
                pipeline.lrem(self.key, 1, entry)
            elif kind == "set":
                pipeline.srem(self.key, entry)
            else:
                pipeline.zrem(self.key, entry)
        await pipeline.execute()
        return len(entries)

    async def _move(self, frontier: Frontier, scope: Scope, entries: list[bytes]) -> list[str]:
        seeds: list[Seed] = []
        links: list[Link] = []
        rejected: list[str] = []
        for entry in entries:
            try:
                if self._reader is not None:
                    links += self._reader(entry)
                else:
                    seed = read_seed(entry)
                    scope.check_seed(seed.url)
                    seeds.append(seed)
            except Exception as error:
                # A user's make_request_from_data may raise anything; the entry must not come again for ever.
                reason = error.reason if isinstance(error, BadUrl) else Drop.BAD_URL
                level = logging.WARNING if isinstance(error, OrbweaverError) else logging.ERROR
                logger.log(level, "Rejected from %s: %s", self.key, error)
                rejected.append(_describe(entry, reason, str(error)))
        if seeds:
            await plant(frontier, seeds, scope)
        if links:
            await scope.share(frontier)
            await frontier.push(links)
        return rejected


def _describe(entry: bytes, reason: str, message: str) -> str:
    return json.dumps({"entry": entry.decode(errors="replace"), "reason": str(reason), "message": message})
