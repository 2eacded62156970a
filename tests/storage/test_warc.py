"""WARC files: does warcio read them, and does a crash cost nothing?"""

import asyncio
import dataclasses
import errno
import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawler.errors import Damaged, EngineUnavailable
from crawler.storage.opening import build_store
from crawler.storage.page import Page
from crawler.storage.store import Store
from tests.commands.processes import scrapy
from tests.storage.killing import put_and_kill
from tests.storage.proxy import TroubleProxy
from tests.storage.putting import numbered
from tests.storage.seaweed import BUCKET
from tests.storage.stores import DAY, NOON, configure, in_loop, listed, make_link, make_page, opened

ROOM = "uploads"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


def is_gzip(path: Path) -> bool:
    return subprocess.run(["gzip", "-t", path], check=False).returncode == 0


def read_warc(path: Path) -> list[tuple[str, str, bytes]]:
    """Type, address and body of every record, as warcio sees them, with digests checked."""
    records = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            body = record.content_stream().read()
            records.append((record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), body))
    return records


@in_loop
async def test_warcio_reads_what_was_written(root, tmp_path):
    headers = {"Content-Type": "text/html", "content-encoding": "br", "Content-Length": "3", "Set-Cookie": "a=b",
               "Transfer-Encoding": "chunked", "X-Odd": "é\r\nEvil: 1", "Bad Name": "x"}  # fmt: skip
    page = make_page("https://a.example/?q=1", b"decoded " * 100, headers=headers, status=404)
    link = make_link(page, "https://b.example/", fetched_at=NOON + 1234)
    async with opened(configure(root, tmp_path, format="warc")) as store:
        await store.put([page])
        await store.put([link, make_page("https://a.example/empty", b"")])
    [path] = root.glob("warc/*/*.warc.gz")
    assert path.parent.name == "2023-11-15"
    assert is_gzip(path)
    assert [record[0] for record in read_warc(path)] == ["warcinfo", "response", "revisit", "response"]
    assert read_warc(path)[1] == ("response", page.info.url, page.body)
    with path.open("rb") as file:
        _, response, revisit, _ = ((r.rec_headers, r.http_headers) for r in ArchiveIterator(file))
    assert response[0].get_header("WARC-Payload-Digest").startswith("sha256:")
    assert response[0].get_header("WARC-Date") == "2023-11-15T12:00:00.000Z"
    assert response[1].get_statuscode() == "404"
    assert response[1].get_header("Content-Length") == str(len(page.body))
    assert response[1].get_header("Content-Encoding") is None
    assert response[1].get_header("X-Crawler-content-encoding") == "br"
    assert response[1].get_header("Evil") is None
    assert revisit[0].get_header("WARC-Refers-To-Target-URI") == page.info.url
    assert revisit[0].get_header("WARC-Refers-To-Date") == "2023-11-15T12:00:00.000Z"
    assert revisit[0].get_header("WARC-Payload-Digest") == response[0].get_header("WARC-Payload-Digest")


@in_loop
async def test_the_index_says_where_a_record_is(root, tmp_path):
    pages = [make_page(f"https://a.example/{number}", b"%d" % number) for number in range(200)]
    async with opened(configure(root, tmp_path, format="warc")) as store:
        await store.put(pages)
    [warc], [index] = root.glob("warc/*/*.warc.gz"), root.glob("warc/*/*.cdxj")
    lines = index.read_text().splitlines()
    assert lines == sorted(lines)
    for line in lines:
        id_, time, entry = line.split(" ", 2)
        entry = json.loads(entry)
        assert (time, entry["filename"]) == ("20231115120000000", warc.name)
        with warc.open("rb") as file:
            file.seek(entry["offset"])
            text = gzip.decompress(file.read(entry["length"]))
        assert f"WARC-Target-URI: {entry['page']['url']}\r\n".encode() in text
        assert id_ == entry["page"]["id"]


