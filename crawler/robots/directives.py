"""What does a page ask of those who crawl it? ``<meta name="robots">`` and ``X-Robots-Tag``: not to be kept (noindex),
its links not to be followed (nofollow), neither (none), or not to be kept any longer (unavailable_after).

The parser asks, for every page. Where several speak, to all crawlers or to this one, each that forbids is obeyed.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from scrapy.settings import BaseSettings

from crawler.configuration import SettingsReader
from crawler.robots.dates import read_date
from crawler.robots.rules import find_token

# A colon follows these as well, so that it does not make them the name of a crawler.
_WITH_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_WEEKDAY = re.compile(r"^[A-Z]+,\s*")
_FIELD = re.compile(r"\s*([A-Za-z0-9_.*-]+)\s*:\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Obedience:
    """Which wishes of a page are granted, and by which name it may speak to us."""

    agent: str = "orbweaver"  # as ``rules.find_token`` has it
    meta_robots: bool = True
    x_robots_tag: bool = True
    nofollow: bool = True  # rel=nofollow, ugc and sponsored
    canonical: bool = True

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        read = SettingsReader(settings)
        return cls(
            agent=find_token(read.text("USER_AGENT")),
            meta_robots=read.flag("OBEY_META_ROBOTS"),
            x_robots_tag=read.flag("OBEY_X_ROBOTS_TAG"),
            nofollow=read.flag("OBEY_NOFOLLOW"),
            canonical=read.flag("OBEY_CANONICAL"),
        )


@dataclass(slots=True)
class Directives:
    noindex: bool = False
    nofollow: bool = False

    def add(self, text: str) -> None:
        """Directives with commas or spaces between, as a meta element has them."""
        lower = text.lower()
        words = lower.replace(",", " ").split()
        if "none" in words:
            self.noindex = self.nofollow = True
        if "nofollow" in words:
            self.nofollow = True
        if "noindex" in words or ("unavailable_after" in lower and _is_over(lower.partition("unavailable_after")[2])):
            self.noindex = True

    def add_header(self, value: str, agent: str) -> None:
        """One X-Robots-Tag: ``noindex, nofollow``, or ``somebot: noindex, otherbot: none``."""
        is_for_us = True
        kept = []
        for part in value.split(","):
            named = _FIELD.match(part)
            if named and named[1].lower() not in _WITH_VALUE:
                is_for_us = named[1] == "*" or find_token(named[1]) == agent
                part = named[2]
            if is_for_us:
                kept.append(part)
        self.add(",".join(kept))


def _is_over(text: str) -> bool:
    """Whether the date is past; what is no date never is. ``text`` begins with a colon, and may go on after it."""
    # A day of the week, with a comma after it, says nothing.
    date = read_date(_WEEKDAY.sub("", text.lstrip(" :").upper()).partition(",")[0])
    return date is not None and date < datetime.now(UTC)
