"""How many more pages may the crawl fetch? Kept by workers only when ``MAX_PAGES`` is set; see ``budget.lua``."""

from crawler.frontier.connection import load_script
from crawler.frontier.frontier import Frontier
from crawler.frontier.workers import is_alive

_RESERVED = "reserved:"


class Budget:
    def __init__(self, frontier: Frontier, worker: str) -> None:
        self._frontier = frontier
        self._worker = worker
        self.cap = frontier.config.max_pages

    async def reserve(self, wanted: int) -> int:
        """Pages granted; less than wanted when little is left."""
        if not self.cap:
            return wanted
        return int(await self._run("reserve", self._worker, wanted, self.cap))

    async def settle(self, pages: int, given_back: int) -> None:
        if self.cap and (pages or given_back):
            await self._run("settle", self._worker, pages, given_back)

    async def is_spent(self) -> bool:
        """Asked by a worker that holds nothing. Also frees what workers that died had reserved, so that the rest can
        fetch it, and what this one reserved with a lease whose answer was lost.
        """
        if not self.cap:
            return False
        connection, keys = self._frontier.connection, self._frontier.keys
        record = await connection.client.hgetall(keys.budget)
        values = {name.decode(): int(value) for name, value in record.items()}
        for name, reserved in values.items():
            worker = name.removeprefix(_RESERVED)
            if worker == name or not reserved:
                continue
            if worker == self._worker or not await is_alive(connection, keys, worker):
                await self._run("forget", worker)
        return values.get("spent", 0) >= self.cap

    async def _run(self, act: str, *arguments: str | int) -> int:
        answer = await self._frontier.connection.run(
            load_script("budget"), self._frontier.keys.budget, [act, *arguments]
        )
        return int(answer)
