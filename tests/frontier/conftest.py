"""Frontiers for tests, on one Redis and on Redis Cluster."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.frontier.frontiers import Crawl


@pytest.fixture(params=["redis", "cluster"])
def frontier_url(request: pytest.FixtureRequest) -> str:
    """An empty Redis of either kind: what holds for one holds for the other."""
    url: str = request.getfixturevalue("redis_url" if request.param == "redis" else "redis_cluster_url")
    return url


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def _opener(url: str, runner: asyncio.Runner) -> Iterator[Callable[..., Crawl]]:
    opened: list[Crawl] = []

    def open_crawl(**changes: Any) -> Crawl:
        opened.append(Crawl(url, runner, **changes))
        return opened[-1]

    yield open_crawl
    for crawl in opened:
        crawl.close()


@pytest.fixture
def open_crawl(frontier_url: str, runner: asyncio.Runner) -> Iterator[Callable[..., Crawl]]:
    yield from _opener(frontier_url, runner)


@pytest.fixture
def open_crawl_on_one(redis_url: str, runner: asyncio.Runner) -> Iterator[Callable[..., Crawl]]:
    """For what takes long, or does not depend on the kind of Redis."""
    yield from _opener(redis_url, runner)
