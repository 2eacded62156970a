"""A spider in a process of its own, with the project's settings: what a worker is.

One reactor, one crawl: a test that needs two workers starts two of these. What a spider saw it writes down with
``record``; what it logged is in ``SpiderProcess.log``.

    with SpiderProcess("tests.frontier.spiders:Simple", tmp_path, REDIS_URL=redis_url) as worker:
        worker.wait()
        assert worker.records() == [...]
"""

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import Settings

ROOT = Path(__file__).parents[1]
# No limits and no patience, unless a test is about one of them.
QUICK: dict[str, Any] = {
    "ALLOW_PRIVATE": True,
    "FRONTIER_RATE": 0,
    "FRONTIER_IDLE_SECONDS": 0.1,
    "FRONTIER_BLOOM_CAPACITY": 10_000,
    "HOST_BACKOFF_MAX_SECONDS": 0.1,
    "RETRY_DELAYS": [0.2],
    "PAGE_LOG": False,
    "SPIDER_MODULES": [],
}


class SpiderProcess:
    def __init__(self, spider: str, directory: Path, arguments: dict[str, str] | None = None, **settings: Any) -> None:
        """``spider`` is ``module:Class``."""
        self._directory = directory
        self._number = len(list(directory.glob("worker*.log")))
        self.log_path = directory / f"worker{self._number}.log"
        self._records = directory / f"worker{self._number}.records"
        settings = {**QUICK, "DATA_DIR": str(directory / "data"), "RECORDS": str(self._records), **settings}
        self._plan = {"spider": spider, "arguments": arguments or {}, "settings": settings}
        self.process: subprocess.Popen[bytes]

    def start(self) -> Self:
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.crawls", json.dumps(self._plan)],
                cwd=self._directory,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=log,
            )
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def wait(self, seconds: float = 60) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the spider still runs after {seconds} s:\n{self.log[-4000:]}") from None

    def stop(self) -> int:
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def kill9(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def records(self) -> list[dict[str, Any]]:
        if not self._records.exists():
            return []
        return [json.loads(line) for line in self._records.read_text().splitlines()]

    @property
    def stats(self) -> dict[str, Any]:
        found: dict[str, Any] = next(one["stats"] for one in self.records() if "stats" in one)
        return found


def record(spider: Spider, **what: Any) -> None:
    with Path(spider.settings["RECORDS"]).open("a") as file:
        file.write(json.dumps({"pid": os.getpid(), **what}, default=repr) + "\n")


def main() -> None:
    plan = json.loads(sys.argv[1])
    settings = Settings()
    settings.setmodule("crawler.settings")
    settings.setdict(plan["settings"], priority="cmdline")
    module, _, name = plan["spider"].partition(":")
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(getattr(importlib.import_module(module), name))
    process.crawl(crawler, **plan["arguments"])
    process.start()
    if crawler.spider is not None and crawler.stats is not None:
        record(crawler.spider, stats=crawler.stats.get_stats())


if __name__ == "__main__":
    main()
