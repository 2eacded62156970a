"""When is a page fetched again, and what is remembered of it until then?

The middleware (``middlewares/recrawl.py``) writes down what a fetch brought, the outbox asks here what becomes of it.
What is remembered travels in the entry (``entry.Known``), so that it is wherever the URL is, and is bounded.
"""

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime
from typing import NamedTuple

import msgspec

from crawler.frontier.config import FrontierConfig
from crawler.frontier.entry import Entry, Known
from crawler.frontier.reasons import Dead

SLOWER, SOONER = 1.5, 2.0  # what an interval is multiplied by when the page did not change, divided by when it did
JITTER = 0.1  # of the interval, either way
MAX_ETAG_BYTES = 200
UNCHANGED = "unchanged"  # among the flags of a response whose body is that of the last fetch
MAX_MISSES = 3  # in a row: the third time a known page cannot be had it is dead, like any other
# What may be over the next time; a page that is gone, or disallowed, is not fetched again.
_PASSING = frozenset({Dead.TIMEOUT, Dead.CONNECTION, Dead.DNS, Dead.ROBOTS_UNREACHABLE})
_PASSING_STATUS = re.compile(r"408|429|5\d\d")
# RFC 9110, section 8.8.3. It cannot hold the end of a line, and so no other header.
_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_DATE_BYTES = len("Sun, 06 Nov 1994 08:49:37 GMT")


class Validators(NamedTuple):
    """As the server wrote them; empty when it did not, or not as the RFC has it."""

    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a fetch of a page brought."""

    validators: Validators
    hash: int
    is_unchanged: bool = False  # since the last fetch
    is_page: bool = True  # False: the server said that it is unchanged, and sent none


class Again(NamedTuple):
    """Goes into the frontier's list of pages to be crawled again."""

    delay_ms: int
    entry: Entry
    ended: str  # one of frontier.AGAIN


# --- Validators ------------------------------------------------------------------------------


def read_validators(etag: bytes | None, last_modified: bytes | None, now: float) -> Validators:
    """A date in the future says nothing about the page that came with it, so it is not kept."""
    tag, date = (etag or b"").decode("latin-1"), (last_modified or b"").decode("latin-1")
    modified_at = _read_date(date)
    is_past = modified_at is not None and modified_at <= now
    return Validators(tag if _is_etag(tag) else "", date if is_past else "")


def conditional_headers(known: Known) -> Mapping[str, bytes]:
    """Checked again: the entry was in Redis, where others may write."""
    headers = {}
    if _is_etag(known.etag):
        headers["If-None-Match"] = known.etag.encode("latin-1")
    if _read_date(known.last_modified) is not None:
        headers["If-Modified-Since"] = known.last_modified.encode("latin-1")
    return headers


def _is_etag(text: str) -> bool:
    return len(text) <= MAX_ETAG_BYTES and _ETAG.fullmatch(text) is not None


def _read_date(text: str) -> float | None:
    """Of the one form that RFC 9110, section 5.6.7 lets a server write."""
    if len(text) != _DATE_BYTES:
        return None
    try:
        seconds = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):  # the last two: what email.utils makes of nonsense
        return None
    return seconds if formatdate(seconds, usegmt=True) == text else None


# --- Intervals -------------------------------------------------------------------------------


class Recrawl:
    """The rule: sooner when a page changed, later when it did not, within bounds."""

    def __init__(self, config: FrontierConfig, roll: Callable[[float, float], float] = random.uniform) -> None:
        self._first_ms = config.recrawl_first_seconds * 1000
        self._least_ms = config.recrawl_min_seconds * 1000
        self._most_ms = config.recrawl_max_seconds * 1000
        self._roll = roll

    def plan(self, entry: Entry, fetched: Fetched) -> Again:
        """After a fetch that went well."""
        known = entry.known
        if known is None:
            interval_ms = self._bound(self._first_ms)
            return self._again(entry, Known(1, interval_ms, fetched.hash, 0, 0, *fetched.validators), "new")
        factor = SLOWER if fetched.is_unchanged else 1 / SOONER
        now_known = Known(
            known.fetches + 1,
            self._bound(known.interval_ms * factor),
            fetched.hash,
            known.unchanged + 1 if fetched.is_unchanged else 0,
            0,
            *fetched.validators,
        )
        return self._again(entry, now_known, "page" if fetched.is_page else "unchanged")

    def plan_missed(self, entry: Entry, reason: str, detail: str) -> Again | None:
        """After a fetch that failed on every attempt: a page that was there is not given up for an outage of its host.
        None when it is to be dead.
        """
        known = entry.known
        may_pass = reason in _PASSING or (reason == Dead.HTTP_ERROR and _PASSING_STATUS.fullmatch(detail))
        if known is None or not may_pass or known.missed + 1 >= MAX_MISSES:
            return None
        # Bounded anew: the settings may have changed since.
        now_known = msgspec.structs.replace(known, missed=known.missed + 1, interval_ms=self._bound(known.interval_ms))
        return self._again(entry, now_known, "missed")

    def _bound(self, ms: float) -> int:
        return round(min(max(ms, self._least_ms), self._most_ms))

    def _again(self, entry: Entry, known: Known, ended: str) -> Again:
        # Jitter comes on top of the bounds: pages that change at every visit are all at the lower one.
        delay_ms = round(known.interval_ms * self._roll(1 - JITTER, 1 + JITTER))
        again = Entry(url=entry.url, depth=entry.depth, redirects=entry.redirects, request=entry.request, known=known)
        return Again(delay_ms, again, ended)
