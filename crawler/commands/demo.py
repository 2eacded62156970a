"""``scrapy demo`` crawls a bundled sample site on loopback: the main job, without a network."""

import argparse
from dataclasses import replace
from datetime import datetime
from typing import cast

from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from crawler.console import ConsoleCommand
from crawler.demo.site import DemoSite
from crawler.job import options
from crawler.job.job import read_seeds, run_job
from crawler.progress.reporter import choose_reporter

# The largest of the three hosts has 57 pages: about ten seconds, short enough to wait and long enough to see something.
RATE = 6.0
BURST = 10


class Command(ConsoleCommand):
    def short_desc(self) -> str:
        return "Crawl a bundled sample site: works with no network at all"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        options.add_options(parser, cast(Settings, self.settings))
        parser.set_defaults(rate=RATE, burst=BURST, max_depth=-1, allow_private=True)

    async def work(self, args: list[str], opts: argparse.Namespace) -> int:
        if args:
            raise UsageError("the demo crawls its own site, and no other")
        opts.crawl = opts.crawl or f"demo-{datetime.now():%Y%m%d-%H%M%S}"
        reporter = choose_reporter(opts.json)
        site = DemoSite()
        seeds = read_seeds(site.start(), reporter)
        try:
            reporter.say(f"Serving a sample site of {len(site.pages)} pages at {seeds[0].url.text} for this crawl.")
            plan = options.build_plan(opts, cast(Settings, self.settings), seeds)
            return await run_job(replace(plan, continue_command=""), reporter)  # the next demo has other addresses
        finally:
            site.stop()
