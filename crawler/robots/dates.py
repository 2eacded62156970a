"""When was that? The dates of sitemaps and feeds: W3C forms, and RFC 822 as RSS has it. Called by ``sitemaps``."""

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

_W3C = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[Tt ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9})\d*)?)?\s?(?:[Zz]|([+-])(\d{2}):?(\d{2})?)?)?)?)?",
    re.ASCII,
)
_LONGEST = 64


def read_date(text: str) -> datetime | None:
    """In UTC, which is also assumed where no zone is given; None when it is no date."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    found = _W3C.fullmatch(text)
    try:
        moment = _build(found) if found else parsedate_to_datetime(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, TypeError, IndexError):  # the last two: what email.utils makes of nonsense
        return None


def _build(found: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second, fraction, sign, zone_hours, zone_minutes = found.groups()
    zone = timedelta(hours=int(zone_hours or 0), minutes=int(zone_minutes or 0))
    return datetime(
        int(year),
        int(month or 1),
        int(day or 1),
        int(hour or 0),
        int(minute or 0),
        int(second or 0),
        int((fraction or "0").ljust(6, "0")[:6]),
        tzinfo=timezone(-zone if sign == "-" else zone),
    )
