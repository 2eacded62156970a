"""What waits on disk for an engine that is away? Records in segment files of one directory, shared by all processes.

A process appends to a segment of its own, which it holds locked. When the segment is full, or its process ends or
dies, the lock is gone, and whoever delivers takes it: reads it, sends what is in it, and deletes it. A process that
dies while it delivers leaves the segment behind: it is delivered again, which is why engines must not mind that.

A record is its length, a checksum and its bytes. The last one of a process that died may be torn: it was not safe
yet, nobody was told so, and it is left out. One that is whole and wrong was safe once, and so may be what follows it:
such a segment is not deleted.
"""

import fcntl
import itertools
import os
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crawler.errors import ConfigurationError, OrbweaverError

SEGMENT_BYTES = 16 * 1024 * 1024
SUFFIX = ".spool"
ASIDE_SUFFIX = ".aside"
MAX_RECORD_BYTES = 1 << 30
_HEADER = struct.Struct("<II")
_LOOK_SECONDS = 1.0  # what other processes have spooled is looked at this often
_numbers = itertools.count()


class SpoolFull(OrbweaverError):
    """Nothing was written: there is no room, on the disk or in the limit."""


@dataclass(slots=True)
class Segment:
    """Claimed: nobody else delivers it, and nobody writes it any more."""

    path: Path
    file: int
    is_spoilt: bool = False  # known when its records have been read

    def records(self) -> Iterator[bytes]:
        with os.fdopen(os.dup(self.file), "rb") as file:
            file.seek(0)
            while len(header := file.read(_HEADER.size)) == _HEADER.size:
                length, checksum = _HEADER.unpack(header)
                self.is_spoilt = length > MAX_RECORD_BYTES
                record = b"" if self.is_spoilt else file.read(length)
                if len(record) != length:
                    return
                self.is_spoilt = zlib.crc32(record) != checksum
                if self.is_spoilt:
                    return
                yield record

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)
        self.release()

    def put_aside(self) -> None:
        """Something in it could not be delivered, and trying again would not help: kept for a person to look at."""
        self.path.rename(self.path.with_suffix(ASIDE_SUFFIX))
        self.release()

    def release(self) -> None:
        """Also of one that is released already, whose number may be another file's by now."""
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)


class Spool:
    """Its methods may be called from any thread."""

    def __init__(self, directory: Path, most_bytes: int, *, sync: bool = False) -> None:
        self.directory = directory
        self.most_bytes = most_bytes
        self._sync = sync  # records survive also a loss of power
        self._lock = threading.Lock()
        self._file: int | None = None
        self._path: Path | None = None
        self._written = 0  # in the open segment
        self._known_bytes = 0  # of all segments, at the last look
        self._next_look = 0.0

    def open(self) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f"{self.directory} cannot be made: {error}; set DATA_DIR to a directory that you can write to"
            ) from error

    # --- In --------------------------------------------------------------------------------------

    def append(self, records: Sequence[bytes]) -> None:
        """All of them or, if it raises SpoolFull, none."""
        packed = b"".join(_HEADER.pack(len(record), zlib.crc32(record)) + record for record in records)
        with self._lock:
            self._append(packed)
            if self._written >= SEGMENT_BYTES:
                self._end_segment()

    def _append(self, packed: bytes) -> None:
        try:
            # What is larger than the limit by itself has to pass when it is alone: it would wait for ever otherwise.
            known_bytes = self.size_bytes()
            if known_bytes and known_bytes + len(packed) > self.most_bytes:
                raise SpoolFull(f"{self.directory} holds {self.most_bytes:,} bytes, which is all it may (SPOOL_BYTES)")
            file = self._open_segment()
            view = memoryview(packed)
            while view:
                view = view[os.write(file, view) :]
            if self._sync:
                os.fdatasync(file)
        except OSError as error:
            if self._file is not None:
                os.ftruncate(self._file, self._written)
                os.lseek(self._file, self._written, os.SEEK_SET)
            raise SpoolFull(f"{self.directory} cannot be written: {error}") from error
        self._written += len(packed)
        self._known_bytes += len(packed)

    def _open_segment(self) -> int:
        if self._file is not None and os.fstat(self._file).st_nlink == 0:
            # Somebody removed it, perhaps with its directory: what is written there is gone when it is closed.
            self._end_segment()
        if self._file is None:
            self.directory.mkdir(parents=True, exist_ok=True)
            name = f"{time.time_ns():020}-{os.getpid()}-{next(_numbers)}"
            path = self.directory / f"{name}{SUFFIX}"
            # Locked before it has the name by which others find it: an empty segment without a lock is cleared away.
            unnamed = self.directory / f"{name}.new"
            file = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                unnamed.rename(path)
            except OSError:
                os.close(file)
                unnamed.unlink(missing_ok=True)
                raise
            self._file, self._path, self._written = file, path, 0
        return self._file

    def end_segment(self) -> None:
        """What was appended so far may be delivered, by this process or by another."""
        with self._lock:
            self._end_segment()

    def _end_segment(self) -> None:
        if self._file is not None:
            if self._written == 0 and self._path is not None:
                self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file, self._path, self._written = None, None, 0

    # --- Out -------------------------------------------------------------------------------------

    def claim(self) -> Iterator[Segment]:
        """Segments that nobody writes or delivers, the oldest first. Each has to be deleted or released."""
        for path in self._paths():
            try:
                file = os.open(path, os.O_RDWR)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                continue
            if not path.exists():  # delivered and deleted while we opened it
                os.close(file)
                continue
            yield Segment(path, file)

    def size_bytes(self) -> int:
        """Of all processes; a second old at most."""
        now = time.monotonic()
        if now >= self._next_look:
            self._known_bytes = sum(_size(path) for path in self._paths())
            self._next_look = now + _LOOK_SECONDS
        return self._known_bytes

    def count(self) -> int:
        return len(self._paths())

    def is_empty(self) -> bool:
        return self._written == 0 and not any(_size(path) for path in self._paths())

    def _paths(self) -> list[Path]:
        try:
            with os.scandir(self.directory) as entries:
                return sorted(Path(entry.path) for entry in entries if entry.name.endswith(SUFFIX))
        except FileNotFoundError:
            return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
