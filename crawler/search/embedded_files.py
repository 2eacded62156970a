"""Where does the embedded index lie on disk, and who may write to it?

::

    index/format.json   schema version, and which generation is in use; replaced in one step
    index/g<n>/         tantivy's own files; a cleared or optimised index is a new generation
    index/writer.lock   held by the one process that writes; has its process id in it
    index/create.lock   held for the moment in which an index is made
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import tantivy

from crawler.errors import EngineRefused, EngineUnavailable
from crawler.search.embedded_schema import SCHEMA_VERSION, register, schema


class Format(msgspec.Struct, frozen=True):
    schema: int
    generation: int


@dataclass(frozen=True, slots=True)
class IndexFiles:
    path: Path

    @property
    def format_path(self) -> Path:
        return self.path / "format.json"

    def directory(self, generation: int) -> Path:
        return self.path / f"g{generation}"

    def read_format(self) -> Format | None:
        """None: there is no index yet."""
        try:
            return msgspec.json.decode(self.format_path.read_bytes(), type=Format)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise EngineRefused(
                f"{self.format_path} cannot be read ({error}): make the index anew with scrapy search --rebuild"
            ) from error

    def current(self) -> int:
        """The generation in use. Makes the index if there is none."""
        found = self.read_format()
        if found is None:
            self.path.mkdir(parents=True, exist_ok=True)
            with _flocked(self.path / "create.lock"):  # two processes may start at the same time
                found = self.read_format() or self.switch(self.begin(0))
        if found.schema != SCHEMA_VERSION:
            raise EngineRefused(
                f"the index in {self.path} has version {found.schema}, and this program writes {SCHEMA_VERSION}: "
                f"make it anew with scrapy search --rebuild, or point INDEX_URL elsewhere"
            )
        return found.generation

    def newest(self) -> int:
        """Of the generations that lie there, whether they can be used or not."""
        numbers = (directory.name[1:] for directory in self.path.glob("g[0-9]*"))
        return max((int(number) for number in numbers if number.isdecimal()), default=0)

    def begin(self, after: int) -> int:
        """An empty generation, not in use yet."""
        generation = after + 1
        self.discard(generation)  # of a process that died on the way
        self.directory(generation).mkdir(parents=True)
        tantivy.Index(schema(), str(self.directory(generation)))
        return generation

    def discard(self, generation: int) -> None:
        shutil.rmtree(self.directory(generation), ignore_errors=True)

    def switch(self, generation: int) -> Format:
        """From here on it is the one in use; a process that dies on the way leaves the old one in use."""
        new = Format(SCHEMA_VERSION, generation)
        temporary = self.path / "format.json.new"
        with temporary.open("wb") as file:
            file.write(msgspec.json.encode(new))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.format_path)
        for old in self.path.glob("g[0-9]*"):
            if old != self.directory(generation):
                # Who searches in it has its files mapped, and goes on until it looks at format.json again.
                shutil.rmtree(old, ignore_errors=True)
        return new

    def open(self, generation: int) -> tantivy.Index:
        index = tantivy.Index.open(str(self.directory(generation)))
        register(index)
        index.config_reader("manual")
        return index

    def require_room(self) -> None:
        """For the index once more."""
        needed, free = self.size_bytes(), shutil.disk_usage(self.path).free
        if needed > free:
            raise EngineUnavailable(
                f"the index in {self.path} is written anew beside itself, which takes {needed / 1e6:,.0f} MB, and "
                f"{free / 1e6:,.0f} MB are free on that disk: make room there first"
            )

    def size_bytes(self) -> int:
        total = 0
        for file in self.path.rglob("*"):
            with contextlib.suppress(FileNotFoundError):  # merged away meanwhile
                total += file.stat().st_size
        return total


class WriterLock:
    """One process may write. The kernel gives the lock back when that process dies, however it dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    @property
    def is_held(self) -> bool:
        return self._file is not None

    def is_lost(self) -> bool:
        """Somebody removed the directory: what is locked is not what others would lock."""
        if self._file is None:
            return False
        try:
            return not os.path.samestat(os.fstat(self._file), os.stat(self._path))
        except FileNotFoundError:
            return True

    def try_lock(self) -> bool:
        if self._file is not None:
            return True
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._file = file
        with contextlib.suppress(OSError):  # a full disk: the lock holds all the same, the number is for people
            os.ftruncate(file, 0)
            os.pwrite(file, str(os.getpid()).encode(), 0)
        return True

    def require(self) -> None:
        if not self.try_lock():
            with contextlib.suppress(OSError):
                owner = self._path.read_text() or "?"
                raise EngineUnavailable(
                    f"process {owner} is writing to the index in {self._path.parent}, and only one can: "
                    f"let that one write, or wait until it ends"
                )
            raise EngineUnavailable(f"another process is writing to the index in {self._path.parent}")

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


@contextlib.contextmanager
def _flocked(path: Path) -> Iterator[None]:
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
