"""Documents and an embedded index for the tests of searching."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from hypothesis import strategies as st

from crawler.search.document import Document
from crawler.search.embedded import EmbeddedIndex
from crawler.search.opening import IndexConfig

T = TypeVar("T")
T0 = 1_767_225_600_000  # 2026-01-01

# What somebody might type who means no good, or nothing in particular.
PIECES = [
    '"', "(", ")", "-", "--", "OR", "AND", "NOT ", "~", "~2", "*", "?", ":", "title:", "url:", "nosuch:", "word", "so",
    "a", "é", "e\u0301", "東", "東京", "カタカナ", "한국", "\u0301", " ", "  ", "site:example.org ", "-site:[::1]:80 ",
    "lang:de ", "crawl:c ", "sort:newest ", "before:2030 ", "after:1970 ", "2026-01", "[", "]", ".", "+", "{", "}",
    "\\", "^", "|", "/", "&&", "||", "!", "<", ">", "#", "@", "ß", "İ", "हिन्दी", "می\u200cخواهم", "😀", "\0", "\ud800",
    "\u202e", "\xad", "𝄞", "①", "x" * 90,
]  # fmt: skip
SEARCHES = st.lists(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=15).map("".join)), max_size=20)


def page(id_: str, **values) -> Document:
    known = {"id": id_, "url": f"https://example.org/{id_}", "host": "example.org", "fetched_at": T0}
    return Document(**{**known, **values})


def embedded(path: Path) -> EmbeddedIndex:
    return EmbeddedIndex(IndexConfig.from_url(f"file:{path}/index"))


def with_index(path: Path, work: Callable[[EmbeddedIndex], Awaitable[T]], *documents: Document) -> T:
    async def run() -> T:
        index = embedded(path)
        await index.open()
        try:
            if documents:
                assert await index.write(documents) == []
            return await work(index)
        finally:
            await index.close()

    return asyncio.run(run())
