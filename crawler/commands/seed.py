"""``scrapy seed``: adds pages to a crawl, whether it runs or not."""

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import IO

from scrapy.exceptions import UsageError

from crawler.console import FAILED, ConsoleCommand, file_path, print_json
from crawler.errors import BadUrl
from crawler.frontier.config import CLASSES
from crawler.frontier.reasons import EXPLANATIONS
from crawler.frontier.scope import Scope
from crawler.frontier.seeds import Planted, Seed, plant, read_seed


class Command(ConsoleCommand):
    def syntax(self) -> str:
        return "[options] URL… | -f FILE | -"

    def short_desc(self) -> str:
        return "Add seeds to a crawl"

    def long_desc(self) -> str:
        return (
            "Adds seeds to a crawl: URLs as arguments, or lines of a file (-f FILE) or of standard input (-). A line "
            'is a URL or a JSON object {"url", "priority", "depth", "meta"}; empty lines and those that begin with # '
            "are skipped. Exits with 1 if any seed was refused."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--priority", choices=CLASSES, default="high", help="of seeds that name none (high)")
        parser.add_argument("-f", "--file", metavar="FILE", help="read seeds from a file, one a line (- for stdin)")

    async def work(self, args: list[str], opts: argparse.Namespace) -> int:
        from_input = opts.file == "-" or args == ["-"]
        if bool(args) == (opts.file is not None) or ("-" in args and args != ["-"]):
            raise UsageError("give URLs, or -f FILE, or -")
        unread: list[tuple[str, str, str]] = []
        with contextlib.ExitStack() as stack:
            lines: Iterable[str | bytes] = args
            if from_input:
                lines = _skip_blank(sys.stdin.buffer)
            elif opts.file is not None:
                lines = _skip_blank(stack.enter_context(file_path(opts.file).open("rb")))
            async with self.frontier(opts) as frontier:
                planted = await plant(frontier, _read(lines, opts.priority, unread), Scope.from_config(frontier.config))
        refused = unread + [(url, reason, EXPLANATIONS[reason]) for url, reason in planted.refused]
        self._report(planted, refused, opts)
        return FAILED if refused else 0

    def _report(self, planted: Planted, refused: list[tuple[str, str, str]], opts: argparse.Namespace) -> None:
        if opts.json:
            rows = [{"url": url, "reason": reason, "message": message} for url, reason, message in refused]
            print_json({"accepted": planted.accepted, "duplicates": planted.duplicates, "refused": rows})
            return
        print(f"{planted.accepted} accepted, {planted.duplicates} already known, {len(refused)} refused")
        for url, reason, message in refused:
            print(f"refused {url}: {message} ({reason})")


def _skip_blank(lines: IO[bytes]) -> Iterator[bytes]:
    for line in lines:
        line = line.strip()
        if line and not line.startswith(b"#"):
            yield line


def _read(lines: Iterable[str | bytes], priority: str, unread: list[tuple[str, str, str]]) -> Iterator[Seed]:
    for line in lines:
        try:
            yield read_seed(line, priority)
        except BadUrl as error:
            text = line if isinstance(line, str) else line.decode(errors="replace")
            unread.append((text[:200], str(error.reason), str(error)))
