"""Which options does the main job have, and which settings are they?"""

import argparse
import os
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from crawler.errors import ConfigurationError
from crawler.frontier.config import FrontierConfig
from crawler.frontier.seeds import Seed
from crawler.job.job import JobPlan, name_crawl
from crawler.patterns import read_patterns
from crawler.pipelines.config import KeepConfig

MOST_WORKERS = 256
# Without them a command looks elsewhere.
_ENGINE_SETTINGS = ("DATA_DIR", "REDIS_URL", "FRONTIER_NAMESPACE", "STORE_URL", "S3_ENDPOINT_URL", "INDEX_URL")
_SECRET_WORDS = ("PASSWORD", "SECRET", "TOKEN", "KEY", "AUTH")


class _Option(NamedTuple):
    flag: str
    setting: str
    kind: Callable[[str], Any] | None  # None: a flag that sets True
    metavar: str
    help: str
    is_list: bool = False  # may be given several times

    @property
    def name(self) -> str:
        return self.flag.removeprefix("--").replace("-", "_")


def _file(text: str) -> str:
    """Meant from where the user is; ``./run`` changes directory before Scrapy starts."""
    return str(Path(os.environ.get("ORBWEAVER_CWD", ""), text).expanduser().absolute())


_OPTIONS = (
    _Option("--max-pages", "MAX_PAGES", int, "N", "pages of the crawl, 0 for no limit"),
    _Option("--max-depth", "MAX_DEPTH", int, "N", "links followed from a seed, -1 for no limit"),
    _Option("--max-pages-per-host", "MAX_PAGES_PER_HOST", int, "N", "pages of each host, 0 for no limit"),
    _Option("--rate", "FRONTIER_RATE", float, "R", "requests a second to each host, on average"),
    _Option("--burst", "FRONTIER_BURST", int, "B", "requests to a host that may follow each other at once"),
    _Option("--allow-private", "ALLOW_PRIVATE", None, "", "loopback and private addresses too"),
    _Option("--include", "INCLUDE", str, "REGEX", "follow only links that match it, or another one given so", True),
    _Option("--exclude", "EXCLUDE", str, "REGEX", "do not follow links that match it; may be given again", True),
    _Option("--hosts-deny", "HOSTS_DENY_FILE", _file, "FILE", "hosts that are not crawled, one a line"),
    _Option("--hosts-allow", "HOSTS_ALLOW_FILE", _file, "FILE", "crawl these hosts and no others, one a line"),
    _Option(
        "--render", "RENDER", None, "", "every page in a browser, for what JavaScript makes of it (needs chromium)"
    ),
    _Option("--render-auto", "RENDER_AUTO", None, "", "pages that are empty without JavaScript in a browser"),
    _Option("--recrawl", "RECRAWL", None, "", "fetch pages again after a while, sooner those that change often"),
    _Option("--keep-alive", "KEEP_ALIVE", None, "", "wait for more seeds when everything is fetched"),
)


def add_options(parser: argparse.ArgumentParser, settings: BaseSettings) -> None:
    group = parser.add_argument_group(title="Crawling URLs")
    for option in _OPTIONS:
        if option.kind is None:
            group.add_argument(option.flag, action="store_true", help=option.help)
        else:
            default = settings[option.setting]
            group.add_argument(
                option.flag,
                type=option.kind,
                metavar=option.metavar,
                action="append" if option.is_list else "store",
                help=option.help if default in ("", []) else f"{option.help} (by default {default})",
            )
    group.add_argument("--workers", type=int, metavar="N", help="worker processes (by default 1)")
    group.add_argument(
        "--crawl", metavar="ID", help="begin a crawl of this name, or continue it (by default a new one)"
    )
    group.add_argument("--json", action="store_true", help="progress and summary as JSON, one object a line")


def given(opts: argparse.Namespace) -> list[str]:
    """The options of the main job on this command line, for a message."""
    flags = [*(option.flag for option in _OPTIONS), "--workers", "--crawl", "--json"]
    return [flag for flag in flags if getattr(opts, flag[2:].replace("-", "_")) not in (None, False)]


def find_crawl(opts: argparse.Namespace, settings: BaseSettings) -> str | None:
    """The crawl that was named, if one was: with --crawl, with -s, or in the environment."""
    if opts.crawl:
        return str(opts.crawl)
    by_setting = (
        settings.getpriority("FRONTIER_CRAWL") == SETTINGS_PRIORITIES["cmdline"]
        or "CRAWLER_FRONTIER_CRAWL" in os.environ
    )
    return str(settings["FRONTIER_CRAWL"]) if by_setting else None


def build_plan(opts: argparse.Namespace, settings: BaseSettings, seeds: Sequence[Seed]) -> JobPlan:
    """``settings`` are changed as the options say; the workers get the same on their command line."""
    workers = 1 if opts.workers is None else opts.workers
    if not 1 <= workers <= MOST_WORKERS:
        raise ConfigurationError(f"--workers is {workers}; it must be a whole number from 1 to {MOST_WORKERS}")
    crawl = find_crawl(opts, settings) or name_crawl(seeds, datetime.now())
    chosen = dict(_chosen(opts))
    settings.setdict(chosen, priority="cmdline")
    config = FrontierConfig.from_settings(settings, crawl)
    for_workers = {**chosen, "FRONTIER_CRAWL": crawl, "DATA_DIR": str(config.data_dir)}
    if opts.loglevel:
        for_workers["LOG_LEVEL"] = opts.loglevel
    pairs = [*opts.set, *(f"{name}={value}" for name, value in for_workers.items())]
    return JobPlan(
        config=config,
        seeds=seeds,
        workers=workers,
        worker_arguments=[word for pair in pairs for word in ("-s", pair)],
        continue_command=_continue_command(opts, crawl),
        program=program(),
        keep=KeepConfig.from_settings(settings),
        engine_options=shlex.join(_pairs_again(opts, _ENGINE_SETTINGS)),
    )


def program() -> str:
    """What the person typed."""
    return "./run" if "ORBWEAVER_CWD" in os.environ else "scrapy"


def _chosen(opts: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    for option in _OPTIONS:
        value = getattr(opts, option.name)
        if value is not None and value is not False:
            # As text, which a worker's command line can hold; checked first, because each must be whole.
            yield option.setting, " ".join(read_patterns(option.flag, value)) if option.is_list else value


def _continue_command(opts: argparse.Namespace, crawl: str) -> str:
    """With the options of this run: they belong to a run, and are not kept in the crawl."""
    words = [program(), "crawl", "--crawl", crawl]
    for option in _OPTIONS:
        value = getattr(opts, option.name)
        if value is not None and value is not False:
            if option.is_list:  # a pattern may begin with a dash
                words += [f"{option.flag}={one}" for one in value]
            else:
                words += [option.flag] if option.kind is None else [option.flag, str(value)]
    if opts.workers is not None:
        words += ["--workers", str(opts.workers)]
    return shlex.join([*words, *_pairs_again(opts)])


def _pairs_again(opts: argparse.Namespace, only: Collection[str] = ()) -> Iterator[str]:
    """The ``-s`` options to type again, without secrets."""
    for pair in opts.set:
        name, _, value = pair.partition("=")
        if name != "FRONTIER_CRAWL" and (not only or name in only):
            is_secret = "@" in value or any(word in name for word in _SECRET_WORDS)
            yield from ("-s", f"{name}=…" if is_secret else pair)
