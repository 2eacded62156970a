"""When was a page published, and when last changed? As it states itself: in JSON-LD, in meta elements, in ``time``.

Anybody may write anything there. What is no date, or cannot be one of a page, counts as not stated.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from crawler.robots.dates import read_date

_AHEAD_MS = 86_400_000  # a page may be published in a time zone that is ahead, but not next week
_PUBLISHED = (
    "article:published_time", "og:article:published_time", "datepublished", "datecreated", "dc.date.issued",
    "dcterms.issued", "dc.date", "dcterms.date", "dcterms.created", "citation_publication_date", "citation_date",
    "parsely-pub-date", "sailthru.date", "pubdate", "publishdate", "publish_date", "publication_date", "date",
)  # fmt: skip
_MODIFIED = (
    "article:modified_time", "og:article:modified_time", "og:updated_time", "datemodified", "dc.date.modified",
    "dcterms.modified", "last-modified", "last_modified", "lastmod", "revised", "updated_time",
)  # fmt: skip

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_COMPACT = re.compile(r"(\d{4})(?:(\d{2})(\d{2})|[/.](\d{1,2})[/.](\d{1,2}))", re.ASCII)  # 20240506, 2024/5/6
_SLASHED = re.compile(r"(\d{4})([/.])(\d{1,2})\2(\d{1,2})(?= )", re.ASCII)  # and a time behind it
_ZONE_NAME = re.compile(r"(?<=\d)\s*+(?:UTC|GMT|\[[\w/+-]++\])$", re.ASCII | re.I)  # as Ruby, Go and Java add it
_DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", re.ASCII)  # with dots nobody writes the month first
_WITH_WORDS = re.compile(
    r"(?:[a-z]+, )?(?:([a-z]{3})[a-z]*\.? (\d{1,2})|(\d{1,2})\.? ([a-z]{3})[a-z]*\.?)(?:st|nd|rd|th)?,? (\d{4})",
    re.ASCII | re.I,
)


def find_dates(
    objects: Iterable[Mapping[str, Any]], metas: Mapping[str, str], times: Sequence[str] = ()
) -> tuple[int, int]:
    """Published and modified, in ms since 1970; 0 where nothing is stated."""
    published = modified = 0
    for stated in objects:
        published = published or _read_any(stated.get("datePublished"))
        modified = modified or _read_any(stated.get("dateModified"))
    published = published or _first(metas, _PUBLISHED) or next(filter(None, map(read_ms, times)), 0)
    modified = modified or _first(metas, _MODIFIED)
    return published, modified


def read_ms(text: str) -> int:
    """0 when it is no date, before 1970, or still to come."""
    text = text.strip()
    if found := _COMPACT.fullmatch(text):
        text = "-".join(filter(None, found.groups()))
    elif found := _DAY_FIRST.fullmatch(text):
        text = "-".join(reversed(found.groups()))
    elif found := _WITH_WORDS.fullmatch(text):
        month, day, day_first, month_second, year = found.groups()
        name = (month or month_second).lower()
        text = f"{year}-{_MONTHS.index(name) + 1}-{day or day_first}" if name in _MONTHS else ""
    elif text[:4].isdecimal():
        text = _SLASHED.sub(r"\1-\3-\4", _ZONE_NAME.sub("", text[:64]), count=1)
    moment = read_date(text)
    if moment is None:
        return 0
    ms = int(moment.timestamp() * 1000)
    return ms if 0 < ms <= datetime.now(UTC).timestamp() * 1000 + _AHEAD_MS else 0


def _read_any(value: Any) -> int:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("@value")
    return read_ms(value) if isinstance(value, str) else 0


def _first(metas: Mapping[str, str], names: Iterable[str]) -> int:
    for name in names:
        if (text := metas.get(name)) and (ms := read_ms(text)):
            return ms
    return 0
