"""``scrapy search``: finds pages of the index, and looks after it."""

import argparse
import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict

from rich.text import Text
from scrapy.exceptions import UsageError

from crawler.console import ConsoleCommand, print_json, table, terminal
from crawler.errors import ConfigurationError
from crawler.search.index import Index
from crawler.search.opening import IndexConfig, open_index
from crawler.search.restrictions import SORTS, Restrictions
from crawler.search.searching import Results, search, suggest
from crawler.search.snippets import plain

MARK = re.compile("<mark>(.*?)</mark>")


class Command(ConsoleCommand):
    def syntax(self) -> str:
        return '[options] "words" | --suggest PREFIX | --stats | --optimise'

    def short_desc(self) -> str:
        return "Find pages that were crawled"

    def long_desc(self) -> str:
        return (
            'Words must all be on the page. "a phrase", -without, title:word, nearly~, begin*, w?ld, red OR green, '
            "(groups), site:host, -site:host, lang:de, after:2026-01, before:2026-02-01, sort:newest."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--page", type=int, default=1, metavar="N", help="page of results (default: 1)")
        parser.add_argument("--per-page", type=int, default=10, metavar="N", help="results on a page (default: 10)")
        parser.add_argument(
            "--site", action="append", default=[], metavar="HOST", help="only this host and those below"
        )
        parser.add_argument("--lang", action="append", default=[], metavar="CODE", help="only this language: de, en, …")
        parser.add_argument(
            "--after", default="", metavar="DATE", help="fetched on or after: 2026, 2026-01, 2026-01-31"
        )
        parser.add_argument("--before", default="", metavar="DATE", help="fetched before such a date")
        parser.add_argument("--sort", default="", choices=("", *SORTS), help="order of results (default: relevance)")
        parser.add_argument("--copies", action="store_true", help="also pages whose body is that of another")
        parser.add_argument("--suggest", metavar="PREFIX", help="words and titles that begin so")
        parser.add_argument("--stats", action="store_true", help="how large the index is")
        parser.add_argument("--optimise", action="store_true", help="write the index anew, without what was replaced")

    async def work(self, args: list[str], opts: argparse.Namespace) -> int:
        asked = [bool(args), opts.suggest is not None, opts.stats, opts.optimise]
        if sum(asked) != 1:
            raise UsageError("give words to look for, or one of --suggest, --stats, --optimise")
        async with self._index() as index:
            if args:
                return await self._search(index, " ".join(args), opts)
            if opts.suggest is not None:
                found = await suggest(index, opts.suggest)
                if opts.json:
                    print_json({"suggestions": found})
                else:
                    print("\n".join(found) or "nothing begins so")
                return 0
            if opts.optimise:
                await index.optimise()
            return await self._stats(index, opts)

    async def _search(self, index: Index, text: str, opts: argparse.Namespace) -> int:
        beside = Restrictions()
        for name, values in (
            ("site", opts.site),
            ("lang", opts.lang),
            ("after", [opts.after]),
            ("before", [opts.before]),
        ):
            for value in values:
                if value:
                    beside.add(name, value)
        if opts.crawl:
            beside.add("crawl", opts.crawl)
        results = await search(
            index, text, opts.page, opts.per_page, filters=beside.filters(), sort=opts.sort, with_duplicates=opts.copies
        )
        if opts.json:
            print_json(results)
        else:
            self._show(results)
        return 0

    def _show(self, results: Results) -> None:
        """What pages say is data here: no letter of it may be obeyed by the terminal, or by rich."""
        out = terminal()
        first = (results.page - 1) * results.per_page + 1
        for number, result in enumerate(results.results, first):
            out.print(Text.assemble((f"{number}. ", "dim"), _styled(result.title_html, "bold", "bold yellow")))
            out.print(Text(f"   {plain(result.url)}", "green"))
            if result.snippet:
                out.print(Text.assemble("   ", _styled(result.snippet, "", "yellow")))
            out.print()
        if results.results:
            shown = f"{first} to {first + len(results.results) - 1} of {results.total_results}"
            more = "" if results.is_total_exact else " or more"
            out.print(Text(f"results {shown}{more}, in {results.took_ms:.0f} ms", "dim"))
        elif results.total_results:
            print(f"there are only {results.total_results} results, and none on page {results.page}")
        else:
            print(f"nothing found, in {results.took_ms:.0f} ms")
        if results.suggestion:
            print(f"did you mean: {plain(results.suggestion)}")

    async def _stats(self, index: Index, opts: argparse.Namespace) -> int:
        stats = await index.stats()
        if opts.json:
            print_json({**asdict(stats), "url": self._config().url})
            return 0
        grid = table("", "")
        grid.add_row("index", self._config().url)
        grid.add_row("engine", stats.engine)
        grid.add_row("documents", str(stats.documents))
        grid.add_row("size", f"{stats.bytes / 1e6:.1f} MB")
        terminal().print(grid)
        return 0

    @asynccontextmanager
    async def _index(self) -> AsyncIterator[Index]:
        index = open_index(self._config())
        try:
            await index.open()
            yield index
        finally:
            await index.close()

    def _config(self) -> IndexConfig:
        if self.settings is None:
            raise ConfigurationError("a command needs settings: run it with scrapy")
        return IndexConfig.from_settings(self.settings)


def _styled(marked: str, style: str, mark_style: str) -> Text:
    """Our own HTML, which has no other tags than marks, for a terminal."""
    text = Text(style=style)
    for number, piece in enumerate(MARK.split(marked)):
        text.append(plain(f"|{html.unescape(piece)}|")[1:-1], mark_style if number % 2 else None)
    return text
