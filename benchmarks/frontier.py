"""How many URLs pushed, leased and acked per second of Redis CPU, and does that change as the frontier grows?

A server for each size, all filled before anything is measured. Then they are asked in turn, many small rounds each, so
that a slow moment of the machine hits all sizes; medians are compared. What is pushed in a round is leased in it too:
the frontiers keep their size.
"""

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis

from benchmarks.load import URLS_PER_HOST, Urls, cpu_seconds, push, start_redis
from crawler.frontier.connection import load_script
from crawler.frontier.keys import Keys

SIZES, QUICK_SIZES = (10_000, 1_000_000, 10_000_000), (2_000, 10_000)
ROUNDS, QUICK_ROUNDS = 15, 2
PART = 2_000  # URLs of one measurement
BATCH = 200  # links of a page
WANTED = 32  # URLs in one lease
RATE_PER_MS, BURST, LOCK_MS = 1000, 10, 60_000


class Sized:
    """A frontier of some size, and what was measured on it."""

    def __init__(self, client: redis.Redis, size: int) -> None:
        self.client = client
        self.size = size
        self.keys = Keys("bench", "crawl", 1, 65_536)
        self.urls = Urls(self.keys, max(50, size // URLS_PER_HOST))
        self.next = 0
        self.scripts = {name: client.script_load(load_script(name).source) for name in ("push", "lease", "ack")}
        self.runs: dict[str, list[tuple[float, float]]] = {}  # question → URLs per CPU-second and per second

    def fill(self) -> None:
        push(self.client, self.keys, (self.urls.push_arguments(n, 500) for n in range(0, self.size, 500)))
        self.next = self.size

    def measure(self, question: str, work: Callable[[], int]) -> None:
        cpu, clock = cpu_seconds(self.client), time.perf_counter()
        number = work()
        seconds = time.perf_counter() - clock
        self.runs.setdefault(question, []).append((number / (cpu_seconds(self.client) - cpu), number / seconds))

    def call(self, script: str, *arguments: Any) -> Any:
        return self.client.evalsha(self.scripts[script], 1, self.keys.tag(0), *arguments)

    def prepare_push(self, run: int) -> Callable[[], int]:
        batches = [self.urls.push_arguments(self.next + n, BATCH, run) for n in range(0, PART, BATCH)]
        self.next += PART

        def work() -> int:
            for batch in batches:
                self.call("push", *batch)
            return PART

        return work

    def lease_and_ack(self, visit_pages: int) -> int:
        number = 0
        while number < PART:
            visits = self._lease(visit_pages)
            arguments: list[Any] = []
            for fence, host, _, _, *entries in visits:
                pages = [entry[:8] for entry in entries]
                number += len(pages)
                # The last fetch began long ago: the next lease finds the bucket full.
                arguments += (fence, host, LOCK_MS, 0, 0, 0, 0, len(pages), *pages, 0, 0, 0, 0, 0)
            self.call("ack", "crawl", 300_000, 1, *arguments)
        return number

    def _lease(self, visit_pages: int) -> list[Any]:
        weights = (70, 20, 10)
        visits: list[Any] = self.call(
            "lease", "crawl", "worker", WANTED, visit_pages, RATE_PER_MS, BURST, LOCK_MS, 0, *weights, 0, 0
        )[2]
        return visits

    def medians(self) -> dict[str, dict[str, int]]:
        return {
            question: {
                "per_redis_cpu_second": round(statistics.median(run[0] for run in runs)),
                "per_second": round(statistics.median(run[1] for run in runs)),
            }
            for question, runs in self.runs.items()
        }


def run(quick: bool) -> dict[str, Any]:
    sizes, rounds = (QUICK_SIZES, QUICK_ROUNDS) if quick else (SIZES, ROUNDS)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        frontiers = [Sized(stack.enter_context(start_redis(scratch / str(size))), size) for size in sizes]
        for frontier in frontiers:
            started = time.perf_counter()
            frontier.fill()
            print(f"{frontier.size:>10,} URLs queued in {time.perf_counter() - started:.0f} s", flush=True)
        for _ in range(rounds):
            for frontier in frontiers:
                for question, links_in_a_row in (("push, few hosts", 50), ("push, many hosts", 1)):
                    frontier.measure(question, frontier.prepare_push(links_in_a_row))
                for visit_pages in (8, 1):
                    question = f"lease and ack, visits of {visit_pages}"
                    frontier.measure(question, lambda f=frontier, pages=visit_pages: f.lease_and_ack(pages))  # type: ignore[misc]
        medians = {str(frontier.size): frontier.medians() for frontier in frontiers}
        runs = {str(frontier.size): frontier.runs for frontier in frontiers}
    smallest, largest = str(sizes[0]), str(sizes[-1])
    ratios = {
        question: round(medians[largest][question]["per_redis_cpu_second"] / row["per_redis_cpu_second"], 2)
        for question, row in medians[smallest].items()
    }
    _show(medians, ratios)
    return {"rounds": rounds, "medians": medians, "largest_to_smallest": ratios, "runs": runs}


def _show(medians: dict[str, dict[str, dict[str, int]]], ratios: dict[str, float]) -> None:
    print("URLs per second of Redis CPU (and per second of the clock)")
    print(f"{'':28}" + "".join(f"{int(size):>22,}" for size in medians) + "   last/first")
    for question, ratio in ratios.items():
        cells = (rows[question] for rows in medians.values())
        shown = "".join(f"{cell['per_redis_cpu_second']:>12,} ({cell['per_second']:>7,})" for cell in cells)
        print(f"{question:28}{shown}{ratio:>13}")
