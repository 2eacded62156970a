"""What goes into a strategy, and what comes out of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Candidate:
    """A canonical URL that this crawl has not seen."""

    url: str
    host: str
    depth: int
    is_seed: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page as strategies see it. ``meta`` is what an ``Extra`` carried, when the page was one."""

    url: str
    status: int = 200
    depth: int = 0
    body: bytes = b""
    headers: Mapping[bytes, Any] = field(default_factory=dict)
    meta: Mapping[bytes, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Extra:
    """A URL of the strategy's own making: a sitemap, a home page, the page itself once more. Not yet canonical."""

    url: str
    score: float
    depth: int
    meta: dict[bytes, Any]  # what the strategy wants to find again in ``response.meta``


@dataclass(frozen=True, slots=True)
class Scores:
    scores: list[float | None]  # for each candidate, in order; None: the strategy did not schedule it
    extras: list[Extra] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)  # raised by the strategy; scores are breadth-first then
