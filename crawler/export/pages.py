"""What is in the store, as rows for other programs? One for each stored version of a page, in the order of days.

A body is read only when a chosen field needs it, and parsed only when one needs that.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from crawler.errors import ConfigurationError, Damaged
from crawler.parsing import Page as ParsedPage
from crawler.parsing.charset import to_utf8
from crawler.pipelines.documents import read_stored
from crawler.robots.directives import Obedience
from crawler.search.analysis import language_of
from crawler.search.query import Filters
from crawler.search.sites import list_sites
from crawler.storage.layout import aside_key
from crawler.storage.page import Page, PageInfo
from crawler.storage.store import Store
from crawler.urls import canonicalise

PAGES_AT_ONCE = 32
BYTES_AT_ONCE = 32 * 1024 * 1024
EVERYTHING = Filters()


def tell_time(ms: int) -> str:
    """ISO 8601; empty for a time that is not known, or that no calendar has."""
    try:
        time = datetime.fromtimestamp(ms / 1000, UTC) if ms else None
    except (ValueError, OverflowError, OSError):
        time = None
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z") if time else ""


def _decode(page: Page) -> str:
    return to_utf8(page.body, page.info.content_type)[0].decode("utf-8", "replace")


OF_INFO: dict[str, Callable[[PageInfo], Any]] = {
    "id": lambda info: info.id,
    "url": lambda info: info.url,
    "crawl": lambda info: info.crawl,
    "status": lambda info: info.status,
    "fetched_at": lambda info: tell_time(info.fetched_at),
    "content_type": lambda info: info.content_type,
    "charset": lambda info: info.charset,
    "bytes": lambda info: info.body_bytes,
    "sha256": lambda info: info.sha256,
    "depth": lambda info: info.depth,
    "html_key": lambda info: info.same_as or info.key,
}
OF_BODY: dict[str, Callable[[Page], Any]] = {"html": _decode}
OF_TEXT: dict[str, Callable[[ParsedPage], Any]] = {
    "title": lambda parsed: parsed.title,
    "description": lambda parsed: parsed.description,
    "keywords": lambda parsed: parsed.keywords,
    "lang": lambda parsed: parsed.lang,
    "published_at": lambda parsed: tell_time(parsed.published_at),
    "modified_at": lambda parsed: tell_time(parsed.modified_at),
    "links": lambda parsed: len(parsed.links),
    "headings": lambda parsed: parsed.headings,
    "content": lambda parsed: parsed.text,
    "main_text": lambda parsed: parsed.main_text,
    "json_ld": lambda parsed: parsed.json_ld,
    "open_graph": lambda parsed: parsed.open_graph,
}
USUAL = (
    "id", "url", "crawl", "status", "fetched_at", "content_type", "charset", "bytes", "sha256", "depth", "title",
    "description", "keywords", "lang", "published_at", "modified_at", "links",
    "html_key",
)  # fmt: skip
TYPES: dict[str, type] = {
    **dict.fromkeys((*OF_INFO, *OF_BODY, *OF_TEXT), str), **dict.fromkeys(("status", "bytes", "depth", "links"), int),
    **dict.fromkeys(("fetched_at", "published_at", "modified_at"), datetime),
    **dict.fromkeys(("keywords", "headings", "json_ld"), list),
}  # fmt: skip
ON_REQUEST = ("content", "main_text", "html", "headings", "json_ld", "open_graph")


def choose_fields(text: str) -> tuple[str, ...]:
    """Names with commas between; the usual ones if there are none."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if unknown := [name for name in names if name not in USUAL + ON_REQUEST]:
        raise ConfigurationError(
            f"there is no field {', '.join(map(repr, unknown))}; there are {', '.join(USUAL + ON_REQUEST)}"
        )
    return names or USUAL


def _is_wanted(info: PageInfo, wanted: Filters) -> bool:
    """As far as it can be said without the body."""
    return (
        (wanted.after_ms is None or info.fetched_at >= wanted.after_ms)
        and (wanted.before_ms is None or info.fetched_at < wanted.before_ms)
        and (not wanted.hosts or not set(wanted.hosts).isdisjoint(list_sites(canonicalise(info.url).host)))
    )


@dataclass
class PageRows:
    store: Store
    fields: Sequence[str]
    obey: Obedience = field(default_factory=Obedience)
    unreadable: list[str] = field(default_factory=list)  # what is wrong with pages that were left out; the first few
    left_out: int = 0
    _languages: set[str] = field(default_factory=set)

    async def read(self, wanted: Filters = EVERYTHING) -> AsyncIterator[dict[str, Any]]:
        self._languages = {language_of(code) for code in wanted.languages}
        batch: list[PageInfo] = []
        batch_bytes = 0
        with_body = bool(self._languages) or any(name in OF_BODY or name in OF_TEXT for name in self.fields)
        since_day = tell_time(wanted.after_ms or 0)[:10]
        async for info in self.store.pages(crawl=wanted.crawl, since_day=since_day):
            if not _is_wanted(info, wanted):
                continue
            batch.append(info)
            batch_bytes += info.body_bytes if with_body else 0
            if len(batch) >= PAGES_AT_ONCE or batch_bytes >= BYTES_AT_ONCE:
                for row in await self._make_rows(batch, with_body=with_body):
                    yield row
                batch, batch_bytes = [], 0
        for row in await self._make_rows(batch, with_body=with_body):
            yield row

    async def _make_rows(self, infos: Sequence[PageInfo], *, with_body: bool) -> list[dict[str, Any]]:
        if not with_body:
            return [self._make_row(Page(info, b""), None) for info in infos]
        found = await asyncio.gather(*(self._get(info) for info in infos))
        return await asyncio.to_thread(self._read_pages, [page for page in found if page is not None])

    def _read_pages(self, pages: Sequence[Page]) -> list[dict[str, Any]]:
        is_parsed = bool(self._languages) or any(name in OF_TEXT for name in self.fields)
        rows = []
        for page in pages:
            parsed = read_stored(page, self.obey) if is_parsed else None
            if parsed is None or not self._languages or language_of(parsed.lang) in self._languages:
                rows.append(self._make_row(page, parsed))
        return rows

    async def _get(self, info: PageInfo) -> Page | None:
        """That very version: the key is that of the newest of its day."""
        try:
            for key in (info.key, aside_key(info)):
                page = await self.store.get(key)
                if page is not None and page.info.sha256 == info.sha256:
                    return Page(info, page.body)
            raise Damaged(f"{info.key}: the version of {tell_time(info.fetched_at)} is gone")
        except Damaged as error:
            self.left_out += 1
            if len(self.unreadable) < 20:
                self.unreadable.append(str(error))
            return None

    def _make_row(self, page: Page, parsed: ParsedPage | None) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for name in self.fields:
            if name in OF_INFO:
                row[name] = OF_INFO[name](page.info)
            elif name in OF_BODY:
                row[name] = OF_BODY[name](page)
            elif parsed is not None:
                row[name] = OF_TEXT[name](parsed)
        return row
