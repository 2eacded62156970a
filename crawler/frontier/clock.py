"""What time is it, for all machines of a crawl? What Redis says: a worker's own clock may be hours off, or be set back.

Asked by the pipeline that keeps pages, for each: of two versions of a page the one with the later time is the newer.
"""

import logging
import time

from crawler.frontier.connection import load_script
from crawler.frontier.frontier import Frontier

logger = logging.getLogger(__name__)

LOOK_SECONDS = 10.0  # between, the time is counted on from there
# Goes on while a machine sleeps, where there is such a clock.
_RUNNING = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock:
    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._next_look = 0.0
        self._began = time.time() - _running()  # of our counting, as Redis has it

    async def now_ms(self) -> int:
        if _running() >= self._next_look:
            self._next_look = _running() + LOOK_SECONDS  # others go on counting while this one asks
            await self._look()
        return int((self._began + _running()) * 1000)

    async def _look(self) -> None:
        connection, key = self._frontier.connection, self._frontier.keys.tag(0)
        seconds, microseconds = await connection.persist(
            lambda: connection.run(load_script("clock"), key, []), logger.warning
        )
        self._began = int(seconds) + int(microseconds) / 1e6 - _running()


def _running() -> float:
    return time.clock_gettime(_RUNNING)
