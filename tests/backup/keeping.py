"""Documents, indexes and stores for the tests of backups."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from crawler.search.document import Document
from crawler.search.index import Index
from crawler.search.opening import IndexConfig, open_index
from tests.search.pages import T0

WORDS = [f"word{number}" for number in range(2000)]


def make_documents(number: int, words: int = 60) -> list[Document]:
    """No two alike, and not easily compressed."""
    chance = random.Random(number)
    return [
        Document(
            id=f"{position:016x}", url=f"https://a.example/{position}", title=f"Page {position} “ü”",
            description="d", keywords=["k", "=1+1"], headings="one\ntwo",
            content=" ".join(chance.choices(WORDS, k=words)),
            anchors="a link", host="a.example", lang="de", depth=3, status=200, fetched_at=T0 + position,
            published_at=-1, content_hash="ab" * 32, simhash=2**64 - 1 - position, duplicate_of="0" * 16,
            similar_to="1" * 16, html_key="pages/2026-01-01/0000000000000000.html.gz", crawl="c",
        )
        for position in range(number)
    ]  # fmt: skip


@asynccontextmanager
async def opened_index(url: str | Path) -> AsyncIterator[Index]:
    """Of an engine's URL, or embedded in a directory."""
    index = open_index(IndexConfig.from_url(f"file:{url}" if isinstance(url, Path) else url))
    await index.open()
    try:
        yield index
    finally:
        await index.close()


async def read_all(index: Index) -> list[Document]:
    await index.refresh()
    return sorted([document async for document in index.documents()], key=lambda document: document.id)
