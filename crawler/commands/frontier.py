"""``scrapy frontier``: looks at a crawl, and steers it."""

import argparse
import contextlib
import heapq
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime
from typing import IO, Any

from scrapy.exceptions import UsageError

from crawler.console import FAILED, ConsoleCommand, file_path, print_json, table, terminal
from crawler.frontier import control, insight
from crawler.frontier.archive import export_crawl, import_crawl
from crawler.frontier.audit import audit
from crawler.frontier.failures import Failure, failures
from crawler.frontier.frontier import Frontier
from crawler.frontier.reasons import EXPLANATIONS, Dead
from crawler.frontier.scope import Scope
from crawler.frontier.workers import live_workers

Action = Callable[[Frontier, list[str], argparse.Namespace], Awaitable[int]]


class Command(ConsoleCommand):
    def syntax(self) -> str:
        return (
            "[options] status | hosts | failures [REASON] | why URL | pause | resume | drain | block HOST | "
            "unblock HOST | purge --yes | export [FILE] | import [FILE] | audit"
        )

    def short_desc(self) -> str:
        return "Look at a crawl, and steer it"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--seconds", type=float, metavar="N", help="block: how long (by default until unblocked)")
        parser.add_argument(
            "--top", type=int, default=20, metavar="N", help="hosts, failures: how many (by default 20)"
        )
        parser.add_argument("--yes", action="store_true", help="purge: I know that this removes the crawl")
        parser.add_argument("--repair", action="store_true", help="audit: repair what is found")

    async def work(self, args: list[str], opts: argparse.Namespace) -> int:
        actions: dict[str, tuple[Action, int, int]] = {  # with how many arguments, at least and at most
            "status": (self._status, 0, 0),
            "hosts": (self._hosts, 0, 0),
            "failures": (self._failures, 0, 1),
            "why": (self._why, 1, 1),
            "pause": (self._pause, 0, 0),
            "resume": (self._resume, 0, 0),
            "drain": (self._drain, 0, 0),
            "block": (self._block, 1, 1),
            "unblock": (self._unblock, 1, 1),
            "purge": (self._purge, 0, 0),
            "export": (self._export, 0, 1),
            "import": (self._import, 0, 1),
            "audit": (self._audit, 0, 0),
        }
        if not args or args[0] not in actions:
            given = f"{args[0]!r} is none of" if args else "give one of"
            raise UsageError(f"{given} {', '.join(actions)}")
        action, least, most = actions[args[0]]
        if not least <= len(args) - 1 <= most:
            raise UsageError(f"{args[0]} takes {most or 'no'} argument{'s' * (most != 1)}, not {len(args) - 1}")
        if args[0] == "purge" and not opts.yes:
            raise UsageError("purge removes the crawl for good: say so with --yes")
        if opts.seconds is not None and not 0 < opts.seconds < 1e10:
            raise UsageError("--seconds takes a number above 0")
        async with self.frontier(opts) as frontier:
            return await action(frontier, args[1:], opts)

    # --- Looking -----------------------------------------------------------------------------

    async def _status(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        status = await frontier.status()
        workers = await live_workers(frontier.connection, frontier.keys, frontier.keys.crawl)
        if opts.json:
            sums = {name: status.count(name) for name in ("accepted", "queued", "leased", "done", "dead")}
            others = {name: n for name, n in status.counts.items() if name not in sums and not name.startswith("dead:")}
            print_json(
                {
                    "crawl": status.crawl, "state": status.state or "running", **sums, "balance": status.balance,
                    "dead_reasons": status.dead_reasons, "drops": status.drops, "counts": others,
                    "hosts_ready": status.hosts_ready, "hosts_waiting": status.hosts_waiting,
                    "hosts_visited": status.hosts_visited,
                    "retries_waiting": status.retries_waiting, "recrawls_waiting": status.recrawls_waiting,
                    "held_back": status.held_back,
                    "next_due_seconds": status.next_due_seconds, "finished": status.is_finished, "workers": workers,
                }
            )  # fmt: skip
            return 0
        out, grid = terminal(), table("", "")
        grid.add_row("crawl", status.crawl)
        grid.add_row("state", status.state or ("finished" if status.is_finished else "running"))
        terms = " + ".join(f"{name} {status.count(name)}" for name in ("queued", "leased", "done", "dead"))
        sign = "=" if status.balance == 0 else "≠"
        grid.add_row("URLs", f"accepted {status.count('accepted')} {sign} {terms}")
        grid.add_row("pages", str(status.count("pages")))
        hosts = f"{status.hosts_visited} visited, {status.hosts_ready} ready, {status.hosts_waiting} waiting"
        grid.add_row("hosts", hosts + (f", {status.held_back} URLs of blocked hosts" if status.held_back else ""))
        if status.retries_waiting:
            grid.add_row("retries", f"{status.retries_waiting} waiting")
        if status.recrawls_waiting:
            unchanged = f", {status.count('unchanged')} times unchanged" if status.count("unchanged") else ""
            grid.add_row("recrawl", f"{status.recrawls_waiting} pages wait to be crawled again{unchanged}")
        for title, reasons in (("dead", status.dead_reasons), ("dropped", status.drops)):
            for reason, number in sorted(reasons.items(), key=lambda pair: -pair[1]):
                grid.add_row(title, f"{number} {reason}: {EXPLANATIONS.get(reason, '')}".rstrip(": "))
                title = ""
        grid.add_row("workers", str(len(workers)) if workers else "none")
        for worker in workers:
            grid.add_row("", f"{worker.id}: {worker.pages} pages, holds {worker.holds}")
        out.print(grid)
        return 0

    async def _hosts(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        if opts.top < 1:
            raise UsageError("--top takes a number above 0")
        found = await insight.hosts(frontier, opts.top)
        if opts.json:
            print_json([{**asdict(host), "total": host.total} for host in found])
            return 0
        if not found:
            print("no host has URLs queued")
            return 0
        grid = table("host", "queued", "classes", "state", "pages", "fails", right=("queued", "pages", "fails"))
        for host in found:
            classes = " ".join(f"{name} {number}" for name, number in host.queued.items())
            grid.add_row(host.host, str(host.total), classes, host.describe(), str(host.pages), str(host.fails))
        terminal().print(grid)
        return 0

    async def _failures(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        if args and args[0] not in set(Dead):
            raise UsageError(f"{args[0]!r} is no reason of a failure; there are {', '.join(Dead)}")
        if opts.json:  # all of them, one a line
            async for failure in failures(frontier, *args):
                print(json.dumps({**failure.as_record(), "reason": failure.reason, "detail": failure.detail}))
            return 0
        if opts.top < 1:
            raise UsageError("--top takes a number above 0")
        latest: list[tuple[float, int, Failure]] = []
        number = 0
        async for failure in failures(frontier, *args):
            number += 1
            keep = heapq.heappush if len(latest) < opts.top else heapq.heappushpop
            keep(latest, (failure.at, number, failure))
        if not latest:
            print("nothing failed" + (f" as {args[0]}" if args else ""))
            return 0
        grid = table("when", "reason", "detail", "URL")
        for *_, failure in sorted(latest, reverse=True):
            when = datetime.fromtimestamp(failure.at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
            grid.add_row(when, failure.reason, insight.printable(failure.detail), insight.printable(failure.url))
        terminal().print(grid)
        if number > len(latest):
            print(f"the last {len(latest)} of {number}; --top shows more, --json all")
        return 0

    async def _why(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        assert self.settings is not None  # noqa: S101  Scrapy sets it before it runs a command
        user_agent = str(self.settings["USER_AGENT"])
        answer = await insight.why(frontier, args[0], Scope.from_config(frontier.config), user_agent)
        if opts.json:
            print_json(answer)
            return 0
        print(answer.url)
        print(answer.message)
        if answer.reason or answer.details:
            grid = table("", "")
            if answer.reason:
                grid.add_row("reason", answer.reason)
            for name, value in answer.details.items():
                if value is not None and value != "" and not isinstance(value, dict):  # the message has said those
                    grid.add_row(name.replace("_", " "), str(value))
            terminal().print(grid)
        return 0

    # --- Steering ----------------------------------------------------------------------------

    async def _pause(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        await control.pause(frontier)
        return self._say(opts, f"{frontier.keys.crawl}: paused; workers wait until it is resumed", state="paused")

    async def _resume(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        await control.resume(frontier)
        return self._say(opts, f"{frontier.keys.crawl}: resumed", state="running")

    async def _drain(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        await control.drain(frontier)
        message = f"{frontier.keys.crawl}: draining; workers finish what they hold, and end"
        return self._say(opts, message, state="draining")

    async def _block(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        host = control.read_host(args[0])
        await control.block(frontier, host, opts.seconds)
        how_long = "until it is unblocked" if opts.seconds is None else f"for {opts.seconds:g} s"
        return self._say(opts, f"{host}: blocked in all crawls, {how_long}", host=host, seconds=opts.seconds)

    async def _unblock(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        host = control.read_host(args[0])
        await control.unblock(frontier, host)
        return self._say(opts, f"{host}: unblocked", host=host)

    async def _purge(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        removed = await control.purge(frontier)
        return self._say(opts, f"{frontier.keys.crawl}: purged, {removed} keys removed", keys=removed)

    # --- Moving and checking -----------------------------------------------------------------

    async def _export(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        to_output = not args or args[0] == "-"
        lines = 0
        with contextlib.ExitStack() as stack:
            out: IO[bytes] = sys.stdout.buffer if to_output else stack.enter_context(file_path(args[0]).open("wb"))
            async for line in export_crawl(frontier):
                out.write(line)
                lines += 1
            out.flush()
        return 0 if to_output else self._say(opts, f"{frontier.keys.crawl}: {lines} lines in {args[0]}", lines=lines)

    async def _import(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        with contextlib.ExitStack() as stack:
            from_input = not args or args[0] == "-"
            source: IO[bytes] = sys.stdin.buffer if from_input else stack.enter_context(file_path(args[0]).open("rb"))
            imported = await import_crawl(frontier, source)
        message = f"imported {imported.queued} queued, {imported.dead} dead and {imported.seen} seen URLs"
        if not imported.is_new:
            message = "this export had been imported before; nothing changed"
        return self._say(opts, f"{frontier.keys.crawl}: {message}", **asdict(imported))

    async def _audit(self, frontier: Frontier, args: list[str], opts: argparse.Namespace) -> int:
        result = await audit(frontier, repair=opts.repair)
        if opts.json:
            print_json({"sound": result.is_sound, **asdict(result)})
            return 0 if result.is_sound else FAILED
        grid = table("kind", "where", "what")
        for finding in result.findings:
            grid.add_row(finding.kind, finding.where, finding.message)
        if result.findings:
            terminal().print(grid)
        if result.is_moving:
            print("The crawl changed while it was counted, so its counts were not checked: pause it for that.")
        if not result.findings:
            print(f"{frontier.keys.crawl}: nothing wrong found")
        elif not result.is_sound:
            print(f"{len(result.findings)} findings; --repair repairs them")
        return 0 if result.is_sound else FAILED

    def _say(self, opts: argparse.Namespace, message: str, **values: Any) -> int:
        if opts.json:
            print_json({"crawl": self.config(opts).crawl, **values})
        else:
            print(message)
        return 0
