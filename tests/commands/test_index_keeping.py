"""``scrapy search --backup`` and its like, and what waits for the index: run as processes."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crawler.search.opening import IndexConfig
from tests.backup.keeping import make_documents, opened_index
from tests.backup.small_site import PAGES, small_site
from tests.commands.processes import ROOT, hear_interrupts, scrapy
from tests.fleet import Fleet
from tests.search.engine_server import remove_index
from tests.servers import wait_until
from tests.storage.stores import configure, make_page, opened


def fill(data_dir: Path, number: int = 20) -> None:
    async def write() -> None:
        async with opened_index(data_dir / "index") as index:
            await index.write(make_documents(number))

    asyncio.run(write())


@pytest.fixture
def ask(tmp_path):
    def run(*args: str, status: int = 0, **environ: str) -> str:
        done = scrapy("embedded:", "search", *args, CRAWLER_DATA_DIR=str(tmp_path), **environ)
        assert done.returncode == status, done.stderr
        return done.stderr if status else done.stdout

    return run


def documents(ask, **environ: str) -> int:
    return int(json.loads(ask("--stats", "--json", **environ))["documents"])


def test_a_backup_is_made_listed_restored_and_pruned(ask, tmp_path):
    fill(tmp_path)
    first = json.loads(ask("--backup", "--json"))
    assert (first["documents"], first["parts"], first["deleted"]) == (20, 1, [])
    fill(tmp_path, 25)
    second = ask("--backup").split(":")[0]
    listed = json.loads(ask("--backups", "--json"))
    assert [(one["version"], one["documents"]) for one in listed] == [(first["version"], 20), (second, 25)]
    assert "restored 20 documents" in ask("--restore", first["version"])
    assert json.loads(ask("--restore", "--json")) == {"version": second, "documents": 25, "rejected": 0}
    assert documents(ask) == 25
    assert f"deleted {second}" in ask("--backup", "--keep", "1")
    assert f"no backup {second}" in ask("--restore", second, status=1)


def test_a_restore_that_was_killed_is_told_until_it_is_done_again(ask, tmp_path):
    fill(tmp_path, 5000)
    version = ask("--backup").split(":")[0]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRAWLER_", "ORBWEAVER_"))}
    with subprocess.Popen(
        [sys.executable, "-m", "scrapy", "search", "--restore"], cwd=ROOT, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env={**kept, "CRAWLER_DATA_DIR": str(tmp_path)},
    ) as process:  # fmt: skip
        wait_until(lambda: not (tmp_path / "index" / "g1").exists(), "the index to be cleared")
        process.kill()
    told = f"the index is not whole: run scrapy search --restore {version} again"
    asked = scrapy("embedded:", "search", "word1", "--json", CRAWLER_DATA_DIR=str(tmp_path))
    assert told in asked.stderr
    assert json.loads(asked.stdout)["page"] == 1
    assert documents(ask) < 5000
    assert f"run scrapy search --restore {version} again first" in ask("--backup", status=1)
    ask("--restore", version)
    assert documents(ask) == 5000
    assert "whole" not in scrapy("embedded:", "search", "word1", CRAWLER_DATA_DIR=str(tmp_path)).stderr


def test_an_empty_index_does_not_push_out_good_backups(ask, tmp_path):
    fill(tmp_path)
    version = json.loads(ask("--backup", "--json"))["version"]
    empty = {"CRAWLER_INDEX_URL": f"file:{tmp_path}/elsewhere"}
    assert "the index is empty" in ask("--backup", "--keep", "1", status=1, **empty)
    assert [one["version"] for one in json.loads(ask("--backups", "--json"))] == [version]


def test_a_backup_on_s3_goes_to_opensearch(ask, tmp_path, s3_place, opensearch_url):
    fill(tmp_path)
    store = {
        "CRAWLER_STORE_URL": f"s3://{s3_place.bucket}/{s3_place.prefix}",
        "CRAWLER_S3_ENDPOINT_URL": s3_place.endpoint_url,
    }
    other = IndexConfig.from_url(f"opensearch+{opensearch_url}/keeping-{os.getpid()}")
    try:
        ask("--backup", **store)
        assert "restored 20 documents" in ask("--restore", **store, CRAWLER_INDEX_URL=other.url)
        assert documents(ask, CRAWLER_INDEX_URL=other.url) == 20
    finally:
        remove_index(opensearch_url, other.name)


def test_rebuild_optimise_and_stats(ask, tmp_path):
    async def keep() -> None:
        async with opened(configure(tmp_path / "store", tmp_path)) as store:
            pages = [
                make_page(f"https://a.example/{n}", b"<title>t%d</title>" % n, crawl=f"c{n % 2}") for n in range(9)
            ]
            await store.put(pages)

    asyncio.run(keep())
    assert json.loads(ask("--rebuild", "--crawl", "c1", "--json"))["documents"] == 4
    assert ask("--rebuild").strip() == "9 documents, 0 removed, 0 unreadable, 0 rejected"
    assert json.loads(ask("--optimise", "--json"))["documents"] == 9
    assert "1 to 1 of 1" in ask("title:t3")


@pytest.mark.parametrize("damage", ["meta.json", "directory", "format.json"])
def test_a_damaged_index_is_made_anew(ask, tmp_path, damage):
    async def keep() -> None:
        async with opened(configure(tmp_path / "store", tmp_path)) as store:
            await store.put([make_page(f"https://a.example/{n}", b"<title>t%d</title>" % n) for n in range(9)])

    def spoil() -> None:
        [generation] = (tmp_path / "index").glob("g*")
        if damage == "directory":
            shutil.rmtree(generation)
        else:
            (generation.parent / damage if damage == "format.json" else generation / damage).write_text("{")
        assert "--rebuild" in ask("title:t3", status=1)

    asyncio.run(keep())
    ask("--rebuild")
    ask("--backup")
    for act in ("--rebuild", "--restore"):
        spoil()
        ask(act)
        assert documents(ask) == 9
        assert "whole" not in scrapy("embedded:", "search", "t3", CRAWLER_DATA_DIR=str(tmp_path)).stderr


def test_misuse_is_told_in_one_line(ask):
    for args in (
        ["--backup", "--rebuild"], ["words", "--backup"], ["--stats", "--keep", "1"], ["--backup", "--keep", "0"],
        ["--backup", "--crawl", "x"], ["--suggest", "t", "--site", "a.org"], ["--stats", "--per-page", "5"],
    ):  # fmt: skip
        told = ask(*args, status=2)
        assert "Traceback" not in told


def test_an_interrupted_rebuild_says_what_to_do(tmp_path):
    async def keep() -> None:
        async with opened(configure(tmp_path / "store", tmp_path)) as store:
            for start in range(0, 6000, 500):
                await store.put([make_page(f"https://a.example/{n}", b"<p>%d" % n) for n in range(start, start + 500)])

    asyncio.run(keep())
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRAWLER_", "ORBWEAVER_"))}
    with subprocess.Popen(
        [sys.executable, "-m", "scrapy", "search", "--rebuild"], cwd=ROOT, stderr=subprocess.PIPE,
        env={**kept, "CRAWLER_DATA_DIR": str(tmp_path)}, preexec_fn=hear_interrupts,
    ) as process:  # fmt: skip
        wait_until(lambda: (tmp_path / "rebuild" / "documents.jsonl.gz").exists(), "the rebuild to read")
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        told = process.stderr.read().decode()
    assert process.returncode == 130, told
    assert "Run scrapy search --rebuild again" in told
    assert "Traceback" not in told
    assert not (tmp_path / "rebuild").exists()


def test_a_search_after_a_killed_crawl_finds_everything(redis_url, tmp_path, ask):
    settings = {"STORE_PAGES": 1, "INDEX_PAGES": 1, "STORE_SYNC": 0, "INDEX_ROUND_SECONDS": 600, "KEEP_ALIVE": 1}
    spool = tmp_path / "data" / "spool" / "index"
    with small_site() as site, Fleet(redis_url, tmp_path, **settings) as fleet:
        fleet.seed([f"{site}/"])
        [worker] = fleet.start()
        wait_until(lambda: fleet.status().count("done") == len(PAGES), "all pages to be done")
        data = {"CRAWLER_DATA_DIR": str(tmp_path / "data")}

        def search() -> int:
            done = scrapy(redis_url, "search", "*", "--copies", "--json", **data)
            assert done.returncode == 0, done.stderr
            return int(json.loads(done.stdout)["total_results"])

        assert search() == 0  # the worker has not given them out of its hands
        worker.kill9()
        assert list(spool.glob("*.spool"))
        # While another process writes to the index, a search just searches.
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(tmp_path / "data" / "index")], cwd=ROOT, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert search() == 0
        holder.communicate(b"\n")
        assert search() == len(PAGES) - 1  # one asks not to be kept
        assert not list(spool.glob("*.spool"))


HOLDER = """
import sys
from pathlib import Path
from crawler.search.embedded_files import WriterLock
lock = WriterLock(Path(sys.argv[1]) / "writer.lock")
assert lock.try_lock()
print("held", flush=True)
sys.stdin.readline()
"""
