"""Which pages may be found at all? Host, language, crawl and time, as typed into a search or given beside it."""

import re
from datetime import UTC, datetime
from typing import Literal

import ada_url

from crawler.errors import BadQuery
from crawler.search.cleaning import SURROGATES
from crawler.search.query import Filters
from crawler.search.sites import list_sites

RESTRICTIONS = ("site", "lang", "crawl", "after", "before", "sort")
MOST_VALUES = 20  # hosts, or languages
LONGEST_CRAWL = 200  # characters
HTTPS_PORT = "443"  # that of http is left out by the URL itself
SORTS: dict[str, Literal["relevance", "newest", "oldest"]] = {
    "relevance": "relevance", "newest": "newest", "date": "newest", "oldest": "oldest",
}  # fmt: skip
DATE = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,8})*", re.IGNORECASE)


class Restrictions:
    """Collected one by one."""

    def __init__(self) -> None:
        self.sort: Literal["relevance", "newest", "oldest"] = "relevance"
        self._hosts: list[str] = []
        self._not_hosts: list[str] = []
        self._languages: list[str] = []
        self._crawl = ""
        self._after_ms: int | None = None
        self._before_ms: int | None = None

    def add(self, name: str, value: str, *, is_negated: bool = False) -> None:
        if is_negated and name != "site":
            raise BadQuery(f"-{name}: cannot be; only -site: can")
        if not value:
            raise BadQuery(f"{name}: needs a value, without a space before it")
        if SURROGATES.search(value):  # of an argument that is no UTF-8
            raise BadQuery(f"{name}: has a value that is no text: {value[:50]!a}")
        match name:
            case "site":
                (self._not_hosts if is_negated else self._hosts).append(read_host(value))
            case "lang":
                self._languages += [read_language(code) for code in value.split(",") if code]
            case "crawl":
                if (self._crawl and self._crawl != value) or len(value) > LONGEST_CRAWL:
                    raise BadQuery(f"crawl: takes one crawl, of {LONGEST_CRAWL} letters at most")
                self._crawl = value
            case "after":
                self._after_ms = max(read_date(value), self._after_ms or 0)
            case "before":
                before = read_date(value)
                self._before_ms = before if self._before_ms is None else min(before, self._before_ms)
            case "sort":
                if value not in SORTS:
                    raise BadQuery(f"sort:{value[:50]} is none of {', '.join(SORTS)}")
                self.sort = SORTS[value]
        if max(len(self._hosts), len(self._not_hosts), len(self._languages)) > MOST_VALUES:
            raise BadQuery(f"{name}: was given more than {MOST_VALUES} times")

    def filters(self) -> Filters:
        return Filters(
            tuple(dict.fromkeys(self._hosts)), tuple(dict.fromkeys(self._not_hosts)),
            tuple(dict.fromkeys(self._languages)), self._crawl, self._after_ms, self._before_ms,
        )  # fmt: skip


def combine(one: Filters, other: Filters) -> Filters:
    """Both hold."""
    if one.crawl and other.crawl and one.crawl != other.crawl:
        raise BadQuery(f"crawl {one.crawl!r} and crawl {other.crawl!r} were asked for, and a page is of one only")
    hosts = one.hosts or other.hosts
    if one.hosts and other.hosts:
        pairs = [(host, wider) for host in one.hosts for wider in other.hosts]
        pairs += [(host, wider) for wider, host in pairs]
        hosts = tuple(dict.fromkeys(host for host, wider in pairs if wider in list_sites(host)))
    languages = one.languages or other.languages
    if one.languages and other.languages:
        languages = tuple(code for code in one.languages if code in other.languages)
    if not hosts and (one.hosts or other.hosts):
        raise BadQuery(f"no page is both of {' or '.join(one.hosts)} and of {' or '.join(other.hosts)}")
    if not languages and (one.languages or other.languages):
        raise BadQuery(f"no page is both in {' or '.join(one.languages)} and in {' or '.join(other.languages)}")
    after = [ms for ms in (one.after_ms, other.after_ms) if ms is not None]
    before = [ms for ms in (one.before_ms, other.before_ms) if ms is not None]
    return Filters(
        hosts, tuple(dict.fromkeys(one.not_hosts + other.not_hosts)), languages, one.crawl or other.crawl,
        max(after, default=None), min(before, default=None),
    )  # fmt: skip


def read_host(text: str) -> str:
    """As the index writes it: lower case, punycode, with a port only if that is not the usual one. A URL will do."""
    host = text.partition("://")[2] or text
    host = re.split(r"[/?#]", host)[0].removeprefix("*").strip(".")
    if host.count(":") > 1 and "[" not in host:  # an IPv6 address as people write it
        host = f"[{host}]"
    try:
        url = ada_url.URL(f"http://{host}/") if host and "@" not in host else None
    except ValueError:
        url = None
    if url is None or not url.hostname.strip("."):
        raise BadQuery(f"site:{text[:100]} names no host; use site:example.org")
    return url.hostname.strip(".") + (f":{url.port}" if url.port not in ("", HTTPS_PORT) else "")


def read_language(text: str) -> str:
    if not LANGUAGE.fullmatch(text):
        raise BadQuery(f"lang:{text[:50]} is no language; use two letters, such as lang:de")
    return text.lower()


def read_date(text: str) -> int:
    """Where that year, month or day begins, in ms since 1970 (UTC)."""
    match = DATE.fullmatch(text)
    try:
        if match is None or not text.isascii():
            raise ValueError
        day = datetime(int(match[1]), int(match[2] or 1), int(match[3] or 1), tzinfo=UTC)
    except ValueError:
        raise BadQuery(f"{text[:50]!r} is no date; use 2026, 2026-01 or 2026-01-31") from None
    return max(int(day.timestamp() * 1000), 0)
