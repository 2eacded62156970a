"""Progress where there is no terminal: a line every five seconds, in a log that somebody reads later."""

import time
from collections.abc import Callable
from typing import TextIO

from rich.console import Console

from crawler.progress import words
from crawler.progress.snapshot import Snapshot
from crawler.progress.summary import Summary, render

INTERVAL_SECONDS = 5.0


class LineReporter:
    """Progress and messages go to standard error, the summary to standard output."""

    def __init__(self, out: TextIO, err: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._err = err
        self._clock = clock
        self._due = 0.0
        self._last: Snapshot | None = None
        self._last_shown: Snapshot | None = None

    def begin(self) -> None:
        self._due = self._clock() + INTERVAL_SECONDS

    def show(self, snapshot: Snapshot) -> None:
        self._last = snapshot
        if self._clock() >= self._due:
            self._due = self._clock() + INTERVAL_SECONDS
            self._print(snapshot)

    def say(self, message: str) -> None:
        print(message, file=self._err, flush=True)

    def end(self) -> None:
        if self._last is not None and self._last is not self._last_shown:
            self._print(self._last)

    def finish(self, summary: Summary) -> None:
        console = Console(file=self._out, color_system=None, highlight=False)
        for line in render(summary):
            console.print(line, soft_wrap=True)
        self._out.flush()

    def _print(self, snapshot: Snapshot) -> None:
        self._last_shown = snapshot
        print(line_of(snapshot), file=self._err, flush=True)


def line_of(snapshot: Snapshot) -> str:
    parts = [
        words.clock_time(snapshot.elapsed_seconds),
        words.pages(snapshot),
        f"{words.rate(snapshot.pages_per_second)}/s",
        words.eta(snapshot),
        f"{snapshot.queued:,} queued",
        f"{snapshot.leased:,} in flight",
        f"hosts: {words.hosts(snapshot, ', ')}",
        f"{snapshot.retries_waiting:,} to retry" if snapshot.retries_waiting else "",
        f"{snapshot.recrawls_waiting:,} to crawl again" if snapshot.recrawls_waiting else "",
        f"{snapshot.dead:,} failed ({words.reasons(snapshot.errors)})" if snapshot.dead else "",
        snapshot.state,
    ]
    return "  ".join(part for part in parts if part)
