"""``scrapy page URL``: prints the page as it was received, and nothing else."""

import argparse
import sys

import msgspec
from scrapy.exceptions import UsageError

from crawler.console import FAILED, ConsoleCommand, print_json
from crawler.errors import BadUrl, ConfigurationError
from crawler.pipelines.config import KeepConfig
from crawler.storage.opening import StoreConfig, build_store
from crawler.storage.page import page_id
from crawler.urls import canonicalise


class Command(ConsoleCommand):
    crawl_help = ""  # a store has a URL once, whoever fetched it

    def syntax(self) -> str:
        return "[options] URL"

    def short_desc(self) -> str:
        return "Print the stored body of a page, byte for byte"

    def long_desc(self) -> str:
        return (
            "Prints the newest stored version of a page on standard output, byte for byte, and nothing else. What a "
            "server sent compressed was unpacked before. Exits with 1 if there is none. --info (or --json) prints what "
            "is known of it instead, as JSON. For decoded text see scrapy export."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--info", action="store_true", help="print where it lies, when it was fetched, its type and hash"
        )

    async def work(self, args: list[str], opts: argparse.Namespace) -> int:
        if len(args) != 1:
            raise UsageError("give one URL")
        if self.settings is None:
            raise ConfigurationError("a command needs settings: run it with scrapy")
        try:
            url = canonicalise(args[0])
        except BadUrl as error:
            return self._fail(error, FAILED)
        store = build_store(StoreConfig.from_settings(self.settings))
        try:
            page = await store.find(page_id(url.fingerprint))
        finally:
            await store.close()
        if page is None:
            if not KeepConfig.from_settings(self.settings).spool("store").is_empty():
                hint = ", but some pages wait for it: see scrapy spool status"
            else:
                hint = "; scrapy frontier why URL may say why"
            return self._fail(f"{url.text} is not in the store{hint}", FAILED)
        if opts.info or opts.json:
            print_json({**msgspec.structs.asdict(page.info), "html_key": page.info.same_as or page.info.key})
        else:
            sys.stdout.buffer.write(page.body)
            sys.stdout.buffer.flush()
        return 0
