"""What does an HTTP answer to GET /robots.txt mean? RFC 9309 section 2.3.1.

| answer | meaning | known for |
| --- | --- | --- |
| 2xx | the rules in its first 500 KiB (section 2.5) | a day (section 2.4) |
| 2xx with a page of HTML | a "not found" that does not say so: no rules | an hour |
| 3xx, after five redirects | unavailable: no rules (section 2.3.1.2) | an hour |
| 4xx | unavailable: no rules (section 2.3.1.3) | an hour |
| 429 | nothing: the host asks for time. Wait, by its Retry-After if it has one, and ask again | not at all |
| 5xx, any other number, 0 for no answer | unreachable: all is disallowed (section 2.3.1.4) | five minutes |

The RFC lets a crawler treat a file that has been unreachable for 30 days as unavailable. We do not: it would need a
memory of outages that outlives every cache, to fetch pages from a host that answers nothing.
"""

import codecs
from enum import StrEnum
from typing import NamedTuple

LARGEST_BYTES = 500 * 1024
KNOWN_SECONDS = 24 * 3600.0
UNAVAILABLE_SECONDS = 3600.0  # shorter, since a missing file is often one that is just being deployed
UNREACHABLE_SECONDS = 300.0
ALLOW_ALL = ""
DISALLOW_ALL = "User-agent: *\nDisallow: /\n"


class Meaning(StrEnum):
    RULES = "rules"
    UNAVAILABLE = "unavailable"  # everything is allowed
    UNREACHABLE = "unreachable"  # nothing is allowed
    WAIT = "wait"  # nothing is known


class Answer(NamedTuple):
    meaning: Meaning
    text: str  # a robots.txt that says it
    known_seconds: float


def read_answer(status: int, body: bytes) -> Answer:
    """``status`` is that of the last answer after at most five redirects, or 0 when there was none. Never raises."""
    if 200 <= status < 300:
        text = _decode(body)
        if _is_markup(text):
            return Answer(Meaning.UNAVAILABLE, ALLOW_ALL, UNAVAILABLE_SECONDS)
        return Answer(Meaning.RULES, text, KNOWN_SECONDS)
    if status == 429:
        return Answer(Meaning.WAIT, DISALLOW_ALL, 0.0)
    if 300 <= status < 500:
        return Answer(Meaning.UNAVAILABLE, ALLOW_ALL, UNAVAILABLE_SECONDS)
    return Answer(Meaning.UNREACHABLE, DISALLOW_ALL, UNREACHABLE_SECONDS)


# The mark of UTF-32 begins with that of UTF-16. What says nothing is UTF-8, which the RFC asks for.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def _decode(body: bytes) -> str:
    encoding = next((name for bom, name in _BOMS if body.startswith(bom)), "utf-8-sig")
    text = body[:LARGEST_BYTES].decode(encoding, "replace")
    if len(body) <= LARGEST_BYTES:
        return text
    # Half a line can say the opposite of the whole: "Disallow: /" of "Disallow: /private".
    return text[: max(text.rfind("\n"), text.rfind("\r")) + 1]


def _is_markup(text: str) -> bool:
    return text[:1000].lstrip().lower().startswith(("<!doctype", "<html", "<head", "<body", "<?xml", "<!--"))
