"""Which pages are in the store, and which version of each is the newest? Noted in a file while they are listed: ten
million of them do not fit into memory. Calls block.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from crawler.storage.page import PageInfo

_STEP = 500  # ids asked for at once
_TABLES = """
    PRAGMA journal_mode=OFF;
    PRAGMA synchronous=OFF;
    CREATE TABLE pages (id TEXT PRIMARY KEY, fetched_at INTEGER, key TEXT, body_bytes INTEGER) WITHOUT ROWID;
    CREATE TABLE left_out (id TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_ADD = """
    INSERT INTO pages VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET fetched_at = excluded.fetched_at, key = excluded.key, body_bytes = excluded.body_bytes
    WHERE excluded.fetched_at > fetched_at
"""


class Listed(NamedTuple):
    key: str
    body_bytes: int


class PageList:
    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._database.executescript(_TABLES)

    def add(self, infos: Iterable[PageInfo]) -> None:
        with self._database:
            self._database.executemany(
                _ADD, ((info.id, info.fetched_at, info.key, info.body_bytes) for info in infos)
            )  # fmt: skip

    def count(self) -> int:
        [number] = self._database.execute("SELECT count(*) FROM pages").fetchone()
        return int(number)

    def in_order(self, most: int, most_bytes: int) -> Iterator[list[Listed]]:
        """Some at a time, as they were fetched: then what the first page says comes first, as in the crawl."""
        self._database.execute("CREATE INDEX IF NOT EXISTS by_time ON pages (fetched_at, id)")
        batch: list[Listed] = []
        for row in self._database.execute("SELECT key, body_bytes FROM pages ORDER BY fetched_at, id"):
            listed = Listed(*row)
            if batch and (len(batch) >= most or sum(one.body_bytes for one in batch) + listed.body_bytes > most_bytes):
                yield batch
                batch = []
            batch.append(listed)
        if batch:
            yield batch

    def known(self, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for first in range(0, len(ids), _STEP):
            some = ids[first : first + _STEP]
            marks = ",".join("?" * len(some))
            query = f"SELECT id FROM pages WHERE id IN ({marks}) AND id NOT IN (SELECT id FROM left_out)"  # noqa: S608
            found.update(id_ for (id_,) in self._database.execute(query, some))
        return found

    def leave_out(self, ids: Iterable[str]) -> None:
        with self._database:
            self._database.executemany("INSERT OR IGNORE INTO left_out VALUES (?)", ((id_,) for id_ in ids))

    def close(self) -> None:
        self._database.close()
