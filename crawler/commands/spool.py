"""``scrapy spool``: what waits on this machine for a store or an index that was away, and its delivery."""

import argparse
import contextlib
from typing import Any

from scrapy.exceptions import UsageError

from crawler.console import FAILED, ConsoleCommand, print_json, table, terminal
from crawler.delivery.outlet import REJECTED_FILE, Outlet
from crawler.delivery.spool import ASIDE_SUFFIX
from crawler.errors import ConfigurationError, EngineRefused
from crawler.pipelines.config import KeepConfig
from crawler.pipelines.outlets import make_index_outlet, make_store_outlet
from crawler.search.opening import open_index
from crawler.storage.opening import build_store

OUTLETS = ("store", "index")


class Command(ConsoleCommand):
    crawl_help = ""  # the pages of all crawls wait together

    def syntax(self) -> str:
        return "[options] [status | drain]"

    def short_desc(self) -> str:
        return "What waits for a store or an index that was away"

    def long_desc(self) -> str:
        return (
            "Pages that the store or the index could not take wait in DATA_DIR/spool of the machine that fetched them. "
            "Workers deliver them; drain does it without one. Exits with 1 if something still waits afterwards."
        )

    async def work(self, args: list[str], opts: argparse.Namespace) -> int:
        act = args[0] if args else "status"
        if len(args) > 1 or act not in ("status", "drain"):
            raise UsageError("give status or drain")
        if self.settings is None:
            raise ConfigurationError("a command needs settings: run it with scrapy")
        config = KeepConfig.from_settings(self.settings)
        trouble = await self._drain(config) if act == "drain" else {}
        rows = [self._look(config, name, trouble.get(name, "")) for name in OUTLETS]
        if opts.json:
            print_json(rows)
        else:
            grid = table("for", "bytes", "segments", "rejected", "set aside", "trouble", right=("bytes", "segments"))
            for row in rows:
                grid.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
            terminal().print(grid)
        return FAILED if act == "drain" and any(row["bytes"] for row in rows) else 0

    async def _drain(self, config: KeepConfig) -> dict[str, str]:
        """Answers what is wrong, by outlet."""
        store, index = build_store(config.store), open_index(config.index)
        trouble: dict[str, str] = {}
        try:
            for outlet in (
                make_store_outlet(store, config.spool("store")),
                make_index_outlet(index, config.spool("index"), config.index_round_seconds),
            ):
                await self._drain_one(outlet, trouble)
        finally:
            await store.close()
            await index.close()
        return trouble

    async def _drain_one(self, outlet: Outlet[Any], trouble: dict[str, str]) -> None:
        try:
            await outlet.open()
        except EngineRefused as error:  # the other one may take what waits for it all the same
            trouble[outlet.name] = str(error)
            return
        if not await outlet.close() or outlet.trouble:
            trouble[outlet.name] = outlet.trouble or "a worker is writing, and delivers it"

    def _look(self, config: KeepConfig, name: str, trouble: str) -> dict[str, int | str]:
        spool = config.spool(name)
        rejected = spool.directory / REJECTED_FILE
        lines = 0
        if rejected.exists():
            with rejected.open("rb") as file:
                lines = sum(1 for _ in file)
        return {
            "for": name,
            "bytes": spool.size_bytes() + (_upload_bytes(config) if name == "store" else 0),
            "segments": spool.count(),
            "rejected": lines,
            "set_aside": len(list(spool.directory.glob(f"*{ASIDE_SUFFIX}"))),
            "trouble": trouble,
        }


def _upload_bytes(config: KeepConfig) -> int:
    """Of WARC files that wait to be uploaded to S3, or are still written."""
    total = 0
    room = config.store.waiting_room
    for path in room.rglob("*.warc.gz") if room is not None else ():
        with contextlib.suppress(FileNotFoundError):  # uploaded since
            total += path.stat().st_size
    return total
