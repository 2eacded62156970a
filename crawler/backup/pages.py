"""Which pages are in the store, and which version of each is the newest? Noted in a file while they are listed: ten
million of them do not fit into memory. Calls block, and may come from any thread: one that goes on after its rebuild
was interrupted must not find the database closed under its hands, which crashes the process.
"""

import sqlite3
import threading
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
_NEXT = """
    SELECT fetched_at, id, key, body_bytes FROM pages WHERE (fetched_at, id) > (?, ?) ORDER BY fetched_at, id LIMIT ?
"""


class Listed(NamedTuple):
    key: str
    body_bytes: int


class PageList:
    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._database.executescript(_TABLES)

    def add(self, infos: Iterable[PageInfo]) -> None:
        with self._lock, self._database:
            self._database.executemany(
                _ADD, ((info.id, info.fetched_at, info.key, info.body_bytes) for info in infos)
            )  # fmt: skip

    def count(self) -> int:
        with self._lock:
            [number] = self._database.execute("SELECT count(*) FROM pages").fetchone()
        return int(number)

    def in_order(self, most: int, most_bytes: int) -> Iterator[list[Listed]]:
        """Some at a time, as they were fetched: then what the first page says comes first, as in the crawl."""
        with self._lock:
            self._database.execute("CREATE INDEX IF NOT EXISTS by_time ON pages (fetched_at, id)")
        after: tuple[int, str] = (-1, "")
        while rows := self._select_after(after, most):
            batch: list[Listed] = []
            size_bytes = 0
            for fetched_at, id_, key, body_bytes in rows:
                size_bytes += body_bytes
                if batch and size_bytes > most_bytes:
                    break
                batch.append(Listed(key, body_bytes))
                after = (fetched_at, id_)
            yield batch

    def _select_after(self, after: tuple[int, str], most: int) -> list[tuple[int, str, str, int]]:
        with self._lock:
            return self._database.execute(_NEXT, (*after, most)).fetchall()

    def known(self, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for first in range(0, len(ids), _STEP):
            some = ids[first : first + _STEP]
            marks = ",".join("?" * len(some))
            query = f"SELECT id FROM pages WHERE id IN ({marks}) AND id NOT IN (SELECT id FROM left_out)"  # noqa: S608
            with self._lock:
                found.update(id_ for (id_,) in self._database.execute(query, some))
        return found

    def leave_out(self, ids: Iterable[str]) -> None:
        with self._lock, self._database:
            self._database.executemany("INSERT OR IGNORE INTO left_out VALUES (?)", ((id_,) for id_ in ids))

    def close(self) -> None:
        with self._lock:
            self._database.close()
