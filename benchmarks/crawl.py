"""How many pages per CPU-second? This project, stock Scrapy and scrapy-redis crawl the same link-dense site in turn.

The CPU time is the crawler's: user and system time of its process and what it started. Redis and nginx run beside
it and are not in it; what Redis used is told separately. This project keeps every page in its store and its index, as
it does by default, in threads of the same process, so that their time is in it; one row shows it with neither. The
peers keep nothing.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.site import LinkDenseSite
from crawler.search.opening import IndexConfig, open_index
from tests.servers import RedisServer

PAGES, QUICK_PAGES = 2000, 200
ROUNDS, QUICK_ROUNDS = 3, 1
CONCURRENCY = 16
START_UPS = 3  # the first may compile
OURS, STOCK, SCRAPY_REDIS = "this project", "stock Scrapy", "scrapy-redis"
OURS_BARE, OURS_MANY = "this project, nothing kept", "this project, 8 hosts"
HOSTS = 8
# What a user sets for a host of one's own that may be asked as fast as it answers.
OUR_SETTINGS = {
    "ALLOW_PRIVATE": "True",
    "FRONTIER_RATE": "0",
    "FRONTIER_VISIT_PAGES": "64",
    "CONCURRENT_REQUESTS": str(CONCURRENCY),
    "CONCURRENT_REQUESTS_PER_DOMAIN": str(CONCURRENCY),
    "MAX_DEPTH": "-1",
}
ROOT = Path(__file__).parents[1]


def run(quick: bool) -> dict[str, Any]:
    pages, rounds = (QUICK_PAGES, QUICK_ROUNDS) if quick else (PAGES, ROUNDS)
    runs: list[dict[str, Any]] = []
    start_up = {name: min(_start_up_seconds(name) for _ in range(START_UPS)) for name in (OURS, STOCK)}
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as many,
        LinkDenseSite(Path(one), pages) as site,
        LinkDenseSite(Path(many), pages, hosts=HOSTS) as spread,
    ):
        for number in range(1, rounds + 1):
            for name in (OURS, OURS_BARE, STOCK, SCRAPY_REDIS, OURS_MANY):
                runs.append({"round": number, **_crawl(name, spread if name == OURS_MANY else site)})
                print(_line(runs[-1]), flush=True)
    return {"pages": pages, "concurrency": CONCURRENCY, "runs": runs, **_summarise(runs), "start_up_cpu": start_up}


def _summarise(runs: list[dict[str, Any]]) -> dict[str, Any]:
    names = list(dict.fromkeys(run["who"] for run in runs))
    medians = {
        name: {
            key: round(median(run[key] for run in runs if run["who"] == name), 3)
            for key in ("pages_per_cpu_second", "pages_per_cpu_second_with_redis", "pages_per_second", "redis_cpu")
        }
        for name in names
    }
    # Not of the crawl of several hosts: the peers did not do that one.
    ratios = {
        f"{ours} / {peer}": {
            key: round(medians[ours][key] / medians[peer][key], 2)
            for key in ("pages_per_cpu_second", "pages_per_cpu_second_with_redis", "pages_per_second")
        }
        for ours in (OURS, OURS_BARE)
        for peer in (STOCK, SCRAPY_REDIS)
    }
    return {"medians": medians, "ratios": ratios}


def _crawl(who: str, site: LinkDenseSite) -> dict[str, Any]:
    # Removed with the site's: ext4 looks for long at each place where a file was deleted in the last minutes, and what
    # one round removed would slow down the files of the next.
    scratch = tempfile.mkdtemp(dir=site.scratch)
    with RedisServer(Path(scratch) / "redis", extra_args=["--appendfsync", "everysec"]) as server:
        before = _redis_cpu(server)
        began = time.monotonic()
        cpu_seconds, status, log = _run(_command(who, site.seed, server.url, scratch), Path(scratch))
        seconds = time.monotonic() - began
        redis_cpu = _redis_cpu(server) - before
        kept = _count_kept(Path(scratch))
    hits = site.take_hits()
    if status or len(hits) != site.pages:
        raise SystemExit(f"{who} ended with {status} and {len(hits)} of {site.pages} pages; its log ends:\n{log}")
    expected = site.pages if who in (OURS, OURS_MANY) else 0
    if set(kept.values()) != {expected}:
        raise SystemExit(f"{who} was to keep {expected} pages, and kept {kept}; its log ends:\n{log}")
    return {
        "who": who,
        "pages": len(hits),
        **kept,
        "requests": hits.total(),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "redis_cpu": round(redis_cpu, 2),
        "pages_per_second": round(len(hits) / seconds, 1),
        "pages_per_cpu_second": round(len(hits) / cpu_seconds, 1),
        "pages_per_cpu_second_with_redis": round(len(hits) / (cpu_seconds + redis_cpu), 1),
    }


def _command(who: str, seed: str, redis_url: str, scratch: str) -> list[str]:
    if who == STOCK:
        return [sys.executable, "-m", "benchmarks.peers", "stock", seed, str(CONCURRENCY)]
    if who == SCRAPY_REDIS:
        return [sys.executable, "-m", "benchmarks.peers", "scrapy-redis", seed, str(CONCURRENCY), redis_url]
    settings = OUR_SETTINGS | {"REDIS_URL": redis_url, "DATA_DIR": scratch}
    if who == OURS_MANY:
        settings["FOLLOW_HOSTS"] = "all"
    if who == OURS_BARE:
        settings |= {"STORE_PAGES": "False", "INDEX_PAGES": "False"}
    command = [sys.executable, "-m", "scrapy", "crawl", "broad", "-a", f"seeds={seed}"]
    for name, value in settings.items():
        command += ["-s", f"{name}={value}"]
    return command


def _run(command: list[str], scratch: Path) -> tuple[float, int, str]:
    """CPU seconds of the process and its children, its exit status, and the end of its log."""
    path = scratch / "crawler.log"
    # Modules are compiled once and kept, as those of the libraries are.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with path.open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # it was waited for: Popen need not
    return usage.ru_utime + usage.ru_stime, process.returncode, path.read_text(errors="replace")[-3000:]


def _count_kept(data_dir: Path) -> dict[str, int]:
    """A crawl that dropped what it should keep would be fast."""
    index = open_index(IndexConfig.from_url(f"file:{data_dir / 'index'}"))

    async def count() -> int:
        try:
            return (await index.stats()).documents
        finally:
            await index.close()

    return {
        "stored": sum(1 for _ in (data_dir / "store" / "pages").glob("*/*.html.gz")),
        "indexed": asyncio.run(count()) if (data_dir / "index").exists() else 0,
    }


def _start_up_seconds(who: str) -> float:
    """CPU seconds of a process that imports what a crawl needs and ends: what short crawls pay."""
    code = "import scrapy.cmdline, crawler.spiders.broad" if who == OURS else "import benchmarks.peers"
    with tempfile.TemporaryDirectory() as scratch:
        return round(_run([sys.executable, "-c", code], Path(scratch))[0], 2)


def _redis_cpu(server: RedisServer) -> float:
    with server.client() as client:
        used = client.info("cpu")
    return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])


def _line(run: dict[str, Any]) -> str:
    return (
        f"{run['who']:28} {run['pages']} pages, {run['pages_per_cpu_second']:7.1f} per CPU-second, "
        f"{run['pages_per_second']:7.1f} per second, Redis {run['redis_cpu']:.2f} s of CPU"
    )
