"""``scrapy export``, and Scrapy's own feed exports, run as processes."""

import asyncio
import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from crawler.export.pages import USUAL
from tests.backup.small_site import small_site
from tests.commands.processes import ROOT, hear_interrupts, scrapy
from tests.servers import wait_until
from tests.storage.stores import configure, make_page, opened
from tests.storage.test_directory import small_disk

TITLES = ["=HYPERLINK(1)", "plain", "@x"]


def _letters(number: int) -> str:
    """At random, or Parquet would fold them into nothing."""
    return os.urandom(number).hex()


def keep(data_dir: Path, number: int = 3, size: int = 10) -> None:
    async def put() -> None:
        async with opened(configure(data_dir / "store", data_dir)) as store:
            for start in range(0, number, 500):
                await store.put([
                    make_page(f"https://a.example/{n}", f"<title>{TITLES[n % 3]}</title>{_letters(size)}".encode())
                    for n in range(start, min(start + 500, number))
                ])  # fmt: skip

    asyncio.run(put())


@pytest.fixture
def export(tmp_path):
    def run(*args: str, status: int = 0, **environ: str) -> str:
        done = scrapy("embedded:", "export", *args, CRAWLER_DATA_DIR=str(tmp_path), **environ)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr if status else done.stdout

    return run


def test_rows_go_to_standard_output_as_json_lines(export, tmp_path):
    keep(tmp_path)
    rows = [json.loads(line) for line in export().splitlines()]
    assert {row["title"] for row in rows} == set(TITLES)
    assert export("--json", "--fields", "url") == export("--fields", "url", "-o", "-")


