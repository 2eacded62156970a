"""How are files kept in a directory? Whole or not at all, by one thread per batch, and never outside of it.

A file is written under a name of its own in ``.tmp`` and then linked or renamed to its place: in one step, so that
whoever lists the directory, also with other tools, sees whole files only. One folder for all that is unfinished,
because what a killed process left behind can then be found without looking through millions of names. It lies in the
same file system as the rest, or renaming would not work.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import socket
import stat
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import TypeVar

from crawler.errors import Damaged, EngineRefused
from crawler.storage.disk_errors import explain
from crawler.storage.objects import Blob, Kept

UNFINISHED = ".tmp"
LEFTOVER_SECONDS = 3600  # writing a file takes no hour, so one this old was left by a process that died
TURNS = ".turns"
LIST_AT_ONCE = 1000

_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}  # vfat, and some network file systems
_T = TypeVar("_T")


class DirectoryObjects:
    def __init__(self, root: Path, *, sync: bool) -> None:
        self.root = root
        self._sync = sync
        self._serial = count()
        self._owner = f"{socket.gethostname()[:40]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._checked_folders: set[Path] = set()

    async def open(self) -> None:
        await self._in_thread(self._open)

    async def create(self, blobs: Sequence[Blob]) -> list[bool]:
        return await self._in_thread(lambda: self._write(blobs, overwrite=False))

    async def replace(self, blob: Blob, version: str = "") -> bool:
        return await self._in_thread(lambda: self._replace(blob, version))

    async def read(self, key: str, limit_bytes: int, *, start: int = 0, whole: bool = True) -> Kept | None:
        return await self._in_thread(lambda: self._read(key, limit_bytes, start=start, whole=whole))

    async def read_heads(self, keys: Sequence[str], head_bytes: int) -> list[bytes | None]:
        def read() -> list[bytes | None]:
            found = (self._read(key, head_bytes, whole=False) for key in keys)
            return [None if kept is None else kept.data for kept in found]

        return await self._in_thread(read)

    async def copy(self, key: str, target: str) -> None:
        def copy() -> None:
            kept = self._read(key, 1 << 40)
            if kept is not None:
                self._write([Blob(target, kept.data)], overwrite=True)

        await self._in_thread(copy)

    async def delete(self, key: str) -> None:
        def delete() -> None:
            with contextlib.suppress(FileNotFoundError):
                self._locate(key).unlink()

        await self._in_thread(delete)

    async def list_keys(self, folder: str) -> AsyncIterator[Sequence[str]]:
        keys = self._walk(self._locate(f"{folder}/x").parent if folder else self.root)
        while some := await self._in_thread(lambda: list(islice(keys, LIST_AT_ONCE))):
            yield some

    async def list_folders(self, folder: str) -> list[str]:
        def find() -> list[str]:
            try:
                with os.scandir(self._locate(f"{folder}/x").parent) as entries:
                    return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
            except FileNotFoundError:
                return []

        return await self._in_thread(find)

    async def upload(self, path: Path, key: str) -> None:
        """Moves it, since it is in the same file system, or nearly always is."""

        def move() -> None:
            target = self._locate(key)
            self._make_folder(target.parent)
            os.replace(path, target)

        await self._in_thread(move)

    async def close(self) -> None:
        pass

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise explain(error, self.root) from error

    # --- In the thread -----------------------------------------------------------------------

    def _open(self) -> None:
        unfinished = self.root / UNFINISHED
        unfinished.mkdir(parents=True, exist_ok=True)
        (self.root / UNFINISHED / f"{self._owner}-{next(self._serial)}").touch()
        now = time.time()
        with os.scandir(unfinished) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # another worker, cleaning as well
                    if entry.name == TURNS:
                        continue
                    is_own = entry.name.startswith(f"{self._owner}-")
                    if is_own or now - entry.stat(follow_symlinks=False).st_mtime > LEFTOVER_SECONDS:
                        os.unlink(entry.path)

    def _replace(self, blob: Blob, version: str) -> bool:
        if not version:
            self._write([blob], overwrite=True)
            return True
        # Looking and replacing are two steps, so those who do both take turns.
        lock = os.open(self.root / UNFINISHED / TURNS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = self._read(blob.key, 0, whole=False)
            if kept is None or kept.version != version:
                return False
            self._write([blob], overwrite=True)
            return True
        finally:
            os.close(lock)

    def _write(self, blobs: Sequence[Blob], *, overwrite: bool) -> list[bool]:
        unfinished: list[Path] = []
        try:
            for blob in blobs:
                unfinished.append(self.root / UNFINISHED / f"{self._owner}-{next(self._serial)}")
                self._write_file(unfinished[-1], blob.data)
            if self._sync:  # all are on their way to the disk by now: the first waits for most of them
                for path in unfinished:
                    _sync(path)
            targets = [self._locate(blob.key) for blob in blobs]
            for folder in {target.parent for target in targets}:
                self._make_folder(folder)
            moves = zip(unfinished, targets, strict=True)
            written = [self._move(path, target, overwrite=overwrite) for path, target in moves]
            if self._sync:
                for folder in {target.parent for target in targets}:
                    _sync(folder)
            return written
        finally:
            for path in unfinished:
                with contextlib.suppress(OSError):
                    os.unlink(path)

    def _write_file(self, path: Path, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            file = os.open(path, flags, 0o644)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, flags, 0o644)
        try:
            rest = memoryview(data)
            while rest:  # a disk that is nearly full takes a part first, and tells at the next
                rest = rest[os.write(file, rest) :]
        finally:
            os.close(file)

    def _move(self, path: Path, target: Path, *, overwrite: bool) -> bool:
        if overwrite:
            os.replace(path, target)
            return True
        try:
            os.link(path, target, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            if os.path.lexists(target):
                return False
            os.replace(path, target)
        return True

    def _read(self, key: str, limit_bytes: int, *, start: int = 0, whole: bool = True) -> Kept | None:
        path = self._locate(key)
        try:
            # O_NONBLOCK: a pipe in the place of a file must not make us wait.
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with open(file, "rb", buffering=0) as stream:
            state = os.fstat(file)
            if not stat.S_ISREG(state.st_mode):
                raise Damaged(f"{path} is damaged: it is no file")
            if whole and state.st_size - start > limit_bytes:
                raise Damaged(f"{path} is damaged: it has {state.st_size} bytes, and {limit_bytes} are the most it may")
            stream.seek(start)
            wanted = min(limit_bytes, max(state.st_size - start, 0))
            parts = []
            while wanted and (part := stream.read(wanted)):
                parts.append(part)
                wanted -= len(part)
            return Kept(b"".join(parts), _version(state))

    def _locate(self, key: str) -> Path:
        """Where it lies. The key cannot lead out, but a symbolic link that somebody put there could."""
        path = self.root / key
        folder = path.parent
        if folder not in self._checked_folders:
            real, real_root = os.path.realpath(folder), os.path.realpath(self.root)
            if real != real_root and not real.startswith(real_root + os.sep):
                raise EngineRefused(f"{folder} leads out of the store, to {real}; remove that link")
            if len(self._checked_folders) > 10_000:
                self._checked_folders.clear()
            self._checked_folders.add(folder)
        return path

    def _make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            if self._sync:
                _sync(folder.parent)

    def _walk(self, folder: Path) -> Iterator[str]:
        try:
            entries = os.scandir(folder)
        except FileNotFoundError:
            return
        with entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield from self._walk(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    yield os.path.relpath(entry.path, self.root)


def _version(state: os.stat_result) -> str:
    """A file is never changed, only replaced by another."""
    return f"{state.st_ino}-{state.st_ctime_ns}-{state.st_size}"


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
