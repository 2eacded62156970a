"""Under which key does what lie, and is a key one that stays inside the store?

::

    pages/2024-01-31/<id>.html.gz            a page, the newest version of that day
    pages/2024-01-31/<id>.link.json          a page whose body is kept already, under the key in ``same_as``
    pages/2024-01-31/<id>-<sha256>.html.gz   an older version of that day: a link may mean the body it had
    warc/2024-01-31/<worker>-<serial>.warc.gz (and .cdxj)   with STORE_FORMAT=warc, instead of these
    anything/else                            files: backups of the index, models, snapshots

Keys are checked here, once for every kind of store, so that nothing that comes from outside can name a file outside.
"""

import re
from typing import NamedTuple

from crawler.errors import EngineRefused
from crawler.storage.page import PageInfo

BODY = ".html.gz"
LINK = ".link.json"
PAGES = "pages"
WARC = "warc"

_MAX_KEY_LENGTH = 900  # S3 takes 1024 bytes, and the prefix needs some of them
_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9_.=+@-]{0,199}"  # no dot first: neither . nor .. nor our own temporary files
_KEY = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_ID = re.compile(r"[0-9a-f]{16}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PAGE_KEY = re.compile(r"pages/(\d{4}-\d\d-\d\d)/([0-9a-f]{16})(?:-([0-9a-f]{16}))?(?:\.html\.gz|\.link\.json)")


class PageKey(NamedTuple):
    day: str
    id: str
    aside: str  # of an older version: how its sha256 begins

    @property
    def body(self) -> str:
        return f"{PAGES}/{self.day}/{self.id}{'-' * bool(self.aside)}{self.aside}{BODY}"

    @property
    def link(self) -> str:
        return f"{PAGES}/{self.day}/{self.id}{LINK}"


def read_page_key(key: str) -> PageKey | None:
    found = _PAGE_KEY.fullmatch(key)
    return PageKey(found[1], found[2], found[3] or "") if found else None


def is_day(name: str) -> bool:
    return _DAY.fullmatch(name) is not None


def check_id(id_: str) -> str:
    if not _ID.fullmatch(id_):
        raise EngineRefused(f"{id_!r:.100} is no id of a page; 16 hex digits are, see page_id()")
    return id_


def check_info(info: PageInfo) -> PageKey:
    """The key it will have, if it can have one."""
    check_id(info.id)
    try:
        day = info.day
    except (ValueError, OverflowError, OSError):
        day = ""
    if not is_day(day):
        raise EngineRefused(f"{info.url:.200} was fetched at {info.fetched_at} ms since 1970, which is no time")
    if info.sha256 and not _SHA256.fullmatch(info.sha256):
        raise EngineRefused(f"{info.url:.200} has the sha256 {info.sha256!r:.100}; 64 hex digits are needed")
    if info.same_as and read_page_key(info.same_as) is None:
        raise EngineRefused(f"{info.url:.200} is said to be the same as {info.same_as!r:.200}, which is no page's key")
    return PageKey(day, info.id, "")


def aside_key(info: PageInfo) -> str:
    return PageKey(info.day, info.id, info.sha256[:16]).body


def check_key(key: str) -> str:
    if len(key) > _MAX_KEY_LENGTH or not _KEY.fullmatch(key):
        raise EngineRefused(
            f"{key!r:.200} is no key for this store; use names of letters, digits and _.=+@- with a / between them"
        )
    return key


def check_file_key(key: str) -> str:
    """Of something that is put beside the pages, and must not be mistaken for one."""
    if check_key(key).split("/")[0] in (PAGES, WARC):
        raise EngineRefused(f"{key!r} lies among the pages; only put() writes there")
    return key
