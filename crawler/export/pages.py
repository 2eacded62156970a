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
from crawler.storage.layout import aside_key
from crawler.storage.page import Page, PageInfo
from crawler.storage.store import Store

PAGES_AT_ONCE = 32
BYTES_AT_ONCE = 32 * 1024 * 1024


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
    "links": lambda parsed: len(parsed.links),
    "headings": lambda parsed: parsed.headings,
    "content": lambda parsed: parsed.text,
    "main_text": lambda parsed: parsed.main_text,
    "json_ld": lambda parsed: parsed.json_ld,
    "open_graph": lambda parsed: parsed.open_graph,
}
USUAL = (
    "id", "url", "crawl", "status", "fetched_at", "content_type", "charset", "bytes", "sha256", "depth", "title",
    "description", "keywords", "lang", "published_at", "links", "html_key",
)  # fmt: skip
ON_REQUEST = ("content", "main_text", "html", "headings", "json_ld", "open_graph")


def choose_fields(text: str) -> tuple[str, ...]:
    """Names with commas between; the usual ones if there are none."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if unknown := [name for name in names if name not in USUAL + ON_REQUEST]:
        raise ConfigurationError(
            f"there is no field {', '.join(map(repr, unknown))}; there are {', '.join(USUAL + ON_REQUEST)}"
        )
    return names or USUAL


@dataclass
class PageRows:
    store: Store
    fields: Sequence[str]
    obey: Obedience = field(default_factory=Obedience)
    unreadable: list[str] = field(default_factory=list)  # what is wrong with pages that were left out; the first few
    left_out: int = 0

    async def read(self, *, crawl: str = "", since_day: str = "") -> AsyncIterator[dict[str, Any]]:
        batch: list[PageInfo] = []
        batch_bytes = 0
        with_body = any(name in OF_BODY or name in OF_TEXT for name in self.fields)
        async for info in self.store.pages(crawl=crawl, since_day=since_day):
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
            return [self._make_row(Page(info, b"")) for info in infos]
        found = await asyncio.gather(*(self._get(info) for info in infos))
        pages = [page for page in found if page is not None]
        return await asyncio.to_thread(lambda: [self._make_row(page) for page in pages])

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

    def _make_row(self, page: Page) -> dict[str, Any]:
        parsed = read_stored(page, self.obey) if any(name in OF_TEXT for name in self.fields) else None
        row: dict[str, Any] = {}
        for name in self.fields:
            if name in OF_INFO:
                row[name] = OF_INFO[name](page.info)
            elif name in OF_BODY:
                row[name] = OF_BODY[name](page)
            elif parsed is not None:
                row[name] = OF_TEXT[name](parsed)
        return row
