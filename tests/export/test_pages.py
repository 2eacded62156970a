"""Which rows does a store make, and is no more read for them than is needed?"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from crawler.errors import ConfigurationError
from crawler.export.pages import OF_BODY, OF_INFO, OF_TEXT, ON_REQUEST, TYPES, USUAL, PageRows, choose_fields, tell_time
from crawler.search.query import Filters
from crawler.storage.opening import StoreConfig
from crawler.storage.store import Store
from tests.storage.stores import DAY, NOON, configure, in_loop, make_link, make_page, opened

BODY = (
    '<html lang="fr"><head><title>Été</title><meta name="description" content="d"><meta name="keywords" content="a, b">'
    '<meta property="og:title" content="og"><meta property="article:published_time" content="2024-05-01T10:00:00Z">'
    '<meta property="article:modified_time" content="2024-05-02T10:00:00Z">'
    '<script type="application/ld+json">{"@type": "Article"}</script></head>'
    '<body><h1>Head</h1><p>Bonjour</p><a href="/x">x</a><a href="/y">y</a></body></html>'
).encode("latin-1")


@pytest.fixture(params=["directory", "s3", "warc in a directory"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> StoreConfig:
    place = request.getfixturevalue("s3_place") if "s3" in request.param else tmp_path / "store"
    return configure(place, tmp_path / "data", format="warc" if "warc" in request.param else "html")


async def rows_of(store: Store, fields: str = "", **which: Any) -> list[dict[str, Any]]:
    return [row async for row in PageRows(store, choose_fields(fields)).read(Filters(**which))]


@in_loop
async def test_a_row_says_all_that_is_known(config):
    page = make_page("https://a.example/", BODY, content_type="text/html; charset=latin-1", charset="cp1252")
    async with opened(config) as store:
        await store.put([page])
        [row] = await rows_of(store)
        assert row == {
            "id": page.info.id, "url": "https://a.example/", "crawl": "test", "status": 200,
            "fetched_at": "2023-11-15T12:00:00.000Z", "content_type": "text/html; charset=latin-1",
            "charset": "cp1252", "bytes": len(BODY), "sha256": page.info.sha256, "depth": 1, "title": "Été",
            "description": "d", "keywords": ["a", "b"], "lang": "fr", "published_at": "2024-05-01T10:00:00.000Z",
            "modified_at": "2024-05-02T10:00:00.000Z", "links": 2, "html_key": page.info.key,
        }  # fmt: skip
        assert tuple(row) == USUAL
        [more] = await rows_of(store, ",".join(ON_REQUEST))
        assert more["html"].encode("latin-1") == BODY
        assert more["headings"] == ["Head"]
        assert "Bonjour" in more["content"]
        assert "Bonjour" in more["main_text"]
        assert more["json_ld"] == [{"@type": "Article"}]
        assert more["open_graph"]["og:title"] == "og"


@in_loop
async def test_every_version_has_its_own_body(config):
    original = make_page("https://a.example/", b"<title>first</title>")
    async with opened(config) as store:
        await store.put([original])
        await store.put([make_page("https://a.example/", b"<title>second</title>", fetched_at=NOON + 5)])
        await store.put([
            make_page("https://a.example/", b"<title>third</title>", fetched_at=NOON + DAY, crawl="other"),
            make_link(original, "https://a.example/copy", fetched_at=NOON + 9),
        ])  # fmt: skip
        rows = await rows_of(store, "url,title,fetched_at")
        found = sorted((row["fetched_at"], row["title"]) for row in rows)
        assert [title for _, title in found] == ["first", "second", "first", "third"]
        assert [row["title"] for row in await rows_of(store, "title", crawl="other")] == ["third"]
        assert [row["title"] for row in await rows_of(store, "title", after_ms=NOON + 10)] == ["third"]
        assert [row["title"] for row in await rows_of(store, "title", before_ms=NOON + 5)] == ["first"]
        assert await rows_of(store, after_ms=NOON + 2 * DAY) == []


@in_loop
async def test_pages_are_chosen_by_host_and_language(tmp_path):
    async with opened(configure(tmp_path / "store", tmp_path)) as store:
        await store.put([
            make_page("https://docs.a.example/", b'<html lang="de-AT"><p>x'),
            make_page("https://a.example:8443/", b'<html lang="fr"><p>x'),
            make_page("https://nota.example/", b'<html lang="de"><p>x'),
        ])  # fmt: skip

        async def found(**which: Any) -> set[str]:
            return {row["url"] for row in await rows_of(store, "url", **which)}

        assert await found(hosts=("a.example",)) == {"https://docs.a.example/", "https://a.example:8443/"}
        assert await found(languages=("de",)) == {"https://docs.a.example/", "https://nota.example/"}
        assert await found(hosts=("a.example",), languages=("de", "it")) == {"https://docs.a.example/"}


@in_loop
async def test_bodies_are_read_only_when_a_field_needs_them(config):
    async with opened(config) as store:
        await store.put([make_page(f"https://a.example/{n}") for n in range(100)])

        async def never(key: str) -> None:
            raise AssertionError("a body was read")

        get, store.get = store.get, never
        assert len(await rows_of(store, ",".join(OF_INFO))) == 100
        store.get = get
        assert len(await rows_of(store, "title")) == 100


@in_loop
async def test_what_cannot_be_read_is_left_out_and_counted(tmp_path):
    page = make_page("https://a.example/bad", b"x" * 9000)
    async with opened(configure(tmp_path / "store", tmp_path)) as store:
        await store.put([page, make_page()])
        path = tmp_path / "store" / page.info.key
        path.write_bytes(path.read_bytes()[:-1])
        rows = PageRows(store, ("url", "title"))
        assert [row["url"] async for row in rows.read()] == ["https://a.example/"]
        assert rows.left_out == 1
        assert page.info.key in rows.unreadable[0]


def test_every_field_has_a_source():
    assert OF_INFO.keys() | OF_BODY.keys() | OF_TEXT.keys() == TYPES.keys() == set(USUAL + ON_REQUEST)


def test_fields_are_chosen_in_their_order_and_bad_names_are_told():
    assert choose_fields(" url, id,url,") == ("url", "id")
    assert choose_fields("") == USUAL
    with pytest.raises(ConfigurationError, match="no field 'ulr'; there are id, url"):
        choose_fields("ulr,id")


def test_times_that_no_calendar_has_are_empty():
    assert tell_time(0) == tell_time(2**63) == tell_time(-(2**60)) == ""


def test_memory_is_bounded_by_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("crawler.export.pages.BYTES_AT_ONCE", 1000)

    async def run() -> int:
        async with opened(configure(tmp_path / "store", tmp_path)) as store:
            await store.put([make_page(f"https://a.example/{n}", b"x" * 900) for n in range(20)])
            most = now = 0
            get = store.get

            async def count(key: str):
                nonlocal most, now
                now += 1
                most = max(most, now)
                try:
                    return await get(key)
                finally:
                    now -= 1

            store.get = count
            assert len(await rows_of(store, "html")) == 20
            return most

    assert asyncio.run(run()) <= 2
