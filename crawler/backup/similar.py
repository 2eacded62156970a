"""Which page has nearly this text? What ``crawler/frontier/lua/similar.lua`` answers a crawl from Redis, for a rebuild
from a file: the same lists, asked in the same order, so that the answers are the same. Calls block, and may come from
any thread, as those of ``pages.py``.
"""

import sqlite3
import threading
from pathlib import Path

from crawler.frontier.duplicates import LIST_PAGES, MOST_BITS, QUARTERS
from crawler.parsing import hamming

_ENTRY_BYTES = 16  # simhash and id
_TABLES = """
    PRAGMA journal_mode=OFF;
    PRAGMA synchronous=OFF;
    CREATE TABLE near (crawl TEXT, quarter INTEGER, pages BLOB, PRIMARY KEY (crawl, quarter)) WITHOUT ROWID;
"""


class SimilarPages:
    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._database.executescript(_TABLES)

    def look(self, crawl: str, id_: str, simhash: int) -> str:
        """The id of a page of that crawl that was looked for before, or "". It is remembered for those to come."""
        if not simhash:
            return ""
        with self._lock:
            return self._look(crawl, id_, simhash)

    def _look(self, crawl: str, id_: str, simhash: int) -> str:
        similar = ""
        entry = simhash.to_bytes(8, "big") + bytes.fromhex(id_)
        for number in range(QUARTERS):
            quarter = number << 16 | simhash >> (16 * number) & 0xFFFF
            row = self._database.execute(
                "SELECT pages FROM near WHERE crawl = ? AND quarter = ?", (crawl, quarter)
            ).fetchone()  # fmt: skip
            pages: bytes = row[0] if row else b""
            is_there = False
            for start in range(0, len(pages), _ENTRY_BYTES):
                other = pages[start + 8 : start + _ENTRY_BYTES]
                if other == entry[8:]:
                    is_there = True
                elif not similar and hamming(simhash, int.from_bytes(pages[start : start + 8], "big")) <= MOST_BITS:
                    similar = other.hex()
            if not is_there:
                pages = (pages + entry)[-LIST_PAGES * _ENTRY_BYTES :]
                self._database.execute("INSERT OR REPLACE INTO near VALUES (?, ?, ?)", (crawl, quarter, pages))
        return similar

    def close(self) -> None:
        with self._lock:
            self._database.close()
