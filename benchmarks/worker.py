"""How large is a worker when ten million URLs are in its frontier?

What grows in a worker is its Bloom filter and the fingerprints it knows for certain; the queue itself is in Redis.
So a worker with default settings crawls with both filled as ten million URLs fill them, and its memory is watched.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil

from benchmarks.crawl import OUR_SETTINGS, ROOT
from benchmarks.site import LinkDenseSite
from crawler.frontier.config import FrontierConfig
from crawler.frontier.dupefilter import DupeFilter
from tests.servers import RedisServer

URLS, QUICK_URLS = 10_000_000, 200_000
PAGES, QUICK_PAGES = 1000, 100


class FilledFilter(DupeFilter):
    """As after a crawl of many URLs. Used by the worker process, through DUPEFILTER_CLASS."""

    urls = URLS

    def __init__(self, config: FrontierConfig) -> None:
        super().__init__(config)
        draw = random.Random(7).getrandbits
        for _ in range(self.urls):
            self.remember(draw(64) - (1 << 63))


class BrieflyFilledFilter(FilledFilter):
    urls = QUICK_URLS


def run(quick: bool) -> dict[str, Any]:
    filter_ = BrieflyFilledFilter if quick else FilledFilter
    pages = QUICK_PAGES if quick else PAGES
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        with RedisServer(scratch / "redis") as server, LinkDenseSite(scratch, pages) as site:
            settings = OUR_SETTINGS | {"REDIS_URL": server.url, "DATA_DIR": name}
            settings |= {"DUPEFILTER_CLASS": f"{__name__}.{filter_.__name__}"}
            settings.pop("CONCURRENT_REQUESTS")  # the default is larger
            command = [sys.executable, "-m", "scrapy", "crawl", "broad", "-a", f"seeds={site.seed}"]
            for setting, value in settings.items():
                command += ["-s", f"{setting}={value}"]
            with (scratch / "worker.log").open("wb") as log:
                process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
            peak_bytes = _watch(process)
            hits = len(site.take_hits())
            if process.returncode or hits != pages:
                log_end = (scratch / "worker.log").read_text(errors="replace")[-3000:]
                raise SystemExit(f"the worker ended with {process.returncode} after {hits} pages:\n{log_end}")
    print(f"{filter_.urls:,} URLs known, {pages} pages crawled: at most {peak_bytes / 1e6:.0f} MB", flush=True)
    return {"urls": filter_.urls, "pages": pages, "peak_rss_mb": round(peak_bytes / 1e6, 1)}


def _watch(process: subprocess.Popen[bytes]) -> int:
    """The largest resident size seen until the process ended."""
    seen, peak_bytes = psutil.Process(process.pid), 0
    while True:
        try:
            process.wait(0.05)
            return peak_bytes
        except subprocess.TimeoutExpired:
            peak_bytes = max(peak_bytes, seen.memory_info().rss)
