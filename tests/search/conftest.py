"""A real Elasticsearch or OpenSearch for a test, with an index of its own."""

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from crawler.search.opening import IndexConfig, open_index
from crawler.search.remote import RemoteIndex
from tests.search.engine_server import ask, remove_index


@dataclass(frozen=True)
class RemoteEngine:
    engine: str
    url: str
    name: str

    def config(self, url: str = "", **changes: Any) -> IndexConfig:
        """``url``: of a proxy in front of it."""
        return replace(IndexConfig.from_url(f"{self.engine}+{url or self.url}/{self.name}"), **changes)

    def open(self, url: str = "", **changes: Any) -> AbstractAsyncContextManager[RemoteIndex]:
        @asynccontextmanager
        async def opened() -> AsyncIterator[RemoteIndex]:
            index = cast(RemoteIndex, open_index(self.config(url, **changes)))
            await index.open()
            try:
                yield index
            finally:
                await index.close()

        return opened()

    def count(self) -> int:
        """As the server says, past everything of ours."""
        ask(self.url, "POST", f"/{self.name}/_refresh")
        return int(ask(self.url, "GET", f"/{self.name}/_count")["count"])


@pytest.fixture(params=["elasticsearch", "opensearch"])
def remote(request: pytest.FixtureRequest) -> Iterator[RemoteEngine]:
    url = request.getfixturevalue(f"{request.param}_url")
    engine = RemoteEngine(request.param, url, f"test-{uuid.uuid4().hex[:16]}")
    yield engine
    remove_index(url, engine.name)