@in_loop
async def test_files_are_closed_by_size_and_by_day(root, tmp_path):
    config = configure(root, tmp_path, format="warc", warc_max_bytes=5000)
    pages = [make_page(f"https://a.example/{n}", b"x", fetched_at=NOON + n % 5 * DAY) for n in range(100)]
    async with opened(config) as store:
        for start in range(0, 100, 5):
            await store.put(pages[start : start + 5])
    files = list(root.glob("warc/*/*.warc.gz"))
    assert {path.parent.name for path in files} == {page.info.day for page in pages}
    assert len(files) > 5
    assert sum(len(read_warc(path)) - 1 for path in files) == 100
    async with opened(config) as store:
        infos = await listed(store)
        assert len(infos) == 100
        assert [info.day for info in infos] == sorted(info.day for info in infos)
        assert await store.find(pages[57].info.id) == pages[57]


@in_loop
async def test_a_killed_process_loses_nothing_that_it_promised(root, tmp_path):
    safe = put_and_kill("warc", str(root), tmp_path, 20)
    [path] = root.glob("warc/*/*.warc.gz")
    with path.open("ab") as file:  # and a record that was torn
        file.write(gzip.compress(b"WARC/1.1\r\nWARC-Type: response\r\n" * 100)[:50])
    reader = build_store(configure(root, tmp_path, format="warc"))
    urls = {info.url for info in await listed(reader)}  # before anybody has mended it
    assert {f"https://a.example/{number}" for number in range(safe)} <= urls
    async with opened(configure(root, tmp_path, format="warc")) as store:
        assert {info.url for info in await listed(store)} == urls
        for number in (0, safe - 1):
            page = make_page(f"https://a.example/{number}", numbered(number))
            assert await store.find(page.info.id) == page
    assert is_gzip(path)
    assert len(read_warc(path)) == len(urls) + 1
    assert not list(root.glob("warc/*/*.open"))


@pytest.mark.parametrize("kept_bytes", [0, 1, 200, 100_000])
@in_loop
async def test_an_index_that_is_short_or_gone_is_made_anew(root, tmp_path, kept_bytes):
    pages = [make_page(f"https://a.example/{number}") for number in range(9)]
    async with opened(configure(root, tmp_path, format="warc")) as store:
        await store.put(pages)
    [index] = root.glob("warc/*/*.cdxj")
    text = index.read_bytes()
    index.unlink()
    if kept_bytes:
        index.with_suffix(".cdxj.open").write_bytes(text[:kept_bytes])
    config = configure(root, tmp_path, format="warc")
    assert len(await listed(build_store(config))) == 9
    async with opened(config) as store:
        assert len(await listed(store)) == 9
        assert await store.find(pages[4].info.id) == pages[4]
    assert sorted(index.read_bytes().splitlines()) == sorted(text.splitlines())


@in_loop
async def test_a_file_that_a_live_process_writes_is_left_alone(root, tmp_path):
    config = configure(root, tmp_path, format="warc")
    async with opened(config) as first:
        await first.put([make_page()])
        async with opened(config) as second:
            await second.put([make_page("https://b.example/")])
        await first.put([make_page("https://c.example/")])
        assert len(await listed(first)) == 3
    assert len(list(root.glob("warc/*/*.warc.gz"))) == 2
    assert len(await listed(build_store(config))) == 3


@in_loop
async def test_what_comes_after_somebody_removed_the_files_is_kept(root, tmp_path):
    page, after = make_page(), make_page("https://a.example/after")
    async with opened(configure(root, tmp_path, format="warc")) as store:
        await store.put([page])
        shutil.rmtree(root)
        await store.put([page, after])
    [path] = root.glob("warc/*/*.warc.gz")
    assert [record[1] for record in read_warc(path)[1:]] == [page.info.url, after.info.url]


