"""``scrapy export``: the stored pages, or what is known of them, for other programs."""

import argparse
import sys

from scrapy.exceptions import UsageError

from crawler.console import FAILED, ConsoleCommand, file_path
from crawler.errors import ConfigurationError
from crawler.export.output import FORMATS, choose_format, make_exporter, open_output
from crawler.export.pages import EVERYTHING, ON_REQUEST, TYPES, USUAL, PageRows, choose_fields
from crawler.robots.directives import Obedience
from crawler.search.options import add_filter_options, read_filters
from crawler.storage.opening import StoreConfig, build_store


class Command(ConsoleCommand):
    crawl_help = "only pages of this crawl (by default of all)"

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Write the stored pages as JSON lines, CSV or Parquet"

    def long_desc(self) -> str:
        return (
            f"One row for each stored version of a page. Fields: {', '.join(USUAL)}. On request also: "
            f"{', '.join(ON_REQUEST)}. All of it is UTF-8, also html, which is decoded: scrapy page has the "
            "bytes. A file is there when it is whole, and not before. Exits with 1 if pages were left out because they "
            "cannot be read."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--format", default="", choices=FORMATS, help="by default as the file's name ends, else jsonl"
        )
        parser.add_argument("--fields", default="", metavar="A,B,C", help="which, and in which order")
        add_filter_options(parser)
        parser.add_argument("-o", "--output", metavar="FILE", help="by default standard output")

    async def work(self, args: list[str], opts: argparse.Namespace) -> int:
        if args:
            raise UsageError("export takes options only")
        if self.settings is None:
            raise ConfigurationError("a command needs settings: run it with scrapy")
        path = file_path(opts.output) if opts.output and opts.output != "-" else None
        format_ = choose_format(opts.format, path)
        if opts.json and format_ != "jsonl":
            raise UsageError(f"--json prints JSON lines, and this is to be {format_}: choose one")
        fields, wanted = choose_fields(opts.fields), read_filters(opts)
        store = build_store(StoreConfig.from_settings(self.settings))
        rows = PageRows(store, fields, Obedience.from_settings(self.settings))
        number = 0
        try:
            with open_output(path, format_) as file:
                exporter = make_exporter(format_, file, fields, TYPES)
                exporter.start_exporting()
                async for row in rows.read(wanted):
                    exporter.export_item(row)
                    number += 1
                exporter.finish_exporting()
        finally:
            await store.close()
        for trouble in rows.unreadable:
            print(f"left out: {trouble}", file=sys.stderr)
        if path is not None:
            print(f"{number:,} rows in {path}", file=sys.stderr)
        if not number:
            what = "has no such page" if wanted != EVERYTHING else "is empty: scrapy crawl URL fills it"
            print(f"the store (STORE_URL) {what}", file=sys.stderr)
        if rows.left_out:
            print(f"{rows.left_out:,} pages were left out", file=sys.stderr)
        return FAILED if rows.left_out else 0
