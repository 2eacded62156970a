"""Workers as processes of their own, for tests that kill, stop and restart them.

    with Fleet(redis_url, tmp_path, FRONTIER_LOCK_SECONDS=2) as fleet:
        fleet.seed(web.seeds())
        first, second = fleet.start(2)
        first.kill9()
        fleet.wait()
        fleet.check_sum()

Each worker calls itself by its number in the User-Agent, so that the web server's log tells them apart.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import redis
from scrapy.settings import Settings

from crawler.embedded.keeper import die_with_parent
from crawler.frontier.config import FrontierConfig
from crawler.frontier.frontier import Frontier
from crawler.frontier.messages import Status
from tests.patience import SLOWEST

ROOT = Path(__file__).parent.parent
CRAWL = "faults"
# Loopback hosts, no politeness, every depth, and a worker that looks around often: a test has no time to wait. Pages
# are kept where that is what is tested.
FAST: dict[str, Any] = {
    "STORE_PAGES": 0,
    "INDEX_PAGES": 0,
    "ALLOW_PRIVATE": 1,
    "FRONTIER_RATE": 0,
    "FRONTIER_IDLE_SECONDS": 0.2,
    "FRONTIER_BLOOM_CAPACITY": 100_000,
    "MAX_DEPTH": -1,
    "RETRY_DELAYS": "0.2,0.4",
}


def environment(redis_url: str, data_dir: Path | str, **extra: str) -> dict[str, str]:
    ours = {"CRAWLER_REDIS_URL": redis_url, "CRAWLER_DATA_DIR": str(data_dir)}
    others = {name: value for name, value in os.environ.items() if not name.startswith(("CRAWLER_", "ORBWEAVER_"))}
    return {**others, "PYTHONUNBUFFERED": "1", **ours, **extra}


class Worker:
    def __init__(self, name: str, command: list[str], env: dict[str, str], log_path: Path) -> None:
        self.name = name  # its User-Agent
        self.log_path = log_path
        self.was_killed = False
        self.killed_at = 0.0  # as the web server's log has it
        parent = os.getpid()
        with log_path.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=lambda: die_with_parent(parent),
            )

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def kill9(self) -> None:
        if self.is_running:
            self.was_killed = True
            self.process.kill()
            self.process.wait()
            self.killed_at = time.time()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = 60) -> int:
        try:
            return self.process.wait(seconds * SLOWEST)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"{self.name} still runs after {seconds * SLOWEST} s; its log ends:\n{self.log[-3000:]}"
            ) from None


class Fleet:
    def __init__(
        self, redis_url: str, directory: Path, spider: str = "broad", env: dict[str, str] | None = None, **settings: Any
    ) -> None:
        self.redis_url = redis_url
        self.directory = directory
        self.spider = spider
        self.settings = {**FAST, "FRONTIER_CRAWL": CRAWL, **settings}
        self.workers: list[Worker] = []
        self._env = environment(redis_url, directory / "data", **(env or {}))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.kill9()

    # --- Workers ---------------------------------------------------------------------------------

    def start(self, number: int = 1, **settings: Any) -> list[Worker]:
        started = []
        for _ in range(number):
            name = f"worker-{len(self.workers) + 1}"
            values = {**self.settings, "USER_AGENT": name, **settings}
            command = [sys.executable, "-m", "scrapy", "crawl", self.spider]
            for key, value in values.items():
                command += ["-s", f"{key}={value}"]
            worker = Worker(name, command, self._env, self.directory / f"{name}.log")
            self.workers.append(worker)
            started.append(worker)
        return started

    @property
    def running(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.is_running]

    @property
    def killed(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.was_killed]

    def wait(self, seconds: float = 60) -> None:
        """Until all have ended by themselves, and well."""
        deadline = time.monotonic() + seconds * SLOWEST
        for worker in self.workers:
            if not worker.was_killed:
                status = worker.wait(max(0.1, deadline - time.monotonic()))
                assert status == 0, f"{worker.name} ended with {status}; its log ends:\n{worker.log[-3000:]}"

    # --- The crawl -------------------------------------------------------------------------------

    def seed(self, urls: Iterable[str]) -> None:
        with redis.Redis.from_url(self.redis_url) as client:
            client.rpush(f"{self.spider}:start_urls", *urls)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """``scrapy frontier drain`` and the like, on this crawl."""
        return subprocess.run(
            [sys.executable, "-m", "scrapy", *words, "-s", f"FRONTIER_CRAWL={CRAWL}"],
            cwd=ROOT,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=60 * SLOWEST,
        )

    def status(self) -> Status:
        return asyncio.run(self._status())

    async def _status(self) -> Status:
        settings = Settings()
        settings.setmodule("crawler.settings")
        settings.setdict({**self.settings, "REDIS_URL": self.redis_url})
        frontier = await Frontier.open(FrontierConfig.from_settings(settings))
        try:
            return await frontier.status()
        finally:
            await frontier.close()

    def check_sum(self) -> Status:
        """accepted = queued + leased + done + dead, with nothing in flight when nobody is left."""
        status = self.status()
        assert status.balance == 0, status.counts
        if not self.running:
            assert status.count("leased") == 0, status.counts
        return status

    def check_complete(self, pages: int) -> Status:
        """Everything was done, once, and nothing died."""
        status = self.check_sum()
        counts = {name: status.count(name) for name in ("accepted", "queued", "done", "dead", "pages")}
        assert counts == {"accepted": pages, "queued": 0, "done": pages, "dead": 0, "pages": pages}, status.counts
        return status

    def events(self) -> list[dict[str, str]]:
        with redis.Redis.from_url(self.redis_url, decode_responses=True) as client:
            return [fields for _, fields in client.xrange(f"ow:events:{CRAWL}")]

    def end_reasons(self) -> set[str]:
        return {event["reason"] for event in self.events() if event["kind"] == "finished"}
