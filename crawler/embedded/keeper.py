"""Who is the parent of the embedded Redis server? This process: one per data directory.

``redis.py`` starts it as ``python -m crawler.embedded.keeper DIRECTORY SERVER SOCKET LOCK_FD``. It restarts a
server that was killed, and ends it once no process uses it any more. Two flocks decide everything, and the
kernel drops both whatever kills their holder:

``users.lock``   shared: held by every user process. The keeper that gets it exclusively knows that no user is left.
``server.lock``  exclusive: handed down from the starting user to keeper and server, so it is free only when both
                 are gone. Two servers on one append-only file would corrupt it.

Imports stand at the top and are few: it starts in a moment, and the file it was loaded from may vanish later.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from typing import Any

PR_SET_PDEATHSIG = 1
STOP_SECONDS = 20.0
# A server that is killed more often than this is not being tested, it is crashing while it loads its file.
RESTARTS = 5
RESTART_WINDOW_SECONDS = 10.0

OPTIONS = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "aof-load-truncated": "yes",
    "save": "",
    "maxmemory-policy": "noeviction",
    "set-max-intset-entries": "1024",
    "daemonize": "no",
}

_prctl: Any = getattr(ctypes.CDLL(None), "prctl", None)  # Linux only


def die_with_parent(parent_pid: int) -> None:
    """Runs in a new child, before exec. The kernel kills it when the *thread* that forked it ends."""
    if _prctl is not None:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent_pid:  # the parent died before the line above
            os._exit(1)


class Keeper:
    def __init__(self, directory: str, server_binary: str, socket_path: str, lock_fd: int) -> None:
        self.command = [server_binary, "--dir", directory, "--unixsocket", socket_path]
        self.command += ["--logfile", os.path.join(directory, "redis.log")]
        for name, value in OPTIONS.items():
            self.command += ["--" + name, value]
        self.directory = directory
        self.socket_path = socket_path
        self.lock_fd = lock_fd
        self.users_fd = os.open(os.path.join(directory, "users.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        self.server: subprocess.Popen[bytes] | None = None
        self.stopping = False

    def run(self) -> int:
        """Exit status: 0 when the last user left, else that of a server which could not start."""
        signal.signal(signal.SIGTERM, lambda *_: self.stop())
        threading.Thread(target=self._stop_when_unused, daemon=True).start()
        deaths: deque[float] = deque(maxlen=RESTARTS)
        while not self.stopping:
            status = self._run_server()
            if status > 0 and not self.stopping:
                return status  # its own decision: an unreadable file or a full disk does not get better by itself
            deaths.append(time.monotonic())
            if len(deaths) == RESTARTS and deaths[-1] - deaths[0] < RESTART_WINDOW_SECONDS:
                return 1
        return 0

    def _run_server(self) -> int:
        # In the main thread, on purpose: see die_with_parent.
        parent_pid = os.getpid()
        self.server = subprocess.Popen(
            self.command, pass_fds=[self.lock_fd], preexec_fn=lambda: die_with_parent(parent_pid)
        )
        if self.stopping:  # stop() may have looked for the server just before it was there
            self.server.terminate()
        return self.server.wait()

    def _stop_when_unused(self) -> None:
        fcntl.flock(self.users_fd, fcntl.LOCK_EX)
        # Not released: a new user waits until this process is gone, and then starts afresh.
        self.stop()

    def stop(self) -> None:
        self.stopping = True
        server = self.server
        if server is not None:
            server.terminate()
            # A server busy in an endless script does not hear SIGTERM. What it acknowledged is in its file anyway.
            reaper = threading.Timer(STOP_SECONDS, server.kill)
            reaper.daemon = True
            reaper.start()

    def remove_socket(self) -> None:
        """A killed server leaves its socket behind, and a directory in /tmp for it if the path was long."""
        with contextlib.suppress(OSError):
            os.unlink(self.socket_path)
        if os.path.dirname(self.socket_path) != self.directory:
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(self.socket_path))


def main(directory: str, server_binary: str, socket_path: str, lock_fd: str) -> int:
    # The starter waits for this first process only, and is left with no zombie.
    if os.fork() != 0:
        os._exit(0)
    keeper = Keeper(directory, server_binary, socket_path, int(lock_fd))
    try:
        return keeper.run()
    finally:
        keeper.remove_socket()  # still under server.lock, so it is nobody else's


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
