"""Every store does the same, wherever it lies and in whatever format: one suite, run on all of them."""

import asyncio
import hashlib
import os
from pathlib import Path

import msgspec
import pytest

from crawler.errors import EngineRefused, EngineUnavailable
from crawler.storage.opening import StoreConfig
from crawler.storage.page import Page
from tests.storage.stores import DAY, NOON, configure, in_loop, listed, make_link, make_page, opened


@pytest.fixture(params=["directory", "s3", "warc in a directory", "warc on s3"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> StoreConfig:
    place = request.getfixturevalue("s3_place") if "s3" in request.param else tmp_path / "store"
    return configure(place, tmp_path / "data", format="warc" if "warc" in request.param else "html")


@in_loop
async def test_a_page_is_read_back_byte_for_byte(config):
    page = make_page(body=bytes(range(256)) * 50)
    async with opened(config) as store:
        await store.put([page])
        assert await store.get(page.info.key) == page
        assert await store.find(page.info.id) == page
        assert await listed(store) == [page.info]


@in_loop
async def test_what_one_process_put_another_finds(config):
    pages = [make_page(f"https://a.example/{number}", b"x" * number) for number in range(50)]
    async with opened(config) as store:
        await store.put(pages)
    async with opened(config) as store:
        for page in pages:
            assert await store.find(page.info.id) == page
        assert sorted(info.url for info in await listed(store)) == sorted(page.info.url for page in pages)


@in_loop
async def test_a_page_is_found_while_its_store_is_open_elsewhere(config):
    page = make_page()
    async with opened(config) as writer, opened(config) as reader:
        assert await reader.find(page.info.id) is None
        await writer.put([page])
        assert await reader.get(page.info.key) == page


@in_loop
async def test_what_is_not_there_is_none(config):
    async with opened(config) as store:
        assert await store.find("0" * 16) is None
        assert await store.get(make_page().info.key) is None
        assert await store.get("index/none") is None
        assert await store.get_file("index/none") is None
        assert await listed(store) == []
        assert await store.list_files("index/") == []
        await store.delete_file("index/none")
        await store.objects.copy("index/none", "index/copy")  # of what somebody removed since it was seen
        assert await store.list_files("index/") == []
        await store.put([])


@in_loop
async def test_the_newest_version_wins_whatever_the_order(config):
    old, middle, new = (make_page(body=b"version %d" % day, fetched_at=NOON + day * DAY) for day in range(3))
    async with opened(config) as store:
        await store.put([middle])
        await store.put([new, old])
        assert await store.find(new.info.id) == new
        assert await store.get(old.info.key) == old
        assert [info.fetched_at for info in await listed(store)] == [NOON, NOON + DAY, NOON + 2 * DAY]
        assert await listed(store, since_day=new.info.day) == [new.info]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@in_loop
async def test_of_a_day_too_the_newest_version_wins(config, order):
    versions = [make_page(body=b"version %d" % hour, fetched_at=NOON + hour) for hour in range(3)]
    async with opened(config) as store:
        for number in order:
            await store.put([versions[number]])
        assert await store.find(versions[0].info.id) == versions[2]
    async with opened(config) as store:
        assert await store.get(versions[0].info.key) == versions[2]


@in_loop
async def test_putting_again_changes_nothing(config):
    pages = [make_page(f"https://a.example/{number}") for number in range(3)]
    pages.append(make_link(pages[0], "https://a.example/copy"))
    async with opened(config) as store:
        await store.put(pages)
        await store.put(pages)
        await store.put(pages + pages)
        assert len(await listed(store)) == 4
    async with opened(config) as store:
        await store.put(pages)
        assert len(await listed(store)) == 4
        assert await store.find(pages[1].info.id) == pages[1]


@in_loop
async def test_a_duplicate_has_the_body_of_its_original(config):
    original = make_page(body=b"once")
    copy = make_link(original, "https://b.example/", fetched_at=NOON + DAY)
    async with opened(config) as store:
        await store.put([original])
        await store.put([copy])
        assert await store.find(copy.info.id) == Page(copy.info, b"once")
        assert await store.get(copy.info.key) == Page(copy.info, b"once")
        assert copy.info in await listed(store)


@in_loop
async def test_a_duplicate_keeps_its_body_when_the_original_changes(config):
    original = make_page(body=b"once")
    copy = make_link(original, "https://b.example/")
    changed = make_page(body=b"changed", fetched_at=NOON + 1000)
    async with opened(config) as store:
        await store.put([original])
        await store.put([copy])
        await store.put([changed])
        assert await store.find(original.info.id) == changed
        assert (await store.find(copy.info.id)).body == b"once"


@in_loop
async def test_a_page_that_is_fetched_again_unchanged_is_a_duplicate_of_itself(config):
    first = make_page(body=b"the same")
    for later in (1000, DAY):
        again = make_link(first, first.info.url, fetched_at=NOON + later)
        async with opened(config) as store:
            await store.put([first])
            await store.put([again])
            assert await store.find(first.info.id) == Page(again.info, b"the same")


@in_loop
async def test_pages_of_one_crawl(config):
    pages = [make_page(f"https://a.example/{number}", crawl="ab"[number % 2]) for number in range(6)]
    async with opened(config) as store:
        await store.put(pages)
        assert {info.url for info in await listed(store, crawl="a")} == {page.info.url for page in pages[::2]}
        assert await listed(store, crawl="c") == []


@pytest.mark.parametrize("size", [0, 1, 20_000_000])
@in_loop
async def test_bodies_of_any_size(config, size):
    page = make_page(body=os.urandom(size))
    async with opened(config) as store:
        await store.put([page])
        assert await store.find(page.info.id) == page
    async with opened(config) as store:
        assert (await store.get(page.info.key)).body == page.body


@pytest.mark.parametrize(
    "known",
    [
        {"url": "https://a.example/" + "x" * 2000},
        {"url": "https://xn--bcher-kva.example/%F0%9F%98%80?q=a%00b&x=%2e%2e%2f"},
        {"url": "https://a.example/é/../\r\n\0🦀"},
        {"content_type": "text/html; charset=\"x\"\r\nX-Evil: 1", "charset": "iso-8859-1é"},
        {"content_type": "", "charset": "", "headers": {}, "status": 404},
        {"headers": {"Content-Encoding": "br", "Content-Length": "3", "Transfer-Encoding": "chunked", "ETag": '"é"'}},
        {"headers": {"X-Long": "y" * 60_000, "Bad Name:": "a\r\nb: c", "": "z"}},
        {"crawl": "../../crawl\n", "depth": -1},
    ],
)  # fmt: skip
@in_loop
async def test_odd_addresses_and_headers_are_kept_as_they_are(config, known):
    page = make_page(body="grüße".encode("latin-1"), **known)
    async with opened(config) as store:
        await store.put([page])
        assert await store.find(page.info.id) == page
        assert await listed(store) == [page.info]
    async with opened(config) as store:
        assert await store.find(page.info.id) == page


@in_loop
async def test_text_that_no_encoding_can_carry_does_not_lose_the_page(config):
    page = make_page(headers={"X": "half a pair \ud800"})
    async with opened(config) as store:
        await store.put([page])
        assert (await store.find(page.info.id)).info.headers == {"X": "half a pair ?"}


@in_loop
async def test_size_and_hash_are_filled_in(config):
    page = make_page(body=b"abc", sha256="", body_bytes=0)
    async with opened(config) as store:
        await store.put([page])
        found = await store.find(page.info.id)
    assert (found.info.body_bytes, found.info.sha256) == (3, hashlib.sha256(b"abc").hexdigest())


@pytest.mark.parametrize(
    "known",
    [
        {"id": "../../../../etc"}, {"id": "0" * 15 + "/"}, {"id": ""}, {"id": "0" * 15 + "\n"}, {"id": "F" * 16},
        {"fetched_at": 10**18}, {"fetched_at": -(10**18)}, {"sha256": "../x"}, {"same_as": "../../etc/passwd"},
    ],
)  # fmt: skip
@in_loop
async def test_no_page_can_leave_the_store(config, known):
    good = make_page()
    bad = Page(msgspec.structs.replace(good.info, **known), good.body)
    async with opened(config) as store:
        with pytest.raises(EngineRefused):
            await store.put([good, bad])
        await store.put([good])
        assert await store.find(good.info.id) == good


@in_loop
async def test_no_key_can_leave_the_store(config, tmp_path):
    keys = ["../x", "a/../../x", "/etc/passwd", "a//b", "a/", "", ".", "..", ".tmp/x", "a/.hidden", "a\0b", "a\nb",
            "a\\b", "x" * 2000, "a/" + "y" * 300, "é"]  # fmt: skip
    (tmp_path / "x").write_bytes(b"outside")
    async with opened(config) as store:
        for key in keys:
            with pytest.raises(EngineRefused, match="no key"):
                await store.put_file(key, b"1")
            with pytest.raises(EngineRefused, match="no key"):
                await store.get_file(key)
            with pytest.raises(EngineRefused, match="no key"):
                await store.delete_file(key)
            assert await store.get(key) is None
        for prefix in ("../", "/etc/", "a/../../"):
            with pytest.raises(EngineRefused, match="no key"):
                await store.list_files(prefix)
        for key in ("pages/2023-11-15/0.html.gz", "warc/x"):
            with pytest.raises(EngineRefused, match="among the pages"):
                await store.put_file(key, b"1")
        with pytest.raises(EngineRefused):
            await store.find("../../x")
    assert (tmp_path / "x").read_bytes() == b"outside"


@in_loop
async def test_files_lie_beside_the_pages(config):
    async with opened(config) as store:
        await store.put([make_page()])
        assert await store.put_file("backups/1/a.bin", b"one")
        assert await store.put_file("backups/1/a.bin", b"two")
        assert await store.put_file("backups/10/b", b"")
        assert await store.put_file("backup", os.urandom(17_000_000))
        assert await store.get_file("backups/1/a.bin") == b"two"
        assert await store.get_file("backups/10/b") == b""
        assert await store.list_files("backups/") == ["backups/1/a.bin", "backups/10/b"]
        assert await store.list_files("backups/1") == ["backups/1/a.bin", "backups/10/b"]
        assert await store.list_files("backups/1/") == ["backups/1/a.bin"]
        assert await store.list_files("back") == ["backup", "backups/1/a.bin", "backups/10/b"]
        await store.delete_file("backups/1/a.bin")
        assert await store.get_file("backups/1/a.bin") is None
        assert len(await listed(store)) == 1


@in_loop
async def test_of_those_who_write_only_if_absent_one_wins(config):
    async with opened(config) as store, opened(config) as rival:
        for number in range(2):
            writes = [
                (store, rival)[writer % 2].put_file(f"locks/{number}", b"%d" % writer, only_if_absent=True)
                for writer in range(6)
            ]
            won = await asyncio.gather(*writes)
            assert won.count(True) == 1
            assert await store.get_file(f"locks/{number}") == b"%d" % won.index(True)
            assert not await store.put_file(f"locks/{number}", b"late", only_if_absent=True)


@in_loop
async def test_writers_of_the_same_page_at_once_leave_the_newest(config):
    versions = [make_page(body=b"version %d" % number, fetched_at=NOON + number) for number in range(6)]
    async with opened(config) as store:
        for _ in range(3):  # a put that loses its race over and over says so; whoever puts pages tries again
            results = await asyncio.gather(*(store.put([page]) for page in versions), return_exceptions=True)
            assert all(result is None or isinstance(result, EngineUnavailable) for result in results)
        assert await store.find(versions[0].info.id) == versions[-1]
