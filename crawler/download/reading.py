"""Is this body worth waiting for? Reads it as it comes in, and gives up when it is too large or too slow."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import StreamReader

from crawler.download.decoding import Decoding
from crawler.download.errors import TooLarge


@dataclass(slots=True)
class Body:
    """``limit_bytes`` is for what was decoded, ``raw_limit_bytes`` for what came over the wire; 0 is no limit."""

    limit_bytes: int
    raw_limit_bytes: int
    raw_bytes: int = 0
    _pieces: list[bytes] = field(default_factory=list)
    _decoding: Decoding | None = None

    def use_encodings(self, names: list[str]) -> None:
        if names:
            self._decoding = Decoding(names, self._pieces.append, self.limit_bytes)

    def feed(self, data: bytes) -> None:
        self.raw_bytes += len(data)
        self.expect(self.raw_bytes)
        if self._decoding is None:
            self._pieces.append(data)
        else:
            self._decoding.feed(data)

    def expect(self, raw_bytes: int) -> None:
        """A server that says beforehand how much it will send is believed."""
        limits = [self.raw_limit_bytes] if self._decoding else [self.raw_limit_bytes, self.limit_bytes]
        limit = min((limit for limit in limits if limit), default=0)
        if limit and raw_bytes > limit:
            raise TooLarge(f"the body has {raw_bytes} bytes or more; the limit is {limit}")

    @property
    def is_encoded(self) -> bool:
        return self._decoding is not None

    @property
    def is_complete(self) -> bool:
        return self._decoding is None or self._decoding.is_complete

    @property
    def data(self) -> bytes:
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)


@dataclass(slots=True)
class Pace:
    """So many bytes in so many seconds, over and over; the timeout strikes when a window ends without them."""

    timeout: asyncio.Timeout
    window_bytes: float
    window_seconds: float
    _is_open: bool = False
    _deadline: float | None = None  # of the whole download, when there is one
    _received: int = 0

    def begin(self) -> None:
        if self.window_bytes:
            self._is_open, self._deadline = True, self.timeout.when()
            self._open_window()

    def note(self, received: int) -> None:
        self._received += received
        if self._is_open and self._received >= self.window_bytes:
            self._open_window()

    @property
    def is_too_slow(self) -> bool:
        """Asked when the timeout struck: for this, or because all the time there is was up?"""
        return self._is_open and self.timeout.when() != self._deadline

    def _open_window(self) -> None:
        self._received = 0
        end = asyncio.get_running_loop().time() + self.window_seconds
        self.timeout.reschedule(end if self._deadline is None else min(end, self._deadline))


async def read(stream: StreamReader, body: Body, pace: Pace, receive: Callable[[bytes], bool]) -> None:
    """To the end, unless ``receive`` says of a piece that it was enough."""
    if not stream.is_eof():
        pace.begin()
    while data := await stream.readany():
        body.feed(data)
        pace.note(len(data))
        if receive(data):
            return
