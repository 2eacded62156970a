"""Is real documentation, crawled by four workers, kept byte for byte and found again?

Judged by the files on disk and the web server's log. The queries below were written down before they were first asked.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.search.document import Document
from crawler.search.index import Index
from crawler.search.opening import IndexConfig, open_index
from crawler.search.searching import search
from crawler.storage.directory import DirectoryObjects
from crawler.storage.html import HtmlStore
from crawler.storage.page import Page
from tests.documentation import Documentation
from tests.fleet import Fleet
from tests.servers import RedisServer, short_directory

WORKERS = 4
FEWEST_PHRASES = 900  # many pages of SQLite's requirements have no phrase of their own
QUERIES = [
    ("list comprehensions", "python3-doc", "tutorial/datastructures.html"),
    ("asyncio event loop", "python3-doc", "library/asyncio-eventloop.html"),
    ("regular expression operations", "python3-doc", "library/re.html"),
    ("argparse tutorial", "python3-doc", "howto/argparse.html"),
    ("logging cookbook", "python3-doc", "howto/logging-cookbook.html"),
    ("unicode howto", "python3-doc", "howto/unicode.html"),
    ("installing python modules", "python3-doc", "installing/index.html"),
    ("what's new in python 3.11", "python3-doc", "whatsnew/3.11.html"),
    ("decimal fixed point", "python3-doc", "library/decimal.html"),
    ("json encoder decoder", "python3-doc", "library/json.html"),
    ("descriptor guide", "python3-doc", "howto/descriptor.html"),
    ("sorting how to", "python3-doc", "howto/sorting.html"),
    ("virtual environments venv", "python3-doc", "library/venv.html"),
    ("unittest mock", "python3-doc", "library/unittest.mock.html"),
    ("git rebase", "git-doc", "git-rebase.html"),
    ("git bisect", "git-doc", "git-bisect.html"),
    ("git worktree", "git-doc", "git-worktree.html"),
    ("gitignore", "git-doc", "gitignore.html"),
    ("git submodule", "git-doc", "git-submodule.html"),
    ("git cherry-pick", "git-doc", "git-cherry-pick.html"),
    ("git glossary", "git-doc", "gitglossary.html"),
    ("git hooks", "git-doc", "githooks.html"),
    ("git everyday", "git-doc", "giteveryday.html"),
    ("git reflog", "git-doc", "git-reflog.html"),
    ("git stash", "git-doc", "git-stash.html"),
    ("git blame", "git-doc", "git-blame.html"),
    ("write-ahead logging", "sqlite3-doc", "wal.html"),
    ("create table", "sqlite3-doc", "lang_createtable.html"),
    ("query planner", "sqlite3-doc", "queryplanner.html"),
    ("full text search fts5", "sqlite3-doc", "fts5.html"),
    ("appropriate uses for sqlite", "sqlite3-doc", "whentouse.html"),
    ("json functions", "sqlite3-doc", "json1.html"),
    ("date and time functions", "sqlite3-doc", "lang_datefunc.html"),
    ("window functions", "sqlite3-doc", "windowfunctions.html"),
    ("isolation in sqlite", "sqlite3-doc", "isolation.html"),
    ("atomic commit", "sqlite3-doc", "atomiccommit.html"),
    ("how to corrupt a database", "sqlite3-doc", "howtocorrupt.html"),
    ("pragma statements", "sqlite3-doc", "pragma.html"),
    ("r-tree module", "sqlite3-doc", "rtree.html"),
    ("frequently asked questions", "sqlite3-doc", "faq.html"),
    # Forty more, by somebody else, likewise written down before they were asked: 36 of these were right at once.
    ("read csv file", "python3-doc", "library/csv.html"),
    ("dataclass default factory", "python3-doc", "library/dataclasses.html"),
    ("string format mini language", "python3-doc", "library/string.html"),
    ("context manager with statement", "python3-doc", "library/contextlib.html"),
    ("run external command subprocess", "python3-doc", "library/subprocess.html"),
    ("walk directory tree os.walk", "python3-doc", "library/os.html"),
    ("pathlib glob", "python3-doc", "library/pathlib.html"),
    ("thread pool executor", "python3-doc", "library/concurrent.futures.html"),
    ("type hints", "python3-doc", "library/typing.html"),
    ("parse command line arguments", "python3-doc", "library/argparse.html"),
    ("lru_cache", "python3-doc", "library/functools.html"),
    ("python debugger breakpoints", "python3-doc", "library/pdb.html"),
    ("errors and exceptions tutorial", "python3-doc", "tutorial/errors.html"),
    ("functional programming howto", "python3-doc", "howto/functional.html"),
    ("extending python with C", "python3-doc", "extending/extending.html"),
    ("random numbers", "python3-doc", "library/random.html"),
    ("heap queue", "python3-doc", "library/heapq.html"),
    ("undo last commit", "git-doc", "git-reset.html"),
    ("create a new branch", "git-doc", "git-branch.html"),
    ("resolve merge conflicts", "git-doc", "git-merge.html"),
    ("clone a repository", "git-doc", "git-clone.html"),
    ("git config", "git-doc", "git-config.html"),
    ("show commit logs", "git-doc", "git-log.html"),
    ("gitattributes", "git-doc", "gitattributes.html"),
    ("git pull", "git-doc", "git-pull.html"),
    ("sparse checkout", "git-doc", "git-sparse-checkout.html"),
    ("remove untracked files", "git-doc", "git-clean.html"),
    ("specifying revisions", "git-doc", "gitrevisions.html"),
    ("send patches by email", "git-doc", "git-send-email.html"),
    ("git credentials", "git-doc", "gitcredentials.html"),
    ("foreign key constraints", "sqlite3-doc", "foreignkeys.html"),
    ("insert or replace on conflict", "sqlite3-doc", "lang_conflict.html"),
    ("upsert", "sqlite3-doc", "lang_upsert.html"),
    ("explain query plan", "sqlite3-doc", "eqp.html"),
    ("autoincrement", "sqlite3-doc", "autoinc.html"),
    ("partial indexes", "sqlite3-doc", "partialindex.html"),
    ("database file format", "sqlite3-doc", "fileformat2.html"),
    ("command line shell", "sqlite3-doc", "cli.html"),
    ("limits in sqlite", "sqlite3-doc", "limits.html"),
    ("common table expressions recursive", "sqlite3-doc", "lang_with.html"),
]
FEWEST_RIGHT = 72  # of 80, in the first three


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Documentation]:
    with Documentation(tmp_path_factory.mktemp("nginx")) as docs:
        yield docs


@pytest.fixture(scope="module")
def data(docs: Documentation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the crawl left behind."""
    directory = tmp_path_factory.mktemp("crawl")
    with short_directory() as redis_directory, RedisServer(redis_directory) as redis:
        settings = {"STORE_PAGES": 1, "INDEX_PAGES": 1, "STORE_SYNC": 0}
        with Fleet(redis.url, directory, **settings) as fleet:
            fleet.seed(docs.seeds)
            fleet.start(WORKERS)
            fleet.wait(300)
            fleet.check_sum()
    return directory / "data"


