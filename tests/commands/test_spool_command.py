"""``scrapy spool``, run as a process."""

import json
from pathlib import Path

import msgspec
import pytest

from crawler.delivery.spool import Spool
from crawler.pipelines.outlets import Entry
from crawler.search.document import Document
from tests.commands.processes import scrapy
from tests.storage.stores import NOON, make_page


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A DATA_DIR in whose spools a page waits for the store and its document for the index."""
    page = make_page()
    document = Document(id=page.info.id, url=page.info.url, content="hello", host="a.example", fetched_at=NOON)
    for name, record in (("store", page), ("index", Entry(document, []))):
        spool = Spool(tmp_path / "spool" / name, 1 << 20)
        spool.open()
        spool.append([msgspec.msgpack.encode(record)])
        spool.end_segment()
    return tmp_path


def rows(done) -> dict[str, dict[str, object]]:
    return {row["for"]: row for row in json.loads(done.stdout)}


def test_what_waits_is_told_and_delivered(waiting):
    data = {"CRAWLER_DATA_DIR": str(waiting)}
    told = scrapy("embedded:", "spool", "status", "--json", **data)
    assert told.returncode == 0, told.stderr
    assert all(row["bytes"] and row["segments"] == 1 for row in rows(told).values())
    told = scrapy("embedded:", "spool", "drain", "--json", **data)
    assert told.returncode == 0, told.stderr
    assert not any(row["bytes"] or row["trouble"] for row in rows(told).values())
    assert scrapy("embedded:", "page", make_page().info.url, **data).stdout.encode() == make_page().body


def test_a_store_that_refuses_us_does_not_keep_the_index_waiting(waiting):
    (waiting / "file").touch()
    data = {"CRAWLER_DATA_DIR": str(waiting), "CRAWLER_STORE_URL": f"file:{waiting / 'file' / 'store'}"}
    told = scrapy("embedded:", "spool", "drain", "--json", **data)
    assert told.returncode == 1, told.stderr
    assert "Traceback" not in told.stderr
    store, index = rows(told)["store"], rows(told)["index"]
    assert store["bytes"]
    assert "in the way" in str(store["trouble"])
    assert (index["bytes"], index["trouble"]) == (0, "")


def test_misuse_is_told():
    told = scrapy("embedded:", "spool", "empty")
    assert told.returncode == 2
    assert "give status or drain" in told.stderr
