"""How do many small calls become few large ones? Callers wait for their own part; the whole is bounded."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    count: int
    bytes: int
    seconds: float  # how long the first of a batch waits for others, at most
    at_once: int = 1  # batches
    # When none came for so long, none is waited for. Most pages are parsed in less; and as long as those of a visit are
    # not safe, their host waits.
    gap_seconds: float = 0.008


class Batcher(Generic[T, R]):
    """``work`` gets a list, and answers as many results in the same order; one that is an exception is raised for its
    caller. If ``work`` itself raises, all of the batch get that.
    """

    def __init__(self, work: Callable[[list[T]], Awaitable[Sequence[R | Exception]]], limits: BatchLimits) -> None:
        self._work = work
        self._limits = limits
        self._waiting: deque[tuple[T, int, asyncio.Future[R]]] = deque()
        self._waiting_bytes = 0
        self._running: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._latest = 0.0  # when something was put, in the loop's time
        self._deadline = 0.0  # for the first that waits

    def put(self, item: T, size_bytes: int = 0) -> asyncio.Future[R]:
        """No coroutine: who waits for several needs no task for each."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        self._latest = loop.time()
        self._waiting.append((item, size_bytes, future))
        self._waiting_bytes += size_bytes
        self._start_if_due()
        return future

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def flush(self) -> None:
        """Everything that was put before is done when this returns."""
        while self._waiting or self._running:
            self._start_all()
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)

    def _start_if_due(self) -> None:
        limits = self._limits
        if len(self._waiting) >= limits.count or self._waiting_bytes >= limits.bytes:
            self._start_all()
        elif self._timer is None:
            self._deadline = self._latest + limits.seconds
            self._wait_for_others()

    def _wait_for_others(self) -> None:
        start_at = min(self._latest + self._limits.gap_seconds, self._deadline)
        self._timer = asyncio.get_running_loop().call_at(start_at, self._start_or_wait)

    def _start_or_wait(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._deadline or now >= self._latest + self._limits.gap_seconds:
            self._start_all()
        else:
            self._wait_for_others()

    def _start_all(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting and len(self._running) < self._limits.at_once:
            task = asyncio.get_running_loop().create_task(self._run(self._take()))
            self._running.add(task)
            task.add_done_callback(self._end)

    def _take(self) -> list[tuple[T, asyncio.Future[R]]]:
        batch: list[tuple[T, asyncio.Future[R]]] = []
        total_bytes = 0
        while self._waiting and len(batch) < self._limits.count:
            item, size_bytes, future = self._waiting[0]
            if batch and total_bytes + size_bytes > self._limits.bytes:
                break
            self._waiting.popleft()
            self._waiting_bytes -= size_bytes
            total_bytes += size_bytes
            batch.append((item, future))
        return batch

    async def _run(self, batch: list[tuple[T, asyncio.Future[R]]]) -> None:
        try:
            results = await self._work([item for item, _ in batch])
        except BaseException as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), result in zip(batch, results, strict=True):
            if future.done():  # its caller was cancelled
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if self._waiting:  # they waited for this one to end, and that was long enough
            self._start_all()
