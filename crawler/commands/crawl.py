"""``scrapy crawl URL…`` is the main job, a crawl from its seeds on; ``scrapy crawl broad`` runs a spider."""

import argparse
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any, ClassVar, cast

from scrapy.commands.crawl import Command as RunSpider
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from crawler.console import ConsoleCommand, file_path
from crawler.errors import ConfigurationError
from crawler.frontier.connection import connect
from crawler.frontier.scope import Scope
from crawler.job import options
from crawler.job.fleet import end_with_parent
from crawler.job.job import read_seeds, run_job
from crawler.job.plain_errors import explain_in_one_line
from crawler.pipelines.pages import find_page_log, open_page_log
from crawler.progress.reporter import choose_reporter

SCHEDULER = "crawler.frontier.scheduler.Scheduler"


class Command(ConsoleCommand, RunSpider):
    requires_crawler_process = True
    default_settings: ClassVar[dict[str, Any]] = {}  # a spider logs

    def syntax(self) -> str:
        return "[options] URL… | -f FILE | - | --crawl ID | SPIDER"

    def short_desc(self) -> str:
        return "Crawl from URLs, or run one spider by its name"

    def long_desc(self) -> str:
        return (
            "Crawls from these URLs with worker processes of its own, shows progress and sums up. With --crawl alone "
            "it continues a crawl. With the name of a spider it runs that spider in this process, as Scrapy does."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        options.add_options(parser, self._settings)
        parser.add_argument("-f", "--file", metavar="FILE", help="read URLs from a file, one a line (- for stdin)")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        spiders = get_spider_loader(self._settings).list() if args else []
        self._is_spider = bool(args) and args[0] in spiders
        if self._is_spider:
            _refuse([*options.given(opts), *(["--file"] if opts.file else [])], "URLs; a spider takes -s NAME=VALUE")
            return
        # The job runs no spider: a reactor and Scrapy's log belong to its workers.
        self.requires_crawler_process = False
        if args and not opts.file and not any(map(_could_be_url, args)):
            known = ", ".join(spiders) or "none"
            raise UsageError(f"{args[0]!r} is neither a URL nor a spider (spiders: {known})")
        if not args and not opts.file and not options.find_crawl(opts, self._settings):
            raise UsageError("give a URL, a file of them with -f, or a crawl to continue with --crawl")
        stock = {"-a": opts.spargs, "-o": opts.output, "-O": opts.overwrite_output}
        _refuse([flag for flag, value in stock.items() if value], "a spider; a crawl of URLs writes pages.jsonl")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if self._is_spider:
            end_with_parent()
            explain_in_one_line()
            # In a thread, because asyncio.run takes away the event loop that Scrapy has put into this one.
            check = threading.Thread(target=super().run, args=(args, opts))
            check.start()
            check.join()
            if not self.exitcode:
                RunSpider.run(self, args, opts)
        else:
            super().run(args, opts)

    async def work(self, args: list[str], opts: argparse.Namespace) -> int:
        if self._is_spider:
            await self._check(opts)
            return 0
        reporter = choose_reporter(opts.json)
        texts: list[str | bytes] = [text for text in args if text != "-"]
        for path in (["-"] if "-" in args else []) + ([opts.file] if opts.file else []):
            texts += _read_lines(path)
        seeds = read_seeds(texts, reporter)
        if not seeds and (texts or not options.find_crawl(opts, self._settings)):
            raise ConfigurationError("there is nothing to crawl: not one good URL was given")
        return await run_job(options.build_plan(opts, self._settings, seeds), reporter)

    async def _check(self, opts: argparse.Namespace) -> None:
        """Before there is a spider: Scrapy answers what goes wrong while it opens one with several tracebacks."""
        if self._settings["SCHEDULER"] == SCHEDULER:
            config = self.config(opts)
            Scope.from_config(config)  # its lists of hosts
            if not config.redis_url.startswith("embedded:"):  # that one would be started for nothing
                connection = await connect(config.redis_url, config.data_dir)
                await connection.close()
            if self._settings.getbool("PAGE_LOG"):
                os.close(open_page_log(find_page_log(config)))

    @property
    def _settings(self) -> Settings:
        return cast(Settings, self.settings)  # set by Scrapy before anything is called


def _read_lines(path: str) -> Iterator[bytes]:
    try:
        data = sys.stdin.buffer.read() if path == "-" else file_path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"the file of URLs {path!r} cannot be read: {error.strerror}") from None
    for line in data.splitlines():
        line = line.strip()
        if line and not line.startswith(b"#"):
            yield line


def _could_be_url(word: str) -> bool:
    return word.startswith("-") or word == "localhost" or bool(set(word) & set(":/."))


def _refuse(flags: list[str], only_for: str) -> None:
    if flags:
        raise UsageError(f"{', '.join(flags)}: only for {only_for}")
