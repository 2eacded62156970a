"""What is inside an encoded body? Decoded as it comes in, in bounded steps: a few kilobytes that unfold into
gigabytes are found out after the first megabytes, and nothing larger than a step is ever made of one piece.

The last of ``Content-Encoding`` was applied last and is undone first (RFC 9110 section 8.4).
"""

import zlib
from collections.abc import Callable
from typing import Protocol

import brotli
from backports import zstd

from crawler.download.errors import BadAnswer, TooLarge

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
MAX_ENCODINGS = 3  # real servers stack two by mistake; more is an attack
_STEP_BYTES = 64 * 1024
_ZSTD_WINDOW_LOG = 23  # RFC 8878 and RFC 9659: 8 MB, or a server decides how much memory we need
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

Write = Callable[[bytes], None]


class Decoder(Protocol):
    def feed(self, data: bytes) -> None: ...

    @property
    def is_complete(self) -> bool:
        """Whether the stream ended where its own format says that it ends."""
        ...


def split_encodings(header: list[bytes]) -> tuple[list[str], list[str]]:
    """What can be undone, in the order to do it, and what remains, in the order of the header."""
    names = [name.strip().lower() for name in b",".join(header).decode("latin-1").split(",")]
    remaining = [name for name in names if name and name != "identity"]
    if len(remaining) > MAX_ENCODINGS:
        raise BadAnswer(f"the body has {len(remaining)} encodings, one in the other; {MAX_ENCODINGS} are undone")
    undone = []
    while remaining and remaining[-1] in _DECODERS:
        undone.append(remaining.pop())
    return undone, remaining


class Decoding:
    """A chain of decoders, each with the same limit on what comes out of it; 0 is no limit."""

    def __init__(self, encodings: list[str], write: Write, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._decoders: list[Decoder] = []
        for name in reversed(encodings):
            decoder = _DECODERS[name](self._limited(write, name))
            self._decoders.insert(0, decoder)
            write = decoder.feed

    def feed(self, data: bytes) -> None:
        try:
            self._decoders[0].feed(data)
        except (zlib.error, brotli.error, zstd.ZstdError, ValueError) as error:
            raise BadAnswer(f"the body is not what its Content-Encoding says: {error}") from error

    @property
    def is_complete(self) -> bool:
        return all(decoder.is_complete for decoder in self._decoders)

    def _limited(self, write: Write, name: str) -> Write:
        limit_bytes, written = self._limit_bytes, 0

        def count(data: bytes) -> None:
            nonlocal written
            written += len(data)
            if limit_bytes and written > limit_bytes:
                raise TooLarge(f"the {name} body unfolds into more than {limit_bytes} bytes")
            write(data)

        return count


class _Gzip:
    """One member after the other, as the format has it; what follows the last one and is none is ignored, as all do."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._inflate = zlib.decompressobj(wbits=31)
        self._is_fresh = True
        self._is_over = False
        self._start = b""  # of what may be the next member

    @property
    def is_complete(self) -> bool:
        return self._is_over or self._is_fresh or self._inflate.eof

    def feed(self, data: bytes) -> None:
        while data and not self._is_over:
            if self._inflate.eof:
                data, self._start = self._start + data, b""
                if len(data) < len(_GZIP_MAGIC):
                    self._start = data
                    return
                if not data.startswith(_GZIP_MAGIC):
                    self._is_over = True
                    return
                self._inflate = zlib.decompressobj(wbits=31)
            self._is_fresh = False
            _inflate(self._inflate, data, self._write)
            data = self._inflate.unused_data


class _Deflate:
    """Both kinds: with the zlib header, as the standard says, and without, as some servers send it."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._inflate = zlib.decompressobj()
        self._is_fresh = True
        self._start = b""

    @property
    def is_complete(self) -> bool:
        return self._inflate.eof or (self._is_fresh and not self._start)

    def feed(self, data: bytes) -> None:
        if self._is_fresh:
            data = self._start + data
            if len(data) < 2:
                self._start = data
                return
            self._is_fresh = False
            # RFC 1950 section 2.2: the method is 8, and the two bytes together are a multiple of 31.
            if data[0] & 0x0F != 8 or (data[0] << 8 | data[1]) % 31:
                self._inflate = zlib.decompressobj(wbits=-15)
        if not self._inflate.eof:
            _inflate(self._inflate, data, self._write)


def _inflate(inflate: "zlib._Decompress", data: bytes, write: Write) -> None:
    """All of the data, or up to the end of the stream in it."""
    while True:
        decoded = inflate.decompress(data, _STEP_BYTES)
        if decoded:
            write(decoded)
        data = inflate.unconsumed_tail
        # A full step may have left something inside, even when all that went in was used up.
        if inflate.eof or (not data and len(decoded) < _STEP_BYTES):
            return


class _Brotli:
    def __init__(self, write: Write) -> None:
        self._write = write
        self._decompressor = brotli.Decompressor()
        self._is_fresh = True

    @property
    def is_complete(self) -> bool:
        return self._is_fresh or self._decompressor.is_finished()

    def feed(self, data: bytes) -> None:
        while not self._decompressor.is_finished():
            self._is_fresh = False
            decoded = self._decompressor.process(data, output_buffer_limit=_STEP_BYTES)
            data = b""
            if decoded:
                self._write(decoded)
            elif self._decompressor.can_accept_more_data():  # by itself not enough: it may have kept some output
                return


class _Zstd:
    """One frame after the other, as with gzip."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._decompressor = self._new()
        self._is_fresh = True
        self._is_over = False

    @staticmethod
    def _new() -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})

    @property
    def is_complete(self) -> bool:
        return self._is_over or self._is_fresh or self._decompressor.eof

    def feed(self, data: bytes) -> None:
        while not self._is_over:
            if self._decompressor.eof:
                if not data:
                    return
                if not data.startswith(_ZSTD_MAGIC[: len(data)]):
                    self._is_over = True
                    return
                self._decompressor = self._new()
            self._is_fresh = False
            decoded = self._decompressor.decompress(data, _STEP_BYTES)
            data = self._decompressor.unused_data if self._decompressor.eof else b""
            if decoded:
                self._write(decoded)
            if not data and (self._decompressor.eof or self._decompressor.needs_input):
                return


_DECODERS: dict[str, Callable[[Write], Decoder]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
