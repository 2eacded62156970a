"""How do others search the same documents? SQLite's FTS5 and whoosh, each with its own grammar for the same questions.

They answer a little less than this project does: neither the number of all results nor a better spelling is asked for,
and two fields are searched, not seven.
"""

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from whoosh import query as wanted
from whoosh.qparser import QueryParser

from benchmarks.pages_peers import WhooshIndex
from crawler.search.document import Document

_WITH_HOST = re.compile(r"(\S+) site:(\S+)")
_NEWEST = " sort:newest"


class Fts5:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._path = folder / "index.sqlite"
        self._database = sqlite3.connect(self._path)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute(
            "CREATE VIRTUAL TABLE pages USING fts5"
            "(title, content, url UNINDEXED, host UNINDEXED, fetched_at UNINDEXED, tokenize='porter unicode61')"
        )

    def write(self, documents: Sequence[Document]) -> None:
        rows = [(one.title, one.content, one.url, one.host, one.fetched_at) for one in documents]
        with self._database:
            self._database.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", rows)

    def search(self, text: str, *, with_snippets: bool) -> int:
        """How many of the first ten there are."""
        rank, values, where = "rank", [], ""
        if text.endswith(_NEWEST):
            text, rank = text.removesuffix(_NEWEST), "fetched_at DESC"
        if found := _WITH_HOST.fullmatch(text):
            text, where = found[1], " AND host = ?"
            values.append(found[2])
        columns = "url, title" + (", snippet(pages, 1, '<b>', '</b>', '…', 30)" if with_snippets else "")
        statement = f"SELECT {columns} FROM pages WHERE pages MATCH ?{where} ORDER BY {rank} LIMIT 10"
        return len(self._database.execute(statement, [text, *values]).fetchall())

    def can(self, question: str) -> bool:
        return question != "fuzzy~"  # it has none

    @property
    def size_bytes(self) -> int:
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self._path.stat().st_size

    def close(self) -> None:
        self._database.close()


class Whoosh:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._index = WhooshIndex(folder)

    def write(self, documents: Sequence[Document]) -> None:
        names = ("url", "title", "description", "content", "host", "fetched_at")
        self._index.write([{name: getattr(one, name) for name in names} for one in documents])

    def open(self) -> None:
        self._searcher = self._index.index.searcher()
        self._parser = QueryParser("content", self._index.index.schema)

    def search(self, text: str, *, with_snippets: bool) -> int:
        sort, host = None, ""
        if text.endswith(_NEWEST):
            text, sort = text.removesuffix(_NEWEST), "fetched_at"
        if found := _WITH_HOST.fullmatch(text):
            text, host = found[1], found[2]
        part = wanted.FuzzyTerm("content", text[:-1]) if text.endswith("~") else self._parser.parse(text)
        only = wanted.Term("host", host) if host else None
        found = self._searcher.search(part, limit=10, filter=only, sortedby=sort, reverse=sort is not None)
        for hit in found:
            if with_snippets:
                hit.highlights("content")
            else:
                hit.fields()
        return len(found.top_n)

    def can(self, question: str) -> bool:
        return question != "fuzzy~"  # it takes seconds for each, with few documents

    @property
    def size_bytes(self) -> int:
        return sum(path.stat().st_size for path in self._folder.iterdir())

    def close(self) -> None:
        self._searcher.close()
        self._index.close()
