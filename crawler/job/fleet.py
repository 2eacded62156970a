"""Who starts the worker processes of a crawl, notices when one dies, and stops them?

Each worker is an ordinary ``scrapy crawl broad`` in a process group of its own. So Ctrl-C in the terminal reaches only
us, and each worker is told once: Scrapy takes a second signal as an order to drop everything.
"""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

RESTARTS = 3
RESTART_DELAY_SECONDS = 1.0
LOG_LINES = 8  # of a dead worker's log, shown to the person who watches
_LOG_TAIL_BYTES = 20_000
_PARENT_ON_STDIN = "ORBWEAVER_PARENT_ON_STDIN"  # tells a worker that its standard input ends with its parent


class _LogEnd(NamedTuple):
    path: Path
    lines: list[str]


class Fleet:
    """``run`` once. ``arguments`` are what every worker gets after ``scrapy crawl broad``."""

    def __init__(
        self,
        number: int,
        arguments: Sequence[str],
        logs: Path,
        say: Callable[[str], None],
        command: Sequence[str] = (sys.executable, "-m", "scrapy", "crawl", "broad"),
    ) -> None:
        self._number = number
        self._command = [*command, *arguments]
        self._logs = logs
        self._say = say
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._stop = asyncio.Event()
        self._shown: set[str] = set()  # last lines of dead workers' logs

    @property
    def running(self) -> int:
        return len(self._running)

    async def run(self) -> int:
        """Answers how many of the workers failed for good."""
        self._logs.mkdir(parents=True, exist_ok=True)
        try:
            ends = await asyncio.gather(*(self._keep(number) for number in range(1, self._number + 1)))
        finally:
            self.kill()
        return ends.count(False)

    def stop(self) -> None:
        """Workers finish what they are fetching and give the rest back. Telling them twice would drop it."""
        if not self._stop.is_set():
            self._stop.set()
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._stop.set()
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        for process in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    async def _keep(self, number: int) -> bool:
        for restarts_left in reversed(range(RESTARTS + 1)):
            if self._stop.is_set():
                return True
            status, log = await self._run_once(number)
            if status == 0 or self._stop.is_set():
                return True
            what_next = "starting it again" if restarts_left else "giving up on it"
            self._say(f"Worker {number} ended unexpectedly ({_describe(status)}): {what_next}. {self._once(log)}")
            if restarts_left:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), RESTART_DELAY_SECONDS)
        return False

    def _once(self, log: _LogEnd) -> str:
        """Workers tend to die of the same thing: it is shown once."""
        if not log.lines or log.lines[-1] in self._shown:
            return f"See {log.path}" + (" (the same as before)." if log.lines else ".")
        self._shown.add(log.lines[-1])
        return f"{log.path} ends:\n" + "\n".join(f"    {line}" for line in log.lines)

    async def _run_once(self, number: int) -> tuple[int, _LogEnd]:
        path = self._logs / f"worker-{number}.log"
        with path.open("ab") as log:
            begin = log.tell()
            process = await asyncio.create_subprocess_exec(
                *self._command, "-s", f"LOG_FILE={path}",
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                process_group=0,
                env={**os.environ, _PARENT_ON_STDIN: "1"},
            )  # fmt: skip
        self._running[number] = process
        if self._stop.is_set():  # told to stop while this one was being started
            process.terminate()
        try:
            status = await process.wait()
        finally:
            if process.returncode is not None:
                del self._running[number]
        return status, _LogEnd(path, [] if status == 0 else _tail(path, begin))


def end_with_parent() -> None:
    """Called by a worker as it starts: when the process that started it is gone, killed or not, it drains and ends.

    By the end of a pipe, and not by the kernel's parent-death signal: that one comes once for every thread of a dying
    parent, and Scrapy takes a second signal as an order to drop everything.
    """
    if os.environ.pop(_PARENT_ON_STDIN, None):
        threading.Thread(target=_wait_for_end, name="end-with-parent", daemon=True).start()


def _wait_for_end() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _describe(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _tail(path: Path, begin: int) -> list[str]:
    with path.open("rb") as log:
        end = log.seek(0, os.SEEK_END)
        log.seek(max(begin, end - _LOG_TAIL_BYTES))
        lines = log.read().decode(errors="replace").splitlines()
    return [line for line in lines if line.strip(" ^~")][-LOG_LINES:]
