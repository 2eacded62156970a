"""What does a page cost after it was fetched? CPU time of parsing, gzip, put and index, each alone and all together.

Three ways: this project's modules; BeautifulSoup, files and whoosh; parsel and boto3. They read the same pages in turn,
in this process, whose CPU time (that of all its threads) is told; the S3 server is another process. Ours does more:
it finds headings, language, dates, JSON-LD and near duplicates, and its files are atomic and synced.
"""

import asyncio
import hashlib
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import pages_peers as peers
from benchmarks.site import LinkDenseSite
from crawler.parsing import Page as ParsedPage
from crawler.parsing import parse
from crawler.pipelines.documents import make_document
from crawler.search.document import Document
from crawler.search.opening import IndexConfig, open_index
from crawler.storage.gzip_page import encode_page
from crawler.storage.opening import StoreConfig, build_store
from crawler.storage.page import Page, PageInfo, page_id
from crawler.storage.s3_place import S3Place
from crawler.storage.store import Store
from crawler.urls import fingerprint
from tests.storage.seaweed import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server, find_weed

PAGES, QUICK_PAGES = 300, 8
ROUNDS, QUICK_ROUNDS = 3, 1
STORE_BATCH, INDEX_BATCH = 64, 200  # as the pipelines have them
OURS, SOUP, PARSEL = "this project", "BeautifulSoup, whoosh", "parsel, boto3"
LINK_DENSE, REAL = "link-dense", "Python's documentation"
PARSE, GZIP, FILES, OBJECTS, INDEX = "parse", "gzip", "put, directory", "put, S3", "index"
ALL_FILES, ALL_OBJECTS = "parse, gzip, put in a directory, index", "parse, gzip, put on S3"
CONTENT_TYPE = "text/html; charset=utf-8"


class Source(NamedTuple):
    url: str
    body: bytes