@in_loop
async def test_pages_are_safe_when_there_is_no_room_for_the_index_of_a_full_file(root, tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    pages = [make_page(f"https://a.example/{number}") for number in range(3)]
    async with opened(configure(root, tmp_path, format="warc", warc_max_bytes=1)) as store:
        monkeypatch.setattr("crawler.storage.warc_file.finish_index", fail)
        for page in pages:
            await store.put([page])  # whoever is told that a page is not safe writes it again
        monkeypatch.undo()
        assert await listed(store) == sorted((page.info for page in pages), key=lambda info: info.id)
    async with opened(configure(root, tmp_path, format="warc")):
        assert len(list(root.glob("warc/*/*.cdxj"))) == 3


@in_loop
async def test_a_damaged_record_is_told(root, tmp_path):
    page = make_page(body=b"some text " * 1000)
    async with opened(configure(root, tmp_path, format="warc")) as store:
        await store.put([page])
    [path] = root.glob("warc/*/*.warc.gz")
    data = bytearray(path.read_bytes())
    data[-200:-100] = bytes(100)
    path.write_bytes(data)
    with pytest.raises(Damaged, match="damaged"):
        await build_store(configure(root, tmp_path, format="warc")).find(page.info.id)


@in_loop
async def test_a_damaged_index_does_not_keep_others_from_being_written(root, tmp_path):
    page = make_page()
    async with opened(configure(root, tmp_path, format="warc")) as store:
        await store.put([page])
    [index] = root.glob("warc/*/*.cdxj")
    index.write_bytes(index.read_bytes().replace(b'"offset":', b'"offset";'))
    link = make_link(page, "https://b.example/")
    async with opened(configure(root, tmp_path, format="warc")) as store:
        await store.put([link])
        assert await listed(store) == [link.info]
        with pytest.raises(Damaged, match="line of the index"):
            await store.find(page.info.id)


# --- On S3 -----------------------------------------------------------------------------------


def waiting(data_dir: Path) -> list[str]:
    return sorted(path.name for path in (data_dir / ROOM).rglob("*") if path.is_file())


@in_loop
async def test_a_file_is_uploaded_when_it_is_full_or_closed(s3_server, s3_place, tmp_path):
    config = configure(s3_place, tmp_path, format="warc", warc_max_bytes=20_000)
    pages = [make_page(f"https://a.example/{number}") for number in range(60)]
    async with opened(config) as store:
        for start in range(0, 60, 10):
            await store.put(pages[start : start + 10])
        assert len(await listed(store)) == 60
    assert waiting(tmp_path) == []
    keys = [
        entry["Key"] for entry in s3_server.client().list_objects_v2(Bucket=BUCKET, Prefix=s3_place.prefix)["Contents"]
    ]
    files = [key for key in keys if key.endswith(".warc.gz")]
    assert len(files) > 1
    assert {key.replace(".warc.gz", ".cdxj") for key in files} <= set(keys)
    for number, key in enumerate(files):
        s3_server.client().download_file(BUCKET, key, str(tmp_path / f"{number}.warc.gz"))
    assert sum(len(read_warc(path)) - 1 for path in tmp_path.glob("*.warc.gz")) == 60


@in_loop
async def test_what_a_killed_process_left_the_next_one_uploads(s3_place, tmp_path):
    safe = put_and_kill("warc", json.dumps(dataclasses.asdict(s3_place)), tmp_path, 5)
    assert waiting(tmp_path)
    config = configure(s3_place, tmp_path, format="warc")
    async with opened(config) as store:
        assert waiting(tmp_path) == []
        assert len(await listed(store)) >= safe
    elsewhere = build_store(configure(s3_place, tmp_path / "elsewhere", format="warc"))
    page = make_page("https://a.example/3", numbered(3))
    assert await elsewhere.find(page.info.id) == page


@in_loop
async def test_while_s3_is_away_files_wait_here(s3_server, s3_place, tmp_path):
    page = make_page()
    with TroubleProxy(s3_server.port) as proxy:
        ill = configure(dataclasses.replace(s3_place, endpoint_url=proxy.url), tmp_path, format="warc")
        async with opened(ill) as store:
            await store.put([page])
            proxy.refuse_next = -1
        assert len(waiting(tmp_path)) == 2
        settings = {
            "CRAWLER_DATA_DIR": str(tmp_path), "CRAWLER_STORE_FORMAT": "warc", "CRAWLER_S3_ENDPOINT_URL": proxy.url,
            "CRAWLER_STORE_URL": f"s3://{s3_place.bucket}/{s3_place.prefix}",
        }  # fmt: skip
        told = await asyncio.to_thread(scrapy, "embedded:", "spool", "drain", **settings)
        assert told.returncode == 1
        assert "503" in told.stdout.replace("\n", "")
        proxy.refuse_next = 0
        told = await asyncio.to_thread(scrapy, "embedded:", "spool", "drain", **settings)
        assert told.returncode == 0, told.stderr
        assert waiting(tmp_path) == []
        assert await build_store(ill).find(page.info.id) == page


@in_loop
async def test_what_waits_for_s3_is_bounded(s3_server, s3_place, tmp_path):
    pages = [make_page(f"https://a.example/{number}", os.urandom(2000)) for number in range(20)]
    with TroubleProxy(s3_server.port) as proxy:
        ill = dataclasses.replace(s3_place, endpoint_url=proxy.url)
        config = configure(ill, tmp_path, format="warc", warc_max_bytes=1000, waiting_bytes=10_000)
        async with opened(config) as store:
            proxy.refuse_next = -1
            with pytest.raises(EngineUnavailable, match=r"wait in .* to be uploaded"):
                await put_one_by_one(store, pages)
            assert sum(path.stat().st_size for path in (tmp_path / ROOM).rglob("*.warc.gz")) < 15_000
            proxy.refuse_next = 0
            for page in pages:
                await put_until_taken(store, page)
    assert waiting(tmp_path) == []
    assert len(await listed(build_store(configure(s3_place, tmp_path, format="warc")))) == len(pages)


async def put_one_by_one(store: Store, pages: list[Page]) -> None:
    for page in pages:
        await store.put([page])


async def put_until_taken(store: Store, page: Page) -> None:
    while True:
        try:
            return await store.put([page])
        except EngineUnavailable:  # as whoever puts pages does
            await asyncio.sleep(0.01)


@in_loop
async def test_files_that_were_removed_while_they_waited_do_not_hold_up_others(s3_server, s3_place, tmp_path, caplog):
    first, second, last = (make_page(f"https://a.example/{name}", os.urandom(2000)) for name in "abc")
    with TroubleProxy(s3_server.port) as proxy:
        ill = dataclasses.replace(s3_place, endpoint_url=proxy.url)
        async with opened(configure(ill, tmp_path, format="warc", warc_max_bytes=1000)) as store:
            proxy.refuse_next = -1
            await store.put([first])
            await store.put([second])
            while "stays here for now" not in caplog.text:  # noqa: ASYNC110  no event tells of it
                await asyncio.sleep(0.01)
            shutil.rmtree(tmp_path / ROOM)
            proxy.refuse_next = 0
            await store.put([last])
    assert waiting(tmp_path) == []
    assert "was removed before it was uploaded" in caplog.text
    assert await listed(build_store(configure(s3_place, tmp_path, format="warc"))) == [last.info]


@in_loop
async def test_an_index_that_is_gone_from_s3_is_made_anew(s3_server, s3_place, tmp_path):
    page = make_page(body=b"x" * 50_000)
    config = configure(s3_place, tmp_path, format="warc")
    async with opened(config) as store:
        await store.put([page])
    client = s3_server.client()
    for entry in client.list_objects_v2(Bucket=BUCKET, Prefix=s3_place.prefix)["Contents"]:
        if entry["Key"].endswith(".cdxj"):
            client.delete_object(Bucket=BUCKET, Key=entry["Key"])
    assert await build_store(config).find(page.info.id) == page
