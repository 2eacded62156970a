"""Engines that the contract suites run on. To add one is one entry here.

``make`` answers an index that is not opened yet. Called twice in a test, with the same directory, it means the same
index. Where its server is not to be had, ``make`` or one of its fixtures calls ``pytest.skip`` and says how to get it.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from crawler.search.index import Index
from crawler.search.opening import IndexConfig
from crawler.search.opening import open_index as make_index

OpenIndex = Callable[[], AbstractAsyncContextManager[Index]]


@dataclass(frozen=True)
class Engine:
    name: str
    make: Callable[..., Index]  # of the test's directory, and of the values of the fixtures
    fixtures: tuple[str, ...] = ()  # asked for first: of a server, say


def make_embedded(tmp_path: Path) -> Index:
    return make_index(IndexConfig.from_url(f"file:{tmp_path}/index"))


INDEX_ENGINES = [
    Engine("embedded", make_embedded),
]


@pytest.fixture(params=INDEX_ENGINES, ids=lambda engine: engine.name)
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> OpenIndex:
    """``async with open_index() as index``: each time another handle of the same index."""
    engine: Engine = request.param
    servers = [request.getfixturevalue(name) for name in engine.fixtures]

    @asynccontextmanager
    async def opened() -> AsyncIterator[Index]:
        index = engine.make(tmp_path, *servers)
        await index.open()
        try:
            yield index
        finally:
            await index.close()

    return opened
