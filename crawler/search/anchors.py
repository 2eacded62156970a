"""What do links call a page? Their texts are kept here until the page itself is indexed, perhaps by another process.

Of each link only who first finds it says its text: that is one line a page and not forty, and it is the text by which
the crawl came there. The file is this machine's: what links on pages that another machine fetched say is not known
here, until the index is rebuilt from the store.
"""

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from crawler.errors import EngineRefused, EngineUnavailable

MOST_CHARACTERS = 300  # of a page
_WAIT_SECONDS = 30.0  # for other processes that write
_STEP = 500  # ids asked for at once
_TABLE = "CREATE TABLE IF NOT EXISTS anchors (target TEXT PRIMARY KEY, texts TEXT NOT NULL) WITHOUT ROWID"
_ADD = """
    INSERT INTO anchors VALUES (?, ?) ON CONFLICT DO UPDATE SET texts = texts || char(10) || excluded.texts
    WHERE length(texts) < ? AND instr(char(10) || texts || char(10), char(10) || excluded.texts || char(10)) = 0
"""


class AnchorBook:
    """Its methods block, and may be called from any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None

    def add(self, anchors: Iterable[tuple[str, str]]) -> None:
        """Pairs of the id of a page and what a link to it is called."""
        rows = [(target, " ".join(text.split())[:MOST_CHARACTERS], MOST_CHARACTERS) for target, text in anchors]
        with self._lock:
            try:
                database = self._open()
                with database:
                    database.executemany(_ADD, rows)
            except sqlite3.Error as error:
                raise self._trouble(error) from error

    def texts(self, targets: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        with self._lock:
            try:
                database = self._open()
                for first in range(0, len(targets), _STEP):
                    some = targets[first : first + _STEP]
                    marks = ",".join("?" * len(some))
                    found.update(database.execute(f"SELECT * FROM anchors WHERE target IN ({marks})", some))  # noqa: S608
            except sqlite3.Error as error:
                raise self._trouble(error) from error
        return found

    def close(self) -> None:
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self._path, timeout=_WAIT_SECONDS, check_same_thread=False)
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")  # a loss of power may take the last texts, and spoils nothing
            database.execute(_TABLE)
            self._database = database
        return self._database

    def _trouble(self, error: sqlite3.Error) -> EngineUnavailable | EngineRefused:
        if isinstance(error, sqlite3.OperationalError):  # locked, or the disk is full
            return EngineUnavailable(f"{self._path}: {error}")
        return EngineRefused(f"{self._path}: {error}; it may be deleted, the index has what it needs")
