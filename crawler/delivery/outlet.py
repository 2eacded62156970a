"""How does one engine get everything that it should have? Straight while it is there; over the spool while it is not.

``put`` returns when its item is safe, which makes it the point of back-pressure: while the engine is away and the
spool is full it does not return, so pages are not acked, slots stay taken, and the crawl waits. A worker that is told
to stop waits no longer: ``put`` then raises SpoolFull, and the page is somebody else's to fetch again.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from crawler.delivery.batching import Batcher, BatchLimits
from crawler.delivery.spool import SEGMENT_BYTES, Segment, Spool, SpoolFull
from crawler.errors import EngineError, EngineUnavailable

logger = logging.getLogger(__name__)

T = TypeVar("T")
FIRST_PAUSE_SECONDS = 1.0  # between looks at an engine that is away: doubled each time, up to the last
LAST_PAUSE_SECONDS = 30.0
SEGMENTS_AT_ONCE = 64  # an outage of a night leaves thousands of small ones, and each that is claimed is an open file
REJECTED_FILE = "rejected.jsonl"
OLD_REJECTED_FILE = "rejected.old.jsonl"
MOST_REJECTED_BYTES = 64 * 1024 * 1024  # then the file becomes the old one: an engine may reject every page of a crawl


class Rejected(NamedTuple):
    """Something that the engine will not take, however often it is offered."""

    name: str
    error: str


class Route(NamedTuple, Generic[T]):
    """What an outlet has to know of its engine. ``send`` may be given the same item twice. It answers what it rejects,
    and raises EngineError if the rest, or a part of it, has to be offered again. ``open`` is called before the first.
    """

    name: str
    open: Callable[[], Awaitable[None]]
    send: Callable[[Sequence[T]], Awaitable[Sequence[Rejected]]]
    pack: Callable[[T], bytes]
    unpack: Callable[[bytes], T]
    # Of an engine with one writer among all processes: becomes it, if it can; and stops to be it.
    take_turn: Callable[[], Awaitable[bool]] | None = None
    end_turn: Callable[[], Awaitable[None]] | None = None


class Outlet(Generic[T]):
    def __init__(self, route: Route[T], spool: Spool, limits: BatchLimits, round_seconds: float = 1.0) -> None:
        self.name = route.name
        self.counts: Counter[str] = Counter()  # delivered, spooled, rejected
        self.is_stopping: Callable[[], bool] = lambda: False
        self.trouble = ""  # what the engine said when it was last found away; empty while it is there
        self._route = route
        self._spool = spool
        self._batcher: Batcher[T, None] = Batcher(self._deliver, limits)
        self._always_spool = route.take_turn is not None  # what is spooled reaches the one writer, whoever that is
        self._round_seconds = round_seconds
        self._is_open = False
        self._is_full = False
        self._is_turn_of_another = False
        self._room = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Raises if the engine refuses us, or the spool cannot be made; an engine that is merely away is waited for."""
        await asyncio.to_thread(self._spool.open)
        try:
            await self._open_engine()
        except EngineUnavailable as error:
            self._note_away(error)
        self._task = asyncio.get_running_loop().create_task(self._do_rounds(), name=f"{self.name}-outlet")

    @property
    def waiting(self) -> str:
        return f"{self._spool.size_bytes():,} bytes in {self._spool.directory}"

    def put(self, item: T, size_bytes: int) -> asyncio.Future[None]:
        """Done when the item is in the engine or in the spool."""
        return self._batcher.put(item, size_bytes)

    async def close(self) -> bool:
        """Answers whether all was delivered: if not, it stays in the spool."""
        await self._batcher.flush()
        self._closing.set()
        if self._task is not None:
            await self._task
        await self._drain_to_the_end()
        return await asyncio.to_thread(self._spool.is_empty)

    async def _drain_to_the_end(self) -> None:
        """Of two that end at the same time, one sees the segments of the other: who was not the writer looks for the
        lock once more after it let go of its segments, and the writer looks for segments after it let go of the lock.
        """
        take_turn, end_turn = self._route.take_turn, self._route.end_turn
        while True:
            is_drained = await self._try_to_drain()
            if is_drained and end_turn is not None:
                await end_turn()
                left = await asyncio.to_thread(self._claim)
                _release(left)
                if left:
                    continue
            elif self._is_turn_of_another and take_turn is not None and await take_turn():
                continue
            return

    # --- Straight --------------------------------------------------------------------------------

    async def _deliver(self, items: list[T]) -> Sequence[Exception | None]:
        if not self._always_spool and not self.trouble:
            results = await self._try_to_send(items)
            if results is not None:
                return results
        return await self._put_in_spool(items)

    async def _try_to_send(self, items: Sequence[T]) -> Sequence[Exception | None] | None:
        """Answers how each of them ended; None if the engine is away."""
        try:
            await self._open_engine()
            rejected = await self._route.send(items)
        except EngineError as error:
            self._note_away(error)
            return None
        except Exception as error:
            if len(items) == 1:
                logger.exception("The %s failed", self.name)
                return [error]
            results: list[Exception | None] = []
            for item in items:  # one of them may be at fault: the others shall not suffer for it
                result = await self._try_to_send([item])
                if result is None:
                    return None
                results += result
            return results
        if self.trouble:
            logger.info("The %s is back", self.name)
            self.trouble = ""
        if rejected:
            self.counts["rejected"] += len(rejected)
            await asyncio.to_thread(_set_aside, self._spool.directory / REJECTED_FILE, rejected)
            logger.error("The %s rejected %s: %s", self.name, rejected[0].name, rejected[0].error)
        self.counts["delivered"] += len(items) - len(rejected)
        return [None] * len(items)

    async def _open_engine(self) -> None:
        if not self._is_open:
            await self._route.open()
            self._is_open = True

    def _note_away(self, error: EngineError) -> None:
        if not self.trouble:
            logger.warning("The %s is away: %s. Pages wait in %s", self.name, error, self._spool.directory)
        self.trouble = str(error) or type(error).__name__

    async def _put_in_spool(self, items: Sequence[T]) -> Sequence[Exception | None]:
        records = [self._route.pack(item) for item in items]
        while True:
            try:
                await asyncio.to_thread(self._spool.append, records)
                self.counts["spooled"] += len(records)
                return [None] * len(records)
            except SpoolFull as error:
                if not self._is_full:
                    self._is_full = True
                    logger.error("The crawl waits for the %s: %s", self.name, error)
                if self.is_stopping():
                    return [error] * len(items)
            await self._wait_for_room()
            # With no room on the disk the engine may still be there, or again.
            if not self._always_spool and (results := await self._try_to_send(items)) is not None:
                return results

    async def _wait_for_room(self) -> None:
        self._room.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._room.wait(), FIRST_PAUSE_SECONDS)

    # --- Over the spool --------------------------------------------------------------------------

    async def _do_rounds(self) -> None:
        pause_seconds = self._round_seconds
        while not await self._is_closed_within(pause_seconds):
            if await self._try_to_drain() or not self.trouble:
                pause_seconds = self._round_seconds
            else:
                pause_seconds = min(max(pause_seconds * 2, FIRST_PAUSE_SECONDS), LAST_PAUSE_SECONDS)

    async def _is_closed_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._closing.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _try_to_drain(self) -> bool:
        """Whatever happens, another round follows: this is the only way out of the spool."""
        try:
            await asyncio.to_thread(self._spool.end_segment)
            return await self.drain()
        except Exception:
            logger.exception("The %s could not be given what waits in %s", self.name, self._spool.directory)
            return False

    async def drain(self) -> bool:
        """Delivers what is spooled, by whatever process. Answers False if it cannot: the engine is away, or another
        process is its writer.
        """
        while segments := await asyncio.to_thread(self._claim):
            try:
                is_delivered = await self._send_segments(segments)
            except BaseException:
                _release(segments)
                raise
            if not is_delivered:
                _release(segments)
                return False
            self._is_full = False
            self._room.set()
        return True

    async def _send_segments(self, segments: Sequence[Segment]) -> bool:
        try:
            self._is_turn_of_another = self._route.take_turn is not None and not await self._route.take_turn()
        except EngineError as error:
            self._note_away(error)
            return False
        if self._is_turn_of_another:
            return False
        items, spoilt = await asyncio.to_thread(self._read, segments)
        results = await self._try_to_send(items) if items else []
        if results is None:
            return False
        for segment in segments:
            if segment in spoilt or any(results):
                segment.put_aside()
            else:
                segment.delete()
        return True

    def _claim(self) -> list[Segment]:
        """As many as can be delivered together."""
        claimed: list[Segment] = []
        size_bytes = 0
        try:
            for segment in self._spool.claim():
                claimed.append(segment)
                size_bytes += segment.path.stat().st_size
                if size_bytes >= SEGMENT_BYTES or len(claimed) >= SEGMENTS_AT_ONCE:
                    break
        except BaseException:
            _release(claimed)
            raise
        return claimed

    def _read(self, segments: Sequence[Segment]) -> tuple[list[T], list[Segment]]:
        """What is in them; and those that are damaged, or hold something that this program does not understand."""
        items: list[T] = []
        spoilt: list[Segment] = []
        for segment in segments:
            for record in segment.records():
                try:
                    items.append(self._route.unpack(record))
                except ValueError as error:
                    logger.error("%s has a record that cannot be read: %s", segment.path, error)
                    spoilt.append(segment)
            if segment.is_spoilt:
                logger.error("%s is damaged: what follows the damage is not delivered", segment.path)
                spoilt.append(segment)
        return items, spoilt


def _release(segments: Sequence[Segment]) -> None:
    for segment in segments:
        segment.release()


def _set_aside(path: Path, rejected: Sequence[Rejected]) -> None:
    try:
        if path.exists() and path.stat().st_size >= MOST_REJECTED_BYTES:
            path.replace(path.with_name(OLD_REJECTED_FILE))
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            for name, error in rejected:
                file.write(json.dumps({"at": round(time.time(), 3), "name": name, "error": error[:2000]}) + "\n")
    except OSError as error:
        logger.error("%s cannot be written: %s; %d rejections are only in this log", path, error, len(rejected))
