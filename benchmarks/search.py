"""How fast are documents indexed, and found again? At 100 thousand, beside SQLite's FTS5, and whoosh with fewer.

Ours is asked as the command and the server ask: grammar, engine, total, and with snippets also the spelling of rare
words. OpenSearch, where the tests can start one, is asked in the same way through the same protocol; its CPU time is
that of another process, and is not told. Latencies are by the clock, one question at a time. Each engine indexes once
and is asked each question once: there are no rounds.
"""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from statistics import quantiles
from typing import Any, Protocol

from benchmarks.corpus import DESCRIPTION, Corpus
from benchmarks.search_peers import Fts5, Whoosh
from crawler.search import searching
from crawler.search.document import Document
from crawler.search.grammar import parse
from crawler.search.index import Index
from crawler.search.opening import IndexConfig, open_index
from tests.search.engine_server import NoEngine, remove_index, running_engine

DOCUMENTS, QUICK_DOCUMENTS = 100_000, 2_000
WHOOSH_DOCUMENTS, QUICK_WHOOSH_DOCUMENTS = 1_000, 300  # it takes minutes to index more
QUERIES, QUICK_QUERIES = 200, 10
BATCH = 500
OURS, OPENSEARCH, FTS5 = "this project", "this project on OpenSearch", "SQLite FTS5"


class Engine(Protocol):
    def write(self, documents: Sequence[Document]) -> None: ...

    def search(self, text: str, *, with_snippets: bool) -> int:
        """How many of the first ten there are."""

    def can(self, question: str) -> bool: ...

    @property
    def size_bytes(self) -> int: ...


class Ours:
    def __init__(self, url: str, loop: asyncio.Runner) -> None:
        self._loop = loop
        self._index: Index = open_index(IndexConfig.from_url(url))
        loop.run(self._index.open())

    def write(self, documents: Sequence[Document]) -> None:
        poison = self._loop.run(self._index.write(documents))
        if poison:
            raise SystemExit(f"the index refused {poison[0].document.url}: {poison[0].error}")

    def search(self, text: str, *, with_snippets: bool) -> int:
        if with_snippets:
            return len(self._loop.run(searching.search(self._index, text)).results)
        return len(self._loop.run(self._index.search(parse(text))).hits)

    def can(self, question: str) -> bool:
        return True

    @property
    def size_bytes(self) -> int:
        self._loop.run(self._index.refresh())
        return self._loop.run(self._index.stats()).bytes

    def close(self) -> None:
        self._loop.run(self._index.close())


def run(quick: bool) -> dict[str, Any]:
    number, fewer, queries = (
        (QUICK_DOCUMENTS, QUICK_WHOOSH_DOCUMENTS, QUICK_QUERIES) if quick else (DOCUMENTS, WHOOSH_DOCUMENTS, QUERIES)
    )
    corpus = Corpus(number)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        loop = stack.enter_context(asyncio.Runner())
        engines: dict[str, Any] = {OURS: Ours(f"file:{scratch / 'ours'}", loop)}
        if not quick and (url := _start_opensearch(stack)):
            engines[OPENSEARCH] = Ours(f"opensearch+{url}/bench", loop)
        engines[FTS5] = Fts5(scratch / "fts5")
        engines[f"whoosh, {fewer:,} documents"] = Whoosh(scratch / "whoosh")
        for engine in engines.values():
            stack.callback(engine.close)
        indexing = {}
        for who, engine in engines.items():
            indexing[who] = _index(engine, corpus, fewer if isinstance(engine, Whoosh) else number)
            if who == OPENSEARCH:
                indexing[who]["cpu_ms"] = None
            if isinstance(engine, Whoosh):
                engine.open()
            print(f"{who:28} {indexing[who]}", flush=True)
        asked = corpus.queries(queries)
        result = {
            kind: _ask(engines, asked, with_snippets=kind == "with_snippets")
            for kind in ("with_snippets", "without_snippets")
        }
    return {"corpus": f"{DESCRIPTION} {queries} queries of each class.", "indexing": indexing, **result}


def _start_opensearch(stack: ExitStack) -> str:
    try:
        url = stack.enter_context(running_engine("opensearch"))
    except NoEngine as error:
        print(f"OpenSearch: left out, {error}", flush=True)
        return ""
    stack.callback(remove_index, url, "bench")
    return url


def _index(engine: Engine, corpus: Corpus, number: int) -> dict[str, Any]:
    documents = islice(corpus.documents(), number)
    seconds = cpu_seconds = 0.0
    while batch := list(islice(documents, BATCH)):  # making them is not measured
        began, cpu_began = time.perf_counter(), time.process_time()
        engine.write(batch)
        seconds += time.perf_counter() - began
        cpu_seconds += time.process_time() - cpu_began
    return {
        "documents": number,
        "seconds": round(seconds, 2),
        "per_second": round(number / seconds, 1),
        "cpu_ms": round(cpu_seconds * 1000 / number, 4),
        "bytes": engine.size_bytes,
    }


def _ask(engines: dict[str, Engine], asked: dict[str, list[str]], *, with_snippets: bool) -> dict[str, dict[str, Any]]:
    answers: dict[str, dict[str, Any]] = {}
    for question, texts in asked.items():
        answers[question] = {}
        for who, engine in engines.items():
            if not engine.can(question):
                continue
            for text in texts[: len(texts) // 4]:  # the first of a class finds nothing in memory
                engine.search(text, with_snippets=with_snippets)
            took, hits = [], 0
            for text in texts:
                began = time.perf_counter()
                hits += engine.search(text, with_snippets=with_snippets)
                took.append((time.perf_counter() - began) * 1000)
            cuts = quantiles(took, n=100, method="inclusive")
            answers[question][who] = {
                "p50": round(cuts[49], 3), "p99": round(cuts[98], 3), "hits": round(hits / len(texts), 1),
            }  # fmt: skip
            print(f"{question:20} {who:28} {answers[question][who]}", flush=True)
    return answers
