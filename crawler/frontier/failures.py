"""Which URLs failed, and how? Told in one form to the event log, to the ``failures`` command and to programs."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import NamedTuple

from crawler.frontier.entry import decode
from crawler.frontier.frontier import Frontier
from crawler.frontier.keyspace import Grave, read_dead
from crawler.frontier.reasons import Dead

# The names that DNS itself has for what getaddrinfo says with a number.
_DNS_CODES = {"-2": "NXDOMAIN", "-5": "NODATA", "-3": "SERVFAIL", "-4": "REFUSED"}
_NUMBER = re.compile(r"\[Errno (-\d+)\]")


class Failure(NamedTuple):
    url: str  # empty when what was queued is no entry of ours
    reason: str  # one of Dead
    detail: str
    at: float

    @classmethod
    def of(cls, grave: Grave) -> "Failure":
        try:
            url = decode(grave.entry, grave.host).url
        except ValueError:
            url = ""
        return cls(url, grave.reason, grave.detail, grave.at_ms / 1000)

    @property
    def error(self) -> str:
        return "DNS_RESOLUTION_FAILED" if self.reason == Dead.DNS else self.reason.upper()

    @property
    def code(self) -> str:
        """What a program would look at: the HTTP status, the answer of DNS, the kind of exception."""
        if self.reason == Dead.DNS:
            number = _NUMBER.search(self.detail)
            return _DNS_CODES.get(number[1], "FAILED") if number else "TIMEOUT"
        return self.detail.partition(":")[0]

    def as_record(self) -> dict[str, str]:
        timestamp = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"url": self.url, "error": self.error, "code": self.code, "timestamp": timestamp}


async def failures(frontier: Frontier, reason: str = "") -> AsyncIterator[Failure]:
    """All, or those with one reason; in no order."""
    for partition in range(frontier.keys.partitions):
        async for _, grave in read_dead(frontier, partition):
            if not reason or grave.reason == reason:
                yield Failure.of(grave)
