"""``scrapy search``: finds pages of the index, and looks after it."""

import argparse
import html
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict

from rich.padding import Padding
from rich.text import Text
from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from crawler.backup.acts import IndexKeeping
from crawler.backup.manifest import Manifest
from crawler.console import FAILED, ConsoleCommand, print_json, table, terminal
from crawler.errors import ConfigurationError
from crawler.search.index import Index, Poison
from crawler.search.opening import IndexConfig
from crawler.search.options import add_filter_options, read_filters
from crawler.search.restrictions import SORTS
from crawler.search.searching import Results, search, suggest
from crawler.search.snippets import plain

MARK = re.compile("<mark>(.*?)</mark>")
EMPTY = "scrapy crawl URL fills it, and scrapy search --rebuild, from pages that are stored already"
ACTS = ("suggest", "stats", "optimise", "backup", "backups", "restore", "rebuild")
OF_A_SEARCH = {
    "page": 1, "per_page": 10, "site": [], "lang": [], "after": None, "before": None, "sort": "", "copies": False,
}  # fmt: skip


class Command(ConsoleCommand):
    crawl_help = "only pages of this crawl (by default of all)"

    def syntax(self) -> str:
        return f'[options] "words" | {" | ".join(f"--{act}" for act in ACTS)}'

    def short_desc(self) -> str:
        return "Find pages that were crawled"

    def long_desc(self) -> str:
        return (
            'Words must all be on the page. "a phrase", -without, title:word, nearly~, begin*, w?ld, red OR green, '
            "(groups), site:host, -site:host, lang:de, after:2026-01, before:2026-02-01, sort:newest. The index is "
            "copied into the store with --backup; --restore makes it anew from a copy, --rebuild from stored pages. "
            "A search that begins with a - comes after --."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--page", type=int, default=OF_A_SEARCH["page"], metavar="N", help="page of results (by default 1)"
        )
        parser.add_argument(
            "--per-page",
            type=int,
            default=OF_A_SEARCH["per_page"],
            metavar="N",
            help="results on a page (by default 10)",
        )
        add_filter_options(parser)
        parser.add_argument("--sort", default="", choices=tuple(SORTS), help="order of results (by default relevance)")
        parser.add_argument("--copies", action="store_true", help="also pages whose body is that of another")
        parser.add_argument("--suggest", metavar="PREFIX", help="words and titles that begin so")
        parser.add_argument("--stats", action="store_true", help="how large the index is")
        parser.add_argument("--optimise", action="store_true", help="write the index anew, without what was replaced")
        parser.add_argument("--backup", action="store_true", help="copy the index into the store")
        parser.add_argument("--backups", action="store_true", help="list such copies, the oldest first")
        parser.add_argument("--keep", type=int, metavar="N", help="with these two: delete all but the N newest copies")
        parser.add_argument(
            "--restore", nargs="?", const="", metavar="VERSION",
            help="replace the index by a copy (by default the newest), once it is found to be whole",
        )  # fmt: skip
        parser.add_argument(
            "--rebuild", action="store_true", help="make the index anew from the stored pages, of one --crawl or of all"
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        if "--" in args:  # -site:a.org would be -s to argparse, and -draft an option that nobody knows
            at = args.index("--")
            args[at:] = [" ".join(["", *args[at + 1 :]])]  # with a space in it, no option to anybody
        try:
            super().process_options(args, opts)
        except UsageError as error:
            raise UsageError(f"{error}; a search that begins with a - comes after --") from None

    async def work(self, args: list[str], opts: argparse.Namespace) -> int:
        asked = [act for act in ACTS if getattr(opts, act) not in (None, False)]
        if len(asked) + bool(args) != 1:
            raise UsageError(f"give words to look for, or one of --{', --'.join(ACTS)}")
        self._refuse_idle(asked[0] if asked else "", opts)
        keeping = IndexKeeping(self._settings())
        if opts.backups:
            return await self._backups(keeping, opts)
        async with keeping.index(is_replaced=opts.rebuild or opts.restore is not None) as index:
            if args:
                return await self._search(index, " ".join(args), opts)
            if opts.suggest is not None:
                return await self._suggest(index, opts)
            if opts.backup:
                return await self._backup(keeping, index, opts)
            if opts.restore is not None:
                return await self._restore(keeping, index, opts)
            if opts.rebuild:
                return await self._rebuild(keeping, index, opts)
            if opts.optimise:
                await index.optimise()
            return await self._stats(index, opts)

    def _refuse_idle(self, act: str, opts: argparse.Namespace) -> None:
        """Options that would do nothing."""
        idle = [name for name, default in OF_A_SEARCH.items() if act and getattr(opts, name) != default]
        if idle:
            raise UsageError(f"--{idle[0].replace('_', '-')} is for searches, and not for --{act}")
        if opts.keep is not None and (act not in ("backup", "backups") or opts.keep < 1):
            raise UsageError("--keep is a number from 1 on, for --backup and --backups")
        if opts.crawl and act not in ("", "rebuild"):
            raise UsageError(f"--{act} is for all crawls; --crawl is for searches and for --rebuild")

    # --- Keeping ---------------------------------------------------------------------------------

    async def _backup(self, keeping: IndexKeeping, index: Index, opts: argparse.Namespace) -> int:
        manifest, deleted = await keeping.backup(index, opts.keep)
        if opts.json:
            print_json({**_summarise(manifest), "deleted": deleted})
        else:
            print(f"{manifest.version}: {manifest.documents:,} documents, {manifest.bytes / 1e6:.1f} MB")
            for version in deleted:
                print(f"deleted {version}")
        return 0

    async def _backups(self, keeping: IndexKeeping, opts: argparse.Namespace) -> int:
        found = await keeping.backups(opts.keep)
        if opts.json:
            print_json([
                _summarise(one.manifest) if one.manifest else {"version": one.version, "trouble": one.trouble}
                for one in found
            ])  # fmt: skip
        elif not found:
            print("there are no backups; scrapy search --backup makes one")
        else:
            grid = table("version", "documents", "MB", "engine", right=("documents", "MB"))
            for one in found:
                known = one.manifest
                if known is None:
                    grid.add_row(one.version, "", "", plain(one.trouble))
                else:
                    grid.add_row(one.version, f"{known.documents:,}", f"{known.bytes / 1e6:.1f}", plain(known.engine))
            terminal().print(grid)
        return 0

    async def _restore(self, keeping: IndexKeeping, index: Index, opts: argparse.Namespace) -> int:
        result = await keeping.restore(index, opts.restore)
        _tell_rejected(result.examples)
        if opts.json:
            print_json({
                "version": result.manifest.version, "documents": result.documents, "rejected": result.rejected,
            })  # fmt: skip
        else:
            print(f"restored {result.documents:,} documents of {result.manifest.version}")
        return FAILED if result.rejected else 0

    async def _rebuild(self, keeping: IndexKeeping, index: Index, opts: argparse.Namespace) -> int:
        result = await keeping.rebuild(index, opts.crawl or "")
        _tell_rejected(result.examples)
        counts = {name: getattr(result, name) for name in ("documents", "removed", "unreadable", "rejected")}
        if opts.json:
            print_json(counts)
        else:
            print(", ".join(f"{number:,} {name}" for name, number in counts.items()))
        return FAILED if result.rejected or result.unreadable else 0

    # --- Searching -------------------------------------------------------------------------------

    async def _suggest(self, index: Index, opts: argparse.Namespace) -> int:
        found = await suggest(index, opts.suggest)
        if opts.json:
            print_json({"suggestions": found})
        else:
            print("\n".join(found) or "nothing begins so")
        return 0

    async def _search(self, index: Index, text: str, opts: argparse.Namespace) -> int:
        results = await search(
            index, text, opts.page, opts.per_page, filters=read_filters(opts), sort=opts.sort,
            with_duplicates=opts.copies,
        )  # fmt: skip
        if opts.json:
            print_json(results)
        else:
            self._show(results)
        if not results.total_results and not (await index.stats()).documents:
            print(f"the index {self._config().url} is empty: {EMPTY}", file=sys.stderr)
        return 0

    def _show(self, results: Results) -> None:
        """What pages say is data here: no letter of it may be obeyed by the terminal, or by rich."""
        out = terminal()
        first = (results.page - 1) * results.per_page + 1
        for number, result in enumerate(results.results, first):
            out.print(Text.assemble((f"{number}. ", "dim"), _styled(result.title_html, "bold", "bold yellow")))
            out.print(Text(f"   {plain(result.url)}", "green"))
            if result.snippet:
                # On a terminal it is several lines; in a pipe one, for programs that read lines.
                snippet = Padding(_styled(result.snippet, "", "yellow"), (0, 0, 0, 3), expand=False)
                out.print(snippet, soft_wrap=False)
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

    def _settings(self) -> BaseSettings:
        if self.settings is None:
            raise ConfigurationError("a command needs settings: run it with scrapy")
        return self.settings

    def _config(self) -> IndexConfig:
        return IndexConfig.from_settings(self._settings())


def _summarise(manifest: Manifest) -> dict[str, str | int]:
    return {
        "version": manifest.version, "made_at": manifest.made_at, "engine": manifest.engine,
        "documents": manifest.documents, "parts": len(manifest.parts), "bytes": manifest.bytes,
    }  # fmt: skip


def _tell_rejected(examples: Sequence[Poison]) -> None:
    for poison in examples:
        print(f"rejected: {plain(poison.document.url)}: {plain(poison.error)}", file=sys.stderr)


def _styled(marked: str, style: str, mark_style: str) -> Text:
    """Our own HTML, which has no other tags than marks, for a terminal."""
    text = Text(style=style)
    for number, piece in enumerate(MARK.split(marked)):
        text.append(plain(f"|{html.unescape(piece)}|")[1:-1], mark_style if number % 2 else None)
    return text
