"""How much CPU does a page take on its way in? The same spider on the same pages, with this project's download handler
and with Scrapy's own, in turn.

Nothing is parsed, queued in Redis or stored: what is measured is Scrapy's engine, which is most of it, and one handler
or the other. Each run is a process of its own, ``python -m benchmarks.fetch ours|stock FILE``; FILE lists the URLs.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response
from scrapy.settings import Settings

from benchmarks.crawl import CONCURRENCY, ROOT
from benchmarks.site import LinkDenseSite

PAGES, QUICK_PAGES = 3000, 200
ROUNDS, QUICK_ROUNDS = 5, 1
WARM_UP = 50  # pages that are fetched before the clock starts
SIDES = ("ours", "stock")
# Links a page, which make its size, whether it travels compressed, and whether the header says its charset: if it does
# not, Scrapy's decoding guesses that of the compressed bytes, which is most of what it costs then.
KINDS: dict[str, dict[str, Any]] = {
    "1 kB": {"links": 4, "charset": "utf-8"},
    "14 kB": {"links": 45, "charset": "utf-8"},
    "14 kB, gzip": {"links": 45, "charset": "utf-8", "gzip": "on"},
    "14 kB, gzip, no charset": {"links": 45, "gzip": "on"},
}


def run(quick: bool) -> dict[str, Any]:
    pages, rounds = (QUICK_PAGES, QUICK_ROUNDS) if quick else (PAGES, ROUNDS)
    runs: list[dict[str, Any]] = []
    for kind, options in KINDS.items():
        with tempfile.TemporaryDirectory() as name, LinkDenseSite(Path(name), pages, **options) as site:
            file = Path(name) / "urls"
            file.write_text("\n".join(site.urls))
            for number in range(1, rounds + 1):
                for side in SIDES if number % 2 else SIDES[::-1]:
                    runs.append({"round": number, "kind": kind, "side": side, **_fetch(side, file)})
                    print(f"{kind:24} {side:6} {runs[-1]['cpu_ms']:.2f} ms of CPU a page", flush=True)
    return {"pages": pages, "rounds": rounds, "runs": runs, "medians": _medians(runs)}


def _medians(runs: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    medians = {}
    for kind in dict.fromkeys(one["kind"] for one in runs):
        row = {
            side: median(one["cpu_ms"] for one in runs if (one["kind"], one["side"]) == (kind, side)) for side in SIDES
        }
        medians[kind] = {**row, "ratio": round(row["ours"] / row["stock"], 3)}
    return medians


def _fetch(side: str, file: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.fetch", side, str(file)], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{side} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# --- One run ---------------------------------------------------------------------------------


class Pages(Spider):
    name = "pages"
    urls: list[str] = []
    fetched = 0
    body_bytes = 0
    cpu_began = 0.0

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls:
            yield Request(url, dont_filter=True)

    def parse(self, response: Response, **kwargs: Any) -> None:
        self.fetched += 1
        self.body_bytes += len(response.body)
        if self.fetched == WARM_UP:
            self.cpu_began = time.process_time()


def _settings(side: str) -> Settings:
    """The project's, but for the frontier; Scrapy's own handler comes with its own decoding."""
    settings = Settings()
    settings.setmodule("crawler.settings")
    settings.setdict(
        {
            "SCHEDULER": "scrapy.core.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
            "CONCURRENT_REQUESTS": CONCURRENCY,
            "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
            "ALLOW_PRIVATE": True,
            "ROBOTSTXT_OBEY": False,
            "POLITENESS_ENABLED": False,
            "ITEM_PIPELINES": {},
            "LOG_LEVEL": "ERROR",
        },
        priority="cmdline",
    )
    if side == "stock":
        stock = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
        settings["DOWNLOAD_HANDLERS"].update({"http": stock, "https": stock})
        settings["DOWNLOADER_MIDDLEWARES"].update(
            {"scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": 590}
        )
    return settings


def main() -> None:
    side, file = sys.argv[1:]
    process = AsyncCrawlerProcess(_settings(side))
    crawler = process.create_crawler(Pages)
    urls = Path(file).read_text().split()
    process.crawl(crawler, urls=urls)
    process.start()
    spider: Any = crawler.spider
    if spider.fetched != len(urls):
        raise SystemExit(f"{spider.fetched} of {len(urls)} pages arrived")
    cpu_ms = (time.process_time() - spider.cpu_began) * 1000 / (spider.fetched - WARM_UP)
    print(json.dumps({"cpu_ms": round(cpu_ms, 3), "body_bytes": spider.body_bytes}))


if __name__ == "__main__":
    main()
