"""How long until what a killed worker held is fetched by another? Judged by the web server's log.

Three workers crawl; one is stopped, what it holds is read from Redis, and it is killed with SIGKILL. The clock runs
from the kill to the end of the last first fetch of those URLs by a worker that lived.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from scrapy.settings import Settings

from benchmarks.crawl import ROOT
from crawler.frontier.config import FrontierConfig
from crawler.frontier.entry import decode
from crawler.frontier.frontier import Frontier
from crawler.frontier.insight import describe_hosts
from crawler.frontier.keyspace import read_leased
from tests.servers import RedisServer, wait_until
from tests.web import Site, WebServer

WORKERS = 3
REPEATS, QUICK_REPEATS = 3, 1
DEADLINE_SECONDS = 60
# polite: the defaults, one request a second to each host, so that what was held of one host returns one by one.
# fast: as quickly as the hosts answer, with a backlog that what returns has to compete with.
KINDS: dict[str, dict[str, str]] = {"polite": {}, "fast": {"FRONTIER_RATE": "0"}}
SITES = {
    "polite": {"hosts": 40, "pages": 40, "latency_ms": 50},
    "fast": {"hosts": 40, "pages": 200, "latency_ms": 200},
}


def run(quick: bool) -> dict[str, Any]:
    repeats = QUICK_REPEATS if quick else REPEATS
    runs = []
    for number in range(1, repeats + 1):
        for kind in ("fast",) if quick else KINDS:
            runs.append({"repeat": number, "kind": kind, **_recover(kind)})
            print(f"{kind:7} {runs[-1]['held']} URLs held, all fetched after {runs[-1]['seconds']:.1f} s", flush=True)
    slowest = {kind: max(run["seconds"] for run in runs if run["kind"] == kind) for kind in {r["kind"] for r in runs}}
    return {"workers": WORKERS, "lock_seconds": 10, "runs": runs, "slowest_seconds": slowest}


def _recover(kind: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        with RedisServer(scratch / "redis") as server, WebServer(Site.trees(**SITES[kind]), scratch) as web:
            settings = {"ALLOW_PRIVATE": "True", "MAX_DEPTH": "-1", "REDIS_URL": server.url, "DATA_DIR": name}
            settings |= KINDS[kind]
            workers = [_start(number, web.seeds(), settings, scratch) for number in range(WORKERS)]
            try:
                agents = {f"worker-{number}" for number in range(WORKERS)}
                # In the middle: all of them fetch, and each has pages in its hands.
                wait_until(lambda: {hit.user_agent for hit in web.pages()} == agents, "all workers to fetch", 60)
                web.wait_for_pages(300, 60)
                return _kill_and_wait(workers, settings, web)
            finally:
                for worker in workers:
                    worker.kill()
                    worker.wait()


def _start(number: int, seeds: list[str], settings: dict[str, str], scratch: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "scrapy", "crawl", "broad", "-s", f"USER_AGENT=worker-{number}"]
    if number == 0:
        command += ["-a", f"seeds={','.join(seeds)}"]
    for setting, value in settings.items():
        command += ["-s", f"{setting}={value}"]
    if number:
        command += ["-s", "KEEP_ALIVE=True"]  # it may look before the first one has planted the seeds
    with (scratch / f"worker-{number}.log").open("wb") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)


def _kill_and_wait(workers: list[subprocess.Popen[bytes]], settings: dict[str, str], web: WebServer) -> dict[str, Any]:
    for number in range(WORKERS):
        # Stopped first: what it holds cannot change between the look and the kill.
        os.kill(workers[number].pid, signal.SIGSTOP)
        held = asyncio.run(_held_by(workers[number].pid, settings))
        if held:
            break
        os.kill(workers[number].pid, signal.SIGCONT)
    else:
        raise SystemExit("no worker held anything: the site is too small for this machine")
    killed = time.time()
    workers[number].kill()
    workers[number].wait()

    def fetched() -> dict[str, float]:
        ends: dict[str, float] = {}
        for hit in web.pages():
            if hit.user_agent != f"worker-{number}" and hit.start >= killed and hit.end and hit.status == 200:
                ends.setdefault(hit.url, hit.end)
        return ends

    wait_until(lambda: held <= fetched().keys(), "what the dead worker held", DEADLINE_SECONDS)
    ends = fetched()
    return {"held": len(held), "seconds": round(max(ends[url] for url in held) - killed, 2)}


async def _held_by(pid: int, settings: dict[str, str]) -> set[str]:
    values = Settings()
    values.setmodule("crawler.settings")
    values.update(settings)
    frontier = await Frontier.open(FrontierConfig.from_settings(values))
    try:
        leased = [waiting async for waiting in read_leased(frontier, 0)]
        hosts = sorted({waiting.host for waiting in leased})
        owners = {state.host: state.worker for state in await describe_hosts(frontier, hosts)}
        mine = {host for host, worker in owners.items() if worker.split("-")[-2:-1] == [str(pid)]}
        return {decode(waiting.entry, waiting.host).url for waiting in leased if waiting.host in mine}
    finally:
        await frontier.close()
