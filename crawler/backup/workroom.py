"""Where is what is only needed on the way? In a directory of DATA_DIR that one process has at a time.

It is emptied by whoever comes next, so that a process that was killed leaves nothing behind for long. What it leaves is
a note beside the directory, if it had cleared the index by then: searches tell of it until the index is whole again.
"""

import contextlib
import errno
import fcntl
import shutil
from collections.abc import Iterator
from pathlib import Path

from crawler.errors import ConfigurationError, EngineUnavailable


def note_unfinished(room: Path, command: str) -> None:
    """Before the index is cleared: what has to be run again if this process does not end what it began."""
    room.with_suffix(".unfinished").write_text(command)


def forget_unfinished(room: Path) -> None:
    room.with_suffix(".unfinished").unlink(missing_ok=True)


def find_unfinished(room: Path) -> str:
    """The command that began and did not end, or "": it may still run."""
    try:
        return room.with_suffix(".unfinished").read_text()
    except FileNotFoundError:
        return ""


@contextlib.contextmanager
def workroom(path: Path) -> Iterator[Path]:
    lock_path = path.with_suffix(".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = lock_path.open("wb")
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be made: {error}; set DATA_DIR to a directory that you can write to"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EngineUnavailable(
                f"another process rebuilds or restores the index, and works in {path}: wait until it ends"
            ) from None
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        try:
            yield path
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise EngineUnavailable(
                f"{path} cannot be written: {error.strerror}: make room on that disk, and run this again"
            ) from error
        finally:
            shutil.rmtree(path, ignore_errors=True)
