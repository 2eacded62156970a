"""``scrapy page``, run as a process."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawler.delivery.spool import Spool
from tests.commands.processes import ROOT
from tests.storage.stores import configure, make_page, opened

URL = "https://a.example/p%C3%A4ge?b=1"
BODY = b"\xff\xfe<p>\r\n" + bytes(range(256)) * 1000


def page(data_dir: Path, *args: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRAWLER_", "ORBWEAVER_"))}
    return subprocess.run(
        [sys.executable, "-m", "scrapy", "page", *args], capture_output=True, cwd=ROOT, timeout=60, check=False,
        env={**kept, "CRAWLER_DATA_DIR": str(data_dir), **environ},
    )  # fmt: skip


def keep(config) -> None:
    async def put() -> None:
        async with opened(config) as store:
            await store.put([make_page(URL, BODY)])

    asyncio.run(put())


@pytest.mark.parametrize("format_", ["html", "warc"])
def test_prints_the_body_and_nothing_else(tmp_path, format_):
    keep(configure(tmp_path / "store", tmp_path, format=format_))
    for url in (URL, "HTTPS://A.example:443/p%C3%A4ge?b=1&utm_source=x#top"):
        done = page(tmp_path, url, CRAWLER_STORE_FORMAT=format_)
        assert (done.returncode, done.stdout, done.stderr) == (0, BODY, b"")


def test_prints_what_is_known_of_it(tmp_path):
    keep(configure(tmp_path / "store", tmp_path))
    done = page(tmp_path, "--info", URL)
    info = json.loads(done.stdout)
    assert (done.returncode, info["url"], info["body_bytes"]) == (0, URL, len(BODY))


def test_reads_from_s3(s3_place, tmp_path):
    keep(configure(s3_place, tmp_path))
    place = {"CRAWLER_STORE_URL": f"s3://{s3_place.bucket}/{s3_place.prefix}"}
    done = page(tmp_path, URL, **place, CRAWLER_S3_ENDPOINT_URL=s3_place.endpoint_url)
    assert (done.returncode, done.stdout, done.stderr) == (0, BODY, b"")


def test_what_cannot_be_printed_is_told_in_a_line(tmp_path):
    for args, status, words, environ in (
        (["https://a.example/none"], 1, "not in the store", {}),
        (["not a url"], 1, "not a url", {}),
        (["ftp://a.example/"], 1, "ftp", {}),
        ([URL], 2, "STORE_URL", {"CRAWLER_STORE_URL": "nowhere"}),
    ):
        done = page(tmp_path, *args, **environ)
        assert (done.returncode, done.stdout) == (status, b""), done.stderr
        assert words in done.stderr.decode()
        assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "store").exists()


def test_a_page_that_may_still_wait_for_the_store_is_told_as_that(tmp_path):
    spool = Spool(tmp_path / "spool" / "store", 1 << 20)
    spool.open()
    spool.append([b"some page"])
    spool.end_segment()
    done = page(tmp_path, URL)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"not in the store, but some pages wait for it: see scrapy spool status" in done.stderr


def test_misuse_is_told(tmp_path):
    for args in ([], [URL, URL], ["--inof", URL]):
        done = page(tmp_path, *args)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"Traceback" not in done.stderr
