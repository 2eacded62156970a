"""How is a WARC file written so that a crash costs nothing that was promised? One process appends to it, in batches.

The process holds a lock on the file as long as it lives. A file that nobody holds, and whose index is not finished, was
left behind: whoever opens the store next cuts off the record that was torn and finishes the index.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable
from pathlib import Path

from crawler.storage.page import PageInfo
from crawler.storage.warc_index import FINISHED, UNFINISHED, WARC_FILE, Entry, complete, index_path, write_line
from crawler.storage.warc_record import encode_warcinfo

LEFTOVER_SECONDS = 3600


class WarcFile:
    """Blocking: used in a thread, by one caller at a time."""

    def __init__(self, path: Path, *, sync: bool) -> None:
        self.path = path
        self.size = 0
        self._sync = sync
        self._known: set[int] = set()
        path.parent.mkdir(parents=True, exist_ok=True)
        # Locked before it has its name: no other process can take it for a leftover in between.
        unnamed = path.with_name(f".{path.name}")
        self._file = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._index = -1
        self._index_size = 0
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._index = os.open(index_path(path, UNFINISHED), flags, 0o644)
            self._append(encode_warcinfo(path.name), b"")
            os.rename(unnamed, path)
        except OSError:
            self.release()
            unnamed.unlink(missing_ok=True)
            index_path(path, UNFINISHED).unlink(missing_ok=True)
            raise

    @property
    def is_removed(self) -> bool:
        return os.fstat(self._file).st_nlink == 0

    def holds(self, info: PageInfo) -> bool:
        return hash((info.id, info.fetched_at)) in self._known

    def write(self, records: Iterable[tuple[PageInfo, bytes]]) -> None:
        """All of them, or after an error none."""
        members, lines, known = [], [], []
        offset = self.size
        for info, member in records:
            members.append(member)
            lines.append(write_line(Entry(offset, len(member), info, self.path.name)))
            known.append(hash((info.id, info.fetched_at)))
            offset += len(member)
        self._append(b"".join(members), b"".join(lines))
        self._known.update(known)

    def _append(self, members: bytes, lines: bytes) -> None:
        try:
            _write_all(self._file, members)
            if self._sync:
                os.fdatasync(self._file)
            _write_all(self._index, lines)
        except OSError:
            os.ftruncate(self._file, self.size)
            os.ftruncate(self._index, self._index_size)
            raise
        self.size += len(members)
        self._index_size += len(lines)

    def finish(self) -> None:
        """Nothing can be written any more; the lock stays until ``release``."""
        finish_index(self.path, self._file)

    def release(self) -> None:
        for file in (self._index, self._file):
            if file >= 0:
                os.close(file)


def adopt(path: Path) -> int | None:
    """A file whose process died: mended, finished, and locked by us with the descriptor that is returned. None if its
    process lives, or if there was nothing in it."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_there = path.exists() and os.fstat(file).st_ino == path.stat().st_ino
    except BlockingIOError:
        is_there = False
    if is_there and (index_path(path, FINISHED).exists() or finish_index(path, file)):
        return file
    os.close(file)
    return None


def finish_index(path: Path, file: int) -> bool:
    """Answers False, and removes the file, if it holds no page."""
    places, end = complete(path)
    unfinished, finished = index_path(path, UNFINISHED), index_path(path, FINISHED)
    if not places:
        path.unlink()
        unfinished.unlink(missing_ok=True)
        return False
    if end < os.fstat(file).st_size:
        os.ftruncate(file, end)
    os.fsync(file)
    passing = finished.with_name(f".{finished.name}")
    with unfinished.open("rb") as lines, passing.open("wb") as index:
        for place in places:
            lines.seek(place)
            index.write(lines.readline())
        index.flush()
        os.fsync(index.fileno())
    passing.rename(finished)
    unfinished.unlink(missing_ok=True)
    return True


def remove_unnamed(folder: Path) -> None:
    """Files that a process was about to give their name when it died."""
    for path in folder.glob(".*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                path.unlink()


def find_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{WARC_FILE}") if not path.name.startswith("."))


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
