"""Live progress in a terminal: one calm panel that is redrawn in place, messages above it."""

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from crawler.progress import words
from crawler.progress.snapshot import Snapshot
from crawler.progress.summary import Summary, render


class TerminalReporter:
    def __init__(self, console: Console) -> None:
        self._console = console
        # Redrawn when there is something new, not in between. What others print goes above the panel.
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def begin(self) -> None:
        self._live.start()

    def show(self, snapshot: Snapshot) -> None:
        self._live.update(panel_of(snapshot), refresh=True)

    def say(self, message: str) -> None:
        self._console.print(Text(message), soft_wrap=True)

    def end(self) -> None:
        self._live.stop()

    def finish(self, summary: Summary) -> None:
        for line in render(summary):
            self._console.print(line, soft_wrap=True, highlight=False)


def panel_of(snapshot: Snapshot) -> Panel:
    return Panel(
        Group(*_body(snapshot)),
        title=Text(snapshot.crawl, style="bold"),
        title_align="left",
        subtitle=Text("Ctrl-C stops, nothing is lost", style="dim"),
        subtitle_align="right",
        border_style="cyan" if not snapshot.state else "yellow",
        padding=(0, 1),
    )


def _body(snapshot: Snapshot) -> Iterable[RenderableType]:
    yield _headline(snapshot)
    if snapshot.max_pages:
        bar = Table.grid(expand=True)  # a bar alone does not end its line
        bar.add_row(ProgressBar(total=snapshot.max_pages, completed=snapshot.pages, complete_style="cyan"))
        yield bar
    numbers = Table.grid(padding=(0, 2), expand=False)
    numbers.add_column(style="dim", no_wrap=True)
    numbers.add_column(ratio=1)
    numbers.add_row("frontier", _frontier(snapshot))
    numbers.add_row("hosts", words.hosts(snapshot, " · "))
    if snapshot.retries_waiting:
        numbers.add_row("retries", f"{snapshot.retries_waiting:,} waiting")
    if snapshot.recrawls_waiting or snapshot.unchanged:
        numbers.add_row("recrawl", words.recrawls(snapshot, " · "))
    if snapshot.errors:
        numbers.add_row("failed", Text(words.reasons(snapshot.errors), style="yellow"))
    if snapshot.dropped:
        numbers.add_row("dropped", Text(words.reasons(snapshot.dropped), style="dim"))
    numbers.add_row("workers", _workers(snapshot))
    yield numbers


def _headline(snapshot: Snapshot) -> Table:
    line = Table.grid(expand=True)
    line.add_column(no_wrap=True)
    line.add_column(no_wrap=True, justify="right")
    left = Text.assemble(
        (words.pages(snapshot), "bold green"), ("   ", ""), (f"{words.rate(snapshot.pages_per_second)}/s", "bold")
    )
    right = Text(words.clock_time(snapshot.elapsed_seconds))
    if words.eta(snapshot):
        right.append(f" · {words.eta(snapshot)}", style="dim")
    line.add_row(left, right)
    return line


def _frontier(snapshot: Snapshot) -> str:
    parts = [f"{snapshot.queued:,} queued", f"{snapshot.leased:,} in flight"]
    if snapshot.held_back:
        parts.append(f"{snapshot.held_back:,} held back")
    return " · ".join(parts)


def _workers(snapshot: Snapshot) -> Text:
    text = Text(f"{snapshot.workers:,} running")
    if snapshot.state:
        text.append(f" · {snapshot.state}", style="bold yellow")
    return text
