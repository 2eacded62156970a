"""Is the crawl over, and why? Asked by a worker that has nothing to do, at most once a second."""

from crawler.frontier import events
from crawler.frontier.budget import Budget
from crawler.frontier.frontier import Frontier
from crawler.frontier.start_urls import StartUrls


class Ending:
    def __init__(self, frontier: Frontier, budget: Budget, start_urls: StartUrls, worker: str) -> None:
        self.reason: str | None = None  # of the end, once it is known
        self._frontier = frontier
        self._budget = budget
        self._start_urls = start_urls
        self._worker = worker
        self._last_look: tuple[int, ...] | None = None

    async def look(self, state: str) -> None:
        """``state`` is what the last lease said of the crawl."""
        if state == "draining":
            await self._end("drained")
            return
        if await self._budget.is_spent():
            await self._end("max_pages")
            return
        if self._frontier.config.keep_alive or state:
            return
        status = await self._frontier.status()
        if status.state:  # said since our last lease, or we never asked for one: the engine was still starting
            return
        look = tuple(status.count(name) for name in ("accepted", "done", "dead", "pages", "unchanged"))
        # Partitions are not looked at in one moment: a link may have moved from one not yet seen to one already seen.
        is_settled = self._frontier.keys.partitions == 1 or look == self._last_look
        self._last_look = look
        if status.is_finished and is_settled and await self._start_urls.is_empty(self._frontier):
            await self._end(status.end_reason)
        elif self.reason in {"finished", "blocked"}:
            self.reason = None  # somebody else, such as scrapy-redis, kept the spider open for this

    async def _end(self, reason: str) -> None:
        if self.reason is None:
            await events.tell_failures(self._frontier)  # who reads the events stops at the end
            self.reason = reason
            await events.record(self._frontier, "finished", reason=reason, worker=self._worker)