class Bench:
    """Every question about one set of pages: made ready, then asked. Only the asking is measured: a store is opened
    once in a crawl and not once a page, and boto3's client was made before as well.
    """

    def __init__(self, sources: Sequence[Source], scratch: Path, server: S3Server | None) -> None:
        self._sources = sources
        self._scratch = scratch
        self._server = server
        self._serial = 0
        self._loop = asyncio.Runner()
        self._client = server.client() if server else None
        self._parsed = [parse(body, url, CONTENT_TYPE) for url, body in sources]
        self._read = [peers.parse_with_soup(body, url) for url, body in sources]
        self._kept = [_keep(source) for source in sources]
        self._documents = [_describe(page, parsed) for page, parsed in zip(self._kept, self._parsed, strict=True)]
        self._packed = self._pack()

    def questions(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        sources = self._sources
        yield PARSE, OURS, lambda: [parse(body, url, CONTENT_TYPE).simhash for url, body in sources]
        yield PARSE, SOUP, lambda: [peers.parse_with_soup(body, url) for url, body in sources]
        yield PARSE, PARSEL, lambda: [peers.parse_with_parsel(body, url) for url, body in sources]
        yield GZIP, OURS, lambda: [encode_page(page.info, page.body) for page in self._kept]
        yield GZIP, SOUP, self._pack
        yield GZIP, PARSEL, self._pack
        # Ours is given pages, not what is in the file: gzip is in it, and is taken off in the summary.
        with self._store(self._folder()) as store:
            yield FILES, OURS, lambda: self._put(store, self._kept)
        yield FILES, SOUP, lambda: peers.write_files(self._folder(), self._packed)
        if self._server is not None:
            with self._store(self._place()) as store:
                yield OBJECTS, OURS, lambda: self._put(store, self._kept)
            yield OBJECTS, PARSEL, lambda: peers.put_objects(self._client, BUCKET, self._prefix(), self._packed)
        yield INDEX, OURS, lambda: self._index(self._documents)
        yield INDEX, SOUP, lambda: self._index_with_whoosh(self._read)
        with self._store(self._folder()) as store:
            yield ALL_FILES, OURS, lambda: self._do_all(store, with_index=True)
        yield ALL_FILES, SOUP, self._do_all_with_soup
        if self._server is not None:
            with self._store(self._place()) as store:
                yield ALL_OBJECTS, OURS, lambda: self._do_all(store, with_index=False)
            yield ALL_OBJECTS, PARSEL, self._do_all_with_parsel

    # --- This project ------------------------------------------------------------------------

    @contextmanager
    def _store(self, place: Path | S3Place) -> Iterator[Store]:
        store = build_store(
            StoreConfig(
                place=place, format="html", sync=True, data_dir=self._scratch, warc_max_bytes=1 << 30,
                waiting_bytes=1 << 30, requests_at_once=16,
            )
        )  # fmt: skip
        self._loop.run(store.open())
        yield store
        self._loop.run(store.close())

    def _put(self, store: Store, pages: Sequence[Page]) -> None:
        async def put() -> None:
            for at in range(0, len(pages), STORE_BATCH):
                await store.put(pages[at : at + STORE_BATCH])

        self._loop.run(put())

    def _index(self, documents: Sequence[Document]) -> None:
        """All of it, with the end of the merges that the writes began."""
        index = open_index(IndexConfig.from_url(f"file:{self._folder()}"))

        async def write() -> None:
            await index.open()
            for at in range(0, len(documents), INDEX_BATCH):
                poison = await index.write(documents[at : at + INDEX_BATCH])
                assert not poison, poison[0].error
            await index.close()

        self._loop.run(write())

    def _do_all(self, store: Store, *, with_index: bool) -> None:
        documents, kept = [], []
        for source in self._sources:
            parsed = parse(source.body, source.url, CONTENT_TYPE)
            kept.append(_keep(source))
            documents.append(_describe(kept[-1], parsed))
        self._put(store, kept)
        if with_index:
            self._index(documents)

    # --- The peers -----------------------------------------------------------------------------

    def _pack(self) -> dict[str, bytes]:
        return {hashlib.sha256(url.encode()).hexdigest(): peers.compress(body) for url, body in self._sources}

    def _index_with_whoosh(self, read: Sequence[peers.Read]) -> None:
        index = peers.WhooshIndex(self._folder())
        rows = [
            {"url": source.url, "title": page.title, "description": page.description, "content": page.text}
            for source, page in zip(self._sources, read, strict=True)
        ]
        for at in range(0, len(rows), INDEX_BATCH):
            index.write(rows[at : at + INDEX_BATCH])
        index.close()

    def _do_all_with_soup(self) -> None:
        read = [peers.parse_with_soup(body, url) for url, body in self._sources]
        peers.write_files(self._folder(), self._pack())
        self._index_with_whoosh(read)

    def _do_all_with_parsel(self) -> None:
        for url, body in self._sources:
            peers.parse_with_parsel(body, url)
        peers.put_objects(self._client, BUCKET, self._prefix(), self._pack())

    # --- Where to ------------------------------------------------------------------------------

    def _folder(self) -> Path:
        self._serial += 1
        return self._scratch / f"round-{self._serial}"

    def _prefix(self) -> str:
        self._serial += 1
        return f"{self._scratch.name}/round-{self._serial}"

    def _place(self) -> S3Place:
        assert self._server is not None
        return S3Place(BUCKET, self._prefix(), self._server.url, "us-east-1", False)


def run(quick: bool) -> dict[str, Any]:
    number, rounds = (QUICK_PAGES, QUICK_ROUNDS) if quick else (PAGES, ROUNDS)
    runs: list[dict[str, Any]] = []
    sets: dict[str, dict[str, int]] = {}
    with ExitStack() as stack:
        server = stack.enter_context(_start_s3())
        for kind, read in ((LINK_DENSE, _read_link_dense), (REAL, _read_documentation)):
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            sources = read(scratch, number)
            if not sources:
                print(f"{kind}: left out, because Debian's python3-doc is not installed", flush=True)
                continue
            sets[kind] = {"pages": len(sources), "mean_bytes": sum(len(one.body) for one in sources) // len(sources)}
            bench = Bench(sources, scratch, server)
            for turn in range(1, rounds + 1):
                for step, who, question in bench.questions():
                    began = time.process_time()
                    question()
                    cpu_ms = (time.process_time() - began) * 1000 / len(sources)
                    runs.append({"round": turn, "kind": kind, "step": step, "who": who, "cpu_ms": round(cpu_ms, 4)})
                    print(f"{kind:24} {step:40} {who:24} {cpu_ms:8.3f} ms of CPU a page", flush=True)
    return {"rounds": rounds, "sets": sets, "runs": runs, "medians": _summarise(runs)}


def _summarise(runs: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """Kind of page → step → who → ms, and ``ratio NAME`` for each peer."""
    values: dict[str, dict[str, dict[str, list[float]]]] = {}
    for one in runs:
        row = values.setdefault(one["kind"], {}).setdefault(one["step"], {})
        row.setdefault(one["who"], []).append(one["cpu_ms"])
    medians = {
        kind: {step: {who: median(found) for who, found in row.items()} for step, row in steps.items()}
        for kind, steps in values.items()
    }
    for steps in medians.values():
        for step in (FILES, OBJECTS):
            if step in steps:
                steps[step][OURS] = round(steps[step][OURS] - steps[GZIP][OURS], 4)
        for row in steps.values():
            ratios = {f"ratio {who}": round(row[who] / row[OURS], 2) for who in row if who != OURS}
            row.update(ratios)
    return medians


def _keep(source: Source) -> Page:
    info = PageInfo(
        id=page_id(fingerprint(source.url)), url=source.url, crawl="bench", fetched_at=1_700_049_600_000,
        content_type=CONTENT_TYPE, charset="utf-8", sha256=hashlib.sha256(source.body).hexdigest(),
        body_bytes=len(source.body),
    )  # fmt: skip
    return Page(info, source.body)


def _describe(page: Page, parsed: ParsedPage) -> Document:
    return make_document(page.info, parsed)


def _read_link_dense(scratch: Path, number: int) -> list[Source]:
    LinkDenseSite(scratch, number)
    files = sorted((scratch / "site").glob("*/*.html"))
    return [Source(f"http://site.example/{path.parent.name}/{path.name}", path.read_bytes()) for path in files]


def _read_documentation(_: Path, number: int) -> list[Source]:
    roots = sorted(Path("/usr/share/doc").glob("python3*/html"))
    if not roots:
        return []
    root = roots[-1].resolve()
    files = sorted(root.rglob("*.html"))
    chosen = random.Random(5).sample(files, min(number, len(files)))
    return [Source(f"http://docs.example/{path.relative_to(root)}", path.read_bytes()) for path in chosen]


@contextmanager
def _start_s3() -> Iterator[S3Server | None]:
    """None where there is no server to start: then its rows are left out."""
    if find_weed() is None:
        yield None
        return
    # Our own store asks the environment for its keys, as every tool for S3 does.
    keys = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    before = {name: os.environ.get(name) for name in keys}
    os.environ.update(keys)
    try:
        with tempfile.TemporaryDirectory() as directory, S3Server(Path(directory)) as server:
            yield server
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