def test_files_by_their_ending(export, tmp_path):
    keep(tmp_path)
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        assert export("--fields", "id,title,bytes", "-o", str(tmp_path / name)) == ""
    assert [path.name for path in tmp_path.glob(".*")] == []
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    assert sorted(row["title"] for row in rows) == ["'=HYPERLINK(1)", "'@x", "plain"]
    table = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    assert table.schema.names == ["id", "title", "bytes"]
    assert sorted(table.column("title").to_pylist()) == sorted(TITLES)
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 3
    assert (tmp_path / "a.csv").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_parquet_goes_through_a_pipe_and_not_to_a_terminal(tmp_path):
    keep(tmp_path)
    command = [sys.executable, "-m", "scrapy", "export", "--format", "parquet"]
    environ = {**os.environ, "CRAWLER_DATA_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, check=True, timeout=60)
    assert pyarrow.parquet.read_table(io.BytesIO(done.stdout)).num_rows == 3
    ours, theirs = pty.openpty()
    refused = subprocess.run(
        command, cwd=ROOT, env=environ, stdout=theirs, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(theirs)
    os.close(ours)
    assert refused.returncode == 2
    assert b"nothing for a terminal" in refused.stderr


def test_misuse_is_told_in_one_line(export, tmp_path):
    assert "there are id, url" in export("--fields", "ulr", status=2)
    assert "2026-01-31" in export("--after", "yesterday", status=2)
    assert "--format" in export("-o", str(tmp_path / "pages.xlsx"), status=2)
    assert "is a directory" in export("-o", str(tmp_path), status=2)
    assert "cannot be written" in export("-o", str(tmp_path / "none" / "x.csv"), status=2)
    assert "choose one" in export("--json", "--format", "csv", status=2)
    assert "choose one" in export("--json", "-o", str(tmp_path / "pages.csv"), status=2)


def test_other_readers_of_csv_find_what_was_kept(export, tmp_path):
    bodies = ['<title>a "b", c</title>\r\n\tone\r<p>two', "<title>=1</title>'é,\n\n\"", '",\r\n"']

    async def put() -> None:
        async with opened(configure(tmp_path / "store", tmp_path)) as store:
            await store.put([make_page(f"https://a.example/{n}", body.encode()) for n, body in enumerate(bodies)])

    asyncio.run(put())
    path = tmp_path / "pages.csv"
    export("--fields", "title,html", "-o", str(path))
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["html"] for row in rows) == sorted(bodies)
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    assert pyarrow.csv.read_csv(path, parse_options=options).to_pylist() == rows


def test_a_store_without_pages_makes_files_without_rows(export, tmp_path):
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        export("-o", str(tmp_path / name))
    assert pyarrow.csv.read_csv(tmp_path / "a.csv").schema.names == list(USUAL)
    times = pyarrow.parquet.read_schema(tmp_path / "a.parquet").field("fetched_at").type
    assert times == pyarrow.timestamp("ms", "UTC")
    assert (tmp_path / "a.jsonl").read_bytes() == b""
    told = scrapy("embedded:", "export", "--crawl", "none", CRAWLER_DATA_DIR=str(tmp_path))
    assert (told.returncode, told.stdout) == (0, "")
    assert "no such page" in told.stderr


def test_a_full_disk_leaves_no_half_file(export, tmp_path):
    keep(tmp_path, 30, 200_000)
    with small_disk(tmp_path / "disk", 1) as disk:
        (disk / "pages.csv").write_text("from before")
        for name in ("pages.csv", "pages.parquet", "pages.jsonl"):
            assert "could not be written" in export("-o", str(disk / name), "--fields", "url,html", status=1)
        assert [path.name for path in disk.iterdir()] == ["pages.csv"]
        assert (disk / "pages.csv").read_text() == "from before"


def test_a_pipe_with_a_name_is_written_to_and_not_replaced(tmp_path):
    keep(tmp_path)
    pipe = tmp_path / "pages.csv"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        done = scrapy("embedded:", "export", "-o", str(pipe), "--fields", "title", CRAWLER_DATA_DIR=str(tmp_path))
        if not pipe.is_fifo():
            reader.kill()  # it would wait for ever
        assert (done.returncode, pipe.is_fifo()) == (0, True), done.stderr
        assert reader.communicate()[0].split()[0] == "title"


def test_a_link_is_followed_and_stays(export, tmp_path):
    keep(tmp_path)
    there, link = tmp_path / "there" / "pages.csv", tmp_path / "pages.csv"
    there.parent.mkdir()
    link.symlink_to(there)
    for _ in range(2):  # what it leads to is not there at first
        export("-o", str(link), "--fields", "title")
        assert link.is_symlink()
        assert there.read_text().startswith("title")


def test_an_interrupted_export_leaves_no_half_file(tmp_path):
    keep(tmp_path, 4000)
    out = tmp_path / "out"
    out.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "scrapy", "export", "--fields", "url,content", "-o", str(out / "pages.jsonl")],
        cwd=ROOT, stderr=subprocess.PIPE,
        env={**os.environ, "CRAWLER_DATA_DIR": str(tmp_path)}, preexec_fn=hear_interrupts,
    ) as process:  # fmt: skip
        wait_until(lambda: [path for path in out.iterdir() if path.stat().st_size], "some rows")
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        told = process.stderr.read()
    assert process.returncode == 130, told
    assert b"Traceback" not in told
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_crawl_writes_feeds(ending, redis_url, tmp_path):
    path = tmp_path / f"pages.{ending}"
    with small_site() as site:
        done = scrapy(
            redis_url, "crawl", "broad", "-a", f"seeds={site}/", "-O", str(path),
            CRAWLER_DATA_DIR=str(tmp_path / "data"), CRAWLER_ALLOW_PRIVATE="1", CRAWLER_FRONTIER_RATE="0",
            CRAWLER_FRONTIER_IDLE_SECONDS="0.1", CRAWLER_FRONTIER_BLOOM_CAPACITY="10000",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if ending == "csv":
        rows = list(csv.DictReader(path.open(newline="")))
    else:
        rows = pyarrow.parquet.read_table(path).to_pylist()
    titles = {row["url"].removeprefix(site): row["title"] for row in rows}
    assert titles["/"] == "Home"
    assert titles["/german"] == "Über uns"
    assert len(rows) == 10
