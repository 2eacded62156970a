"""Engines that the contract suites run on. To add one is one entry here.

``make`` answers an index that is not opened yet. Called twice in a test, with the same directory, it means the same
index. Where its server is not to be had, ``make`` or one of its fixtures calls ``pytest.skip`` and says how to get it.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from crawler.search.index import Index
from crawler.search.opening import IndexConfig
from crawler.search.opening import open_index as make_index
from tests.search.engine_server import is_bare_build, remove_index

OpenIndex = Callable[[], AbstractAsyncContextManager[Index]]


@dataclass(frozen=True)
class Engine:
    name: str
    make: Callable[..., Index]  # of the test's directory, and of the values of the fixtures
    fixtures: tuple[str, ...] = ()  # asked for first: of a server, say


def make_embedded(tmp_path: Path) -> Index:
    return make_index(IndexConfig.from_url(f"file:{tmp_path}/index"))


def make_elastic(tmp_path: Path, url: str) -> Index:
    return make_index(IndexConfig.from_url(f"elasticsearch+{url}/{index_name(tmp_path)}"))


def make_opensearch(tmp_path: Path, url: str) -> Index:
    return make_index(IndexConfig.from_url(f"opensearch+{url}/{index_name(tmp_path)}"))


def index_name(tmp_path: Path) -> str:
    """Of an index of this test alone."""
    return f"contract-{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:16]}"


INDEX_ENGINES = [
    Engine("embedded", make_embedded),
    Engine("elasticsearch", make_elastic, ("elasticsearch_url",)),
    Engine("opensearch", make_opensearch, ("opensearch_url",)),
]

# The Elasticsearch that Maven Central has (engine_server.py) comes without the module that these need.
NEED_ANALYSIS = {
    "test_a_short_stem_may_lose_its_last_letter",
    "test_accents_that_stand_by_themselves_are_no_letters",
    "test_case_and_accents_do_not_matter",
    "test_half_width_letters_and_syllables_of_korean_are_found",
    "test_stems_are_found_by_the_language_of_the_page",
    "test_stems_are_found_on_pages_of_their_language_only",
    "test_what_separates_words",
    "test_names_with_punctuation_are_words_beside_each_other",
}


@pytest.fixture(params=INDEX_ENGINES, ids=lambda engine: engine.name)
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenIndex]:
    """``async with open_index() as index``: each time another handle of the same index."""
    engine: Engine = request.param
    if engine.name == "elasticsearch" and request.node.originalname in NEED_ANALYSIS and is_bare_build():
        pytest.skip("this Elasticsearch has no analysis module; set ELASTICSEARCH_URL to a whole one")
    servers = [request.getfixturevalue(name) for name in engine.fixtures]

    @asynccontextmanager
    async def opened() -> AsyncIterator[Index]:
        index = engine.make(tmp_path, *servers)
        await index.open()
        try:
            yield index
        finally:
            await index.close()

    yield opened
    for url in servers:
        remove_index(url, index_name(tmp_path))
