"""What is in the embedded index now? Every call blocks: ``embedded.py`` calls from threads."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import tantivy
from tantivy import FieldType, Order
from tantivy import Query as Tantivy

from crawler.search.document import Document
from crawler.search.embedded_files import IndexFiles
from crawler.search.embedded_forms import Forms
from crawler.search.embedded_queries import QueryBuilder
from crawler.search.embedded_schema import decode, schema
from crawler.search.index import Hit, Hits
from crawler.search.query import Query

MOST_LANGUAGES = 100  # of an index, the commonest: pages may state any code
DOCUMENTS_AT_ONCE = 1000  # found, when all are read
TEXTS_AT_ONCE = 50  # and held in memory: each may have a million characters
KEYS = 1 << 64
REOPENINGS = 5


class Snapshot:
    """The index at one moment: later writes do not change what it finds."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self.searcher = searcher
        languages = [language for language, _ in searcher.terms_with_prefix("lang", "", limit=MOST_LANGUAGES)]
        self.builder = QueryBuilder(searcher, Forms(searcher), languages)

    def search(self, query: Query) -> Hits:
        offset = query.count_before()
        if query.sort == "relevance":
            result = self.searcher.search(self.builder.build(query), limit=query.per_page, offset=offset)
        else:
            order = Order.Desc if query.sort == "newest" else Order.Asc
            result = self.searcher.search(
                self.builder.build(query), limit=query.per_page, offset=offset, order_by_field="fetched_at", order=order
            )
        by_score = query.sort == "relevance"
        hits = [Hit(self.read(address), float(score) if by_score else 0.0) for score, address in result.hits]
        return Hits(hits, int(result.count))  # type: ignore[attr-defined]

    def read(self, address: tantivy.DocAddress) -> Document:
        return decode(self.searcher.doc(address))

    def get(self, id_: str) -> Document | None:
        hits = self.searcher.search(Tantivy.term_query(schema(), "id", id_, "basic"), limit=1, count=False).hits
        return self.read(hits[0][1]) if hits else None

    def versions(self, ids: list[str]) -> dict[int, int]:
        """Of those that are there: the hash of the id → fetched_at."""
        if not ids or not self.searcher.num_docs:
            return {}
        query = Tantivy.term_set_query(schema(), "id", ids)
        addresses = [address for _, address in self.searcher.search(query, limit=len(ids), count=False).hits]
        keys = self.searcher.fast_field_values("key", addresses)
        times = self.searcher.fast_field_values("fetched_at", addresses)
        return {int(key or 0): int(time or 0) for key, time in zip(keys, times, strict=True)}

    def documents(self) -> Iterator[list[Document]]:
        """In parts: keys are hashes, so that equal ranges of them hold about as many documents each."""
        parts = 2 * self.searcher.num_docs // DOCUMENTS_AT_ONCE + 1
        ranges = [(KEYS * part // parts, KEYS * (part + 1) // parts - 1) for part in reversed(range(parts))]
        while ranges:
            low, high = ranges.pop()
            query = Tantivy.range_query(schema(), "key", FieldType.Unsigned, low, high)
            # Memory is taken for as many as the limit says, so that it must not be the number of all documents.
            result = self.searcher.search(query, limit=DOCUMENTS_AT_ONCE)
            if result.count > DOCUMENTS_AT_ONCE and low < high:  # type: ignore[attr-defined]
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]
                continue
            for start in range(0, len(result.hits), TEXTS_AT_ONCE):
                yield [self.read(address) for _, address in result.hits[start : start + TEXTS_AT_ONCE]]


class Reader:
    """Looks at two small files before each search, so that it sees what any process has committed."""

    def __init__(self, files: IndexFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._generation = 0
        self._index: tantivy.Index | None = None
        self._seen: object = None
        self._snapshot: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        with self._lock:
            for _ in range(REOPENINGS):
                known = _signature(self._files.format_path)
                try:
                    return self._look()
                except (OSError, ValueError):
                    if _signature(self._files.format_path) == known:
                        raise
                    # Between reading which generation is in use and opening it, it was replaced and removed.
            return self._look()

    def _look(self) -> Snapshot:
        format_seen = _signature(self._files.format_path)
        seen = (format_seen, _signature(self._files.directory(self._generation) / "meta.json"))
        if self._snapshot is None or self._index is None or seen != self._seen:
            generation = self._files.current()
            if self._index is None or generation != self._generation:
                self._index, self._generation = self._files.open(generation), generation
            # Taken before the reload: what is committed in between is then looked at once more, not missed.
            seen = (format_seen, _signature(self._files.directory(generation) / "meta.json"))
            self._index.reload()
            self._snapshot = Snapshot(self._index.searcher())
            self._seen = seen
        return self._snapshot

    def close(self) -> None:
        with self._lock:
            self._index = self._snapshot = self._seen = None


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