def test_every_page_is_fetched_and_stored_once_byte_for_byte(docs: Documentation, data: Path) -> None:
    fetched = Counter(url for url in docs.requests() if docs.file_of(url))
    assert fetched == dict.fromkeys(docs.pages, 1)

    async def read_all() -> dict[str, Page]:
        store = HtmlStore(DirectoryObjects(data / "store", sync=False))
        pages = {}
        async for info in store.pages():
            assert info.url not in pages
            page = await store.find(info.id)
            assert page is not None
            pages[info.url] = page
        return pages

    pages = asyncio.run(read_all())
    assert {url for url in pages if docs.file_of(url)} == set(docs.pages)
    bodies: dict[str, str] = {}
    for url, path in docs.pages.items():
        body = path.read_bytes()
        page = pages[url]
        assert page.body == body, url
        assert page.info.sha256 == hashlib.sha256(body).hexdigest()
        if not page.info.same_as:  # of equal bodies one is kept
            assert bodies.setdefault(page.info.sha256, url) == url


def test_every_page_is_found_by_a_phrase_of_its_own(docs: Documentation, data: Path) -> None:
    phrases = docs.phrases()
    assert len(phrases) >= FEWEST_PHRASES

    async def find_all() -> list[str]:
        index = await open_embedded(data)
        wrong = []
        for url, phrase in phrases.items():
            results = await search(index, f'content:"{phrase}"', with_duplicates=True)
            if [result.url for result in results.results] != [url]:
                wrong.append(f"{phrase!r} of {url}: {[result.url for result in results.results]}")
        await index.close()
        return wrong

    wrong = asyncio.run(find_all())
    assert not wrong, "\n".join(wrong)


def test_people_find_the_page_that_they_expect(docs: Documentation, data: Path) -> None:
    async def ask() -> list[str]:
        index = await open_embedded(data)
        missed = await ask_all(index, docs)
        await index.close()
        return missed

    missed = asyncio.run(ask())
    assert len(QUERIES) - len(missed) >= FEWEST_RIGHT, "\n".join(missed)


def test_people_find_it_on_a_server_too(docs: Documentation, data: Path, opensearch_url: str) -> None:
    async def ask() -> list[str]:
        embedded = await open_embedded(data)
        index = open_index(IndexConfig.from_url(f"opensearch+{opensearch_url}/documentation"))
        await index.open()
        batch: list[Document] = []
        async for document in embedded.documents():
            batch.append(document)
            if len(batch) == 200:
                assert await index.write(batch) == []
                batch = []
        assert await index.write(batch) == []
        await index.refresh()
        missed = await ask_all(index, docs)
        await index.clear()
        await index.close()
        await embedded.close()
        return missed

    missed = asyncio.run(ask())
    assert len(QUERIES) - len(missed) >= FEWEST_RIGHT, "\n".join(missed)


async def ask_all(index: Index, docs: Documentation) -> list[str]:
    missed = []
    for query, package, path in QUERIES:
        results = [result.url for result in (await search(index, query)).results]
        if docs.url(package, path) not in results[:3]:
            missed.append(f"{query!r}: {path} is not among {results[:5]}")
    print(f"{len(QUERIES) - len(missed)} of {len(QUERIES)}", *missed, sep="\n")
    return missed


async def open_embedded(data: Path) -> Index:
    index = open_index(IndexConfig.from_url(f"file:{data / 'index'}"))
    await index.open()
    return index
