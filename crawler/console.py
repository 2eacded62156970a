"""What do our commands have in common? They run on asyncio, print results only, and fail with one line.

A base class for what is in ``crawler/commands/``. It is not there itself, because Scrapy takes any command class it
finds in that package for a command.
"""

import argparse
import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from rich.console import Console
from rich.table import Table
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.errors import ConfigurationError, OrbweaverError
from crawler.frontier import outage
from crawler.frontier.config import FrontierConfig
from crawler.frontier.frontier import Frontier

FAILED = 1
MISUSED = 2
# Letters that JSON need not escape and terminals obey: more controls, and what turns the direction of text around.
OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
INTERRUPTED = 130  # as a shell has it: 128 and the number of SIGINT


class ConsoleCommand(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}
    crawl_help: ClassVar[str] = "the crawl that is meant (by default FRONTIER_CRAWL)"  # "": it has no such option

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.prog = f"scrapy {type(self).__module__.rpartition('.')[2]}"  # for errors; else __main__.py
        if self.crawl_help:
            parser.add_argument("--crawl", metavar="ID", help=self.crawl_help)
        parser.add_argument("--json", action="store_true", help="print JSON, for programs")

    async def work(self, args: list[str], opts: argparse.Namespace) -> int:
        """Does what the command does; answers the exit status."""
        raise NotImplementedError

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        for argument in args:  # Scrapy hands us options that nobody declared as if they were arguments
            if argument.startswith("-") and argument != "-" and " " not in argument:  # options have no spaces
                raise UsageError(f"unrecognized option: {argument}")
        try:
            self.exitcode = asyncio.run(self.work(args, opts))
            sys.stdout.flush()
        except ConfigurationError as error:
            self.exitcode = self._fail(error, MISUSED)
        except OrbweaverError as error:
            self.exitcode = self._fail(error, FAILED)
        except KeyboardInterrupt:
            self.exitcode = INTERRUPTED
        except BrokenPipeError:  # whoever read our output has seen enough
            self._leave_standard_output()
            self.exitcode = FAILED
        except outage.CLIENT_ERRORS as error:
            trouble = outage.refusal(error) or outage.passing_trouble(error) or f"says: {error}"
            self.exitcode = self._fail(f"Redis {trouble}", FAILED)
        except OSError as error:
            self.exitcode = self._fail(error, FAILED)

    def _fail(self, error: object, status: int) -> int:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            self._leave_standard_output()
        print(f"error: {error}", file=sys.stderr)
        return status

    def _leave_standard_output(self) -> None:
        """Python flushes it once more when it ends, and would complain."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    @asynccontextmanager
    async def frontier(self, opts: argparse.Namespace) -> AsyncIterator[Frontier]:
        frontier = await Frontier.open(self.config(opts))
        try:
            yield frontier
        finally:
            await frontier.close()

    def config(self, opts: argparse.Namespace) -> FrontierConfig:
        if self.settings is None:
            raise ConfigurationError("a command needs settings: run it with scrapy")
        return FrontierConfig.from_settings(self.settings, opts.crawl)


def file_path(text: str) -> Path:
    """A file argument is meant from where the user is; ``./run`` changes directory before Scrapy starts."""
    return Path(os.environ.get("ORBWEAVER_CWD", ""), text).expanduser()


def print_json(value: object) -> None:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    print(OBEYED.sub(lambda letter: f"\\u{ord(letter[0]):04x}", text))


def terminal() -> Console:
    """For tables and lines: in a pipe as wide as they are, in a terminal as wide as that."""
    return Console(
        file=sys.stdout, markup=False, highlight=False, emoji=False, soft_wrap=True,
        width=None if sys.stdout.isatty() else 10_000,
    )  # fmt: skip


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """Aligned columns and nothing else; those in ``right`` are numbers."""
    grid = Table(box=None, pad_edge=False, header_style="bold", show_header=any(columns))
    for column in columns:
        grid.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return grid
