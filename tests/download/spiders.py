"""What the tests of downloads run in a worker's process."""

from pathlib import Path

from crawler.download.handler import DownloadHandler
from crawler.spiders.broad import BroadSpider
from tests.crawls import record


def peak_bytes() -> int:
    """The most memory that this process ever had."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


class Measured(BroadSpider):
    """Writes down how much its process grew."""

    before_bytes = 0

    async def start(self):
        self.before_bytes = peak_bytes()
        async for request in super().start():
            yield request

    def closed(self, reason: str) -> None:
        record(self, grown_bytes=peak_bytes() - self.before_bytes)


class RebindingHandler(DownloadHandler):
    """Whoever asks for the second time gets another address."""

    asked: list[str] = []

    @staticmethod
    def query(host: str) -> list[str]:
        RebindingHandler.asked.append(host)
        return ["127.0.0.2"] if RebindingHandler.asked.count(host) == 1 else ["127.0.0.1"]
