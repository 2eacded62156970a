"""Who is told about a crawl while it runs? Chosen once, by what standard output is."""

import sys
from typing import Protocol

from rich.console import Console

from crawler.progress.json_lines import JsonReporter
from crawler.progress.lines import LineReporter
from crawler.progress.snapshot import Snapshot
from crawler.progress.summary import Summary
from crawler.progress.terminal import TerminalReporter


class Reporter(Protocol):
    def begin(self) -> None: ...

    def show(self, snapshot: Snapshot) -> None:
        """Called about once a second."""

    def say(self, message: str) -> None:
        """Something that happened beside the numbers: a worker died, Redis is away."""

    def end(self) -> None:
        """Called once whatever happened, before the summary."""

    def finish(self, summary: Summary) -> None: ...


def choose_reporter(as_json: bool) -> Reporter:
    if as_json:
        return JsonReporter(sys.stdout, sys.stderr)
    console = Console()
    if console.is_terminal:
        return TerminalReporter(console)
    return LineReporter(sys.stdout, sys.stderr)
