"""A page as it is kept: the body as it was received, and what has to be known of it to read, find or index it again."""

from datetime import UTC, datetime
from functools import lru_cache

import msgspec

_DAY_MS = 86_400_000


class PageInfo(msgspec.Struct, frozen=True, kw_only=True):
    """All that is kept beside the body. ``id`` is the hex of the URL's fingerprint."""

    id: str
    url: str  # canonical
    crawl: str
    fetched_at: int  # ms since 1970: two versions of a page are told apart by it
    status: int = 200
    content_type: str = ""
    charset: str = ""  # as it was found by header, byte-order mark, the page itself or detection
    sha256: str = ""  # of the body, hex
    body_bytes: int = 0
    depth: int = 0
    # Of the response, what a WARC needs; Set-Cookie has a line for each cookie. msgspec copies mutable defaults.
    headers: dict[str, str] = {}
    same_as: str = ""  # the key of an equal body that is kept already: then this page has none of its own

    @property
    def day(self) -> str:
        return _name_day(self.fetched_at // _DAY_MS)

    @property
    def key(self) -> str:
        """No part of it comes from the URL itself, so that no URL can lead out of the store."""
        return page_key(self.day, self.id)


@lru_cache(maxsize=64)  # pages of one day come together
def _name_day(number: int) -> str:
    return datetime.fromtimestamp(number * 86400, UTC).strftime("%Y-%m-%d")


def page_key(day: str, id_: str) -> str:
    return f"pages/{day}/{id_}.html.gz"


def page_id(fingerprint: int) -> str:
    """Of the signed fingerprint of a URL (``crawler/urls.py``): its 16 hex digits, unsigned."""
    return f"{fingerprint & (1 << 64) - 1:016x}"


class Page(msgspec.Struct, frozen=True):
    info: PageInfo
    body: bytes
