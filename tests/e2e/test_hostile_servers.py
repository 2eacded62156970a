"""Does a server that misbehaves in every way disturb the crawl of the others? By the web server's log."""

from collections import Counter
from pathlib import Path

import psutil

from tests.download.downloads import IMPATIENT
from tests.download.hostile import HostileServer, bomb
from tests.download.test_hostile import ENDS
from tests.fleet import Fleet
from tests.servers import wait_until
from tests.web import Site, WebServer

MOST_BYTES = 50_000_000


def test_hostile_servers_end_with_their_reasons_and_disturb_nobody(redis_url: str, tmp_path: Path) -> None:
    for kind in ("gzip", "br", "zstd"):
        bomb(kind)
    # A body may be as large as the limit, and many come at once.
    sizes = {"DOWNLOAD_MAXSIZE": 2_000_000, "DOWNLOAD_RAW_MAXSIZE": 2_000_000}
    settings = {**IMPATIENT, **sizes, "RETRY_DELAYS": "0.2", "HOST_BACKOFF_MAX_SECONDS": 0.2, "ROBOTSTXT_OBEY": 0}
    site = Site.trees(hosts=10, pages=20, latency_ms=5)
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, **settings) as fleet:
        # First half of the good hosts alone: what a worker takes then is what it takes.
        fleet.seed(web.seeds()[:5])
        (worker,) = fleet.start(1, KEEP_ALIVE=1)
        wait_until(lambda: fleet.status().count("done") == 100, "the good pages", 60)
        process = psutil.Process(worker.process.pid)
        before_bytes = process.memory_info().rss

        servers = [HostileServer() for _ in ENDS]
        try:
            for server in servers:
                server.__enter__()
            fleet.seed([server.url(path) for server, (path, *_) in zip(servers, ENDS, strict=True)] + web.seeds()[5:])
            most_bytes = before_bytes

            def is_over() -> bool:
                nonlocal most_bytes
                most_bytes = max(most_bytes, process.memory_info().rss)
                return fleet.status().count("dead") == len(ENDS)

            wait_until(is_over, "all hostile answers to end", 90)
        finally:
            for server in servers:
                server.__exit__()
        status = fleet.check_sum()
        assert status.dead_reasons == Counter(reason for *_, reason in ENDS)
        assert status.count("pages") == 200
        assert most_bytes - before_bytes < MOST_BYTES
        assert worker.is_running
        worker.terminate()
        assert worker.wait(20) == 0
