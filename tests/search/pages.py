"""Documents and an embedded index for the tests of searching."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from crawler.search.document import Document
from crawler.search.embedded import EmbeddedIndex
from crawler.search.opening import IndexConfig

T = TypeVar("T")
T0 = 1_767_225_600_000  # 2026-01-01


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
