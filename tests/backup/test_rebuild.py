"""Is the index that is made of the stored pages the one that the crawl made?"""

import asyncio
import contextlib
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from crawler.backup.acts import IndexKeeping
from crawler.backup.progress import Progress
from crawler.backup.rebuild import Rebuild, Rebuilt
from crawler.backup.similar import SimilarPages
from crawler.backup.workroom import workroom
from crawler.errors import EngineRefused, EngineUnavailable
from crawler.robots.directives import Obedience
from crawler.search.document import Document
from crawler.search.index import Index
from crawler.storage.opening import StoreConfig
from crawler.storage.page import page_id
from crawler.storage.store import Store
from crawler.urls import fingerprint
from tests.backup.keeping import opened_index, read_all
from tests.backup.small_site import PAGES, small_site
from tests.commands.processes import scrapy
from tests.fleet import CRAWL, Fleet
from tests.search.engine_server import remove_index
from tests.storage.stores import DAY, NOON, configure, in_loop, make_link, make_page, opened
from tests.storage.test_directory import small_disk


def id_of(url: str) -> str:
    return page_id(fingerprint(url))


def read_index(directory: Path) -> dict[str, Document]:
    async def read() -> dict[str, Document]:
        async with opened_index(directory / "data" / "index") as index:
            return {document.url: document for document in await read_all(index)}

    return asyncio.run(read())


# --- After a crawl -----------------------------------------------------------------------------


@pytest.mark.parametrize("format_", ["html", "warc"])
def test_a_rebuilt_index_is_the_one_that_the_crawl_made(format_, redis_url, tmp_path):
    settings: dict[str, Any] = {
        "STORE_PAGES": 1, "INDEX_PAGES": 1, "STORE_SYNC": 0, "STORE_FORMAT": format_, "INDEX_ROUND_SECONDS": 0.2,
        "CONCURRENT_REQUESTS": 1,  # one after the other: of two near copies the first is certain
    }  # fmt: skip
    with small_site() as site:
        with Fleet(redis_url, tmp_path, **settings) as fleet:
            fleet.seed([f"{site}/"])
            fleet.start()
            fleet.wait()
        crawled = read_index(tmp_path)
        assert {url.removeprefix(site) for url in crawled} == PAGES.keys() - {"/secret"}
        assert crawled[f"{site}/print"].duplicate_of == id_of(f"{site}/article")
        copies = {crawled[f"{site}/copy-{end}"].duplicate_of for end in "ab"}
        assert len(copies & {id_of(f"{site}/copy-a"), id_of(f"{site}/copy-b")}) == 1
        near = {crawled[f"{site}/near-{end}"].similar_to for end in "ab"}
        assert len(near & {id_of(f"{site}/near-a"), id_of(f"{site}/near-b")}) == 1

        async def spoil() -> None:
            async with opened_index(tmp_path / "data" / "index") as index:
                await index.delete([id_of(f"{site}/german")])
                await index.write([Document(id="f" * 16, url=f"{site}/never", fetched_at=1, crawl=CRAWL)])
                await index.write([replace(crawled[f"{site}/article"], title="wrong", content="wrong")])

        asyncio.run(spoil())
        environ = {"CRAWLER_DATA_DIR": str(tmp_path / "data"), "CRAWLER_STORE_FORMAT": format_}
        for _ in range(2):  # again makes no difference
            done = scrapy(redis_url, "search", "--rebuild", **environ)
            assert done.returncode == 0, done.stderr
            rebuilt = read_index(tmp_path)
            assert rebuilt.keys() == crawled.keys()
            for url, document in crawled.items():
                before, after = asdict(document), asdict(rebuilt[url])
                # A crawl notes what the first link to a page calls it, a rebuild what all of them do.
                first, everything = before.pop("anchors").splitlines(), after.pop("anchors").splitlines()
                assert set(first) <= set(everything)
                assert before == after
            assert rebuilt[f"{site}/article"].anchors.splitlines() == ["the article", "more about it"]
        assert not (tmp_path / "data" / "rebuild").exists()


# --- Of a store --------------------------------------------------------------------------------


@pytest.fixture(params=["directory", "s3", "warc in a directory", "warc on s3"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> StoreConfig:
    place = request.getfixturevalue("s3_place") if "s3" in request.param else tmp_path / "store"
    return configure(place, tmp_path / "data", format="warc" if "warc" in request.param else "html")


@pytest.fixture
def local(tmp_path: Path) -> StoreConfig:
    return configure(tmp_path / "store", tmp_path / "data")


async def rebuild(index: Index, store: Store, tmp_path: Path, **options: Any) -> Rebuilt:
    with workroom(tmp_path / "work" / "rebuild") as room:
        return await Rebuild(index, store, room, Progress(), obey=Obedience(), **options).run()


def html(title: str, body: str = "", head: str = "") -> bytes:
    return f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>".encode()


@in_loop
async def test_the_newest_version_of_each_page_is_indexed_once(config, tmp_path):
    first = make_page("https://a.example/", html("old"))
    original = make_page("https://a.example/original", html("same"))
    async with opened(config) as store, opened_index(tmp_path / "index") as index:
        await store.put([first, original])
        await store.put([make_page("https://a.example/", html("newer"), fetched_at=NOON + 5)])
        await store.put([
            make_page("https://a.example/", html("newest"), fetched_at=NOON + DAY),
            make_link(original, "https://a.example/link", fetched_at=NOON + DAY),
            make_link(original, "https://a.example/original", fetched_at=NOON + DAY),
        ])  # fmt: skip
        result = await rebuild(index, store, tmp_path)
        assert (result.documents, result.unreadable, result.rejected) == (3, 0, 0)
        found = {document.url: document for document in await read_all(index)}
        assert {url: document.title for url, document in found.items()} == {
            "https://a.example/": "newest", "https://a.example/original": "same", "https://a.example/link": "same",
        }  # fmt: skip
        assert found["https://a.example/link"].duplicate_of == original.info.id
        assert found["https://a.example/link"].html_key == original.info.key
        assert found["https://a.example/original"].duplicate_of == ""
        assert found["https://a.example/original"].fetched_at == NOON + DAY


@in_loop
async def test_one_crawl_is_rebuilt_and_others_are_left_alone(local, tmp_path):
    async with opened(local) as store, opened_index(tmp_path / "index") as index:
        await store.put([
            make_page("https://a.example/1", html("one"), crawl="a"),
            make_page("https://a.example/2", html("two"), crawl="b"),
        ])  # fmt: skip
        await index.write([
            Document(id="1" * 16, url="https://a.example/stale", crawl="a", fetched_at=1),
            Document(id="2" * 16, url="https://a.example/other", crawl="b", fetched_at=1),
        ])  # fmt: skip
        result = await rebuild(index, store, tmp_path, crawl="a")
        assert (result.documents, result.removed) == (1, 1)
        assert {document.url for document in await read_all(index)} == {
            "https://a.example/1", "https://a.example/other",
        }  # fmt: skip


@in_loop
async def test_an_empty_store_does_not_empty_the_index(config, tmp_path):
    async with opened(config) as store, opened_index(tmp_path / "index") as index:
        await index.write([Document(id="1" * 16, url="https://a.example/", fetched_at=1)])
        with pytest.raises(EngineRefused, match="no pages"):
            await rebuild(index, store, tmp_path)
        assert len(await read_all(index)) == 1


@in_loop
async def test_what_a_crawl_fetches_meanwhile_stays(local, tmp_path):
    async with opened(local) as store, opened_index(tmp_path / "index") as index:
        await store.put([make_page()])
        await index.write([Document(id="1" * 16, url="https://a.example/new", fetched_at=2**42)])
        assert (await rebuild(index, store, tmp_path)).removed == 0
        assert len(await read_all(index)) == 2


@in_loop
async def test_a_page_that_cannot_be_read_is_told_and_its_document_stays(local, tmp_path):
    bad, good = make_page("https://a.example/bad", html("bad", "x" * 9000)), make_page("https://a.example/good")
    async with opened(local) as store, opened_index(tmp_path / "index") as index:
        await store.put([bad, good])
        await rebuild(index, store, tmp_path)
        path = tmp_path / "store" / bad.info.key
        path.write_bytes(path.read_bytes()[:-1])
        result = await rebuild(index, store, tmp_path)
        assert (result.documents, result.unreadable, result.removed) == (1, 1, 0)
        assert len(await read_all(index)) == 2


@in_loop
async def test_pages_that_ask_not_to_be_kept_any_longer_go(local, tmp_path):
    head = '<meta name="robots" content="unavailable_after: 2020-01-01">'
    page = make_page("https://a.example/over", html("over", head=head))
    async with opened(local) as store, opened_index(tmp_path / "index") as index:
        await store.put([page, make_page("https://a.example/stays")])
        await index.write([Document(id=page.info.id, url=page.info.url, fetched_at=1)])
        result = await rebuild(index, store, tmp_path)
        assert (result.documents, result.removed) == (1, 1)
        assert [document.url for document in await read_all(index)] == ["https://a.example/stays"]


@in_loop
async def test_an_original_that_is_not_kept_hides_no_page(local, tmp_path):
    head = '<link rel="canonical" href="https://a.example/lost">'
    async with opened(local) as store, opened_index(tmp_path / "index") as index:
        await store.put([make_page("https://a.example/copy", html("copy", head=head))])
        await rebuild(index, store, tmp_path)
        [document] = await read_all(index)
        assert document.duplicate_of == ""


def test_a_rebuild_makes_the_same_documents_on_a_real_engine(local, tmp_path, opensearch_url):
    name = f"rebuild-{uuid.uuid4().hex[:12]}"
    pages = [make_page(f"https://a.example/{number}", html(str(number))) for number in range(100)]
    meanwhile = Document(id="2" * 16, url="https://a.example/meanwhile", fetched_at=int(time.time() * 1000) + 10**7)

    @in_loop
    async def compare() -> None:
        async with (
            opened(local) as store,
            opened_index(f"opensearch+{opensearch_url}/{name}") as index,
            opened_index(tmp_path / "index") as embedded,
        ):
            await store.put([*pages, make_link(pages[3], "https://a.example/copy")])
            stale = [Document(id=f"{1 << 60 | number:016x}", url="https://a.example/stale") for number in range(510)]
            await index.write([*stale, meanwhile])
            result = await rebuild(index, store, tmp_path)
            assert (result.documents, result.removed, result.rejected) == (101, 510, 0)
            await rebuild(embedded, store, tmp_path)
            await embedded.write([meanwhile])
            assert await read_all(index) == await read_all(embedded)

    try:
        compare()
    finally:
        remove_index(opensearch_url, name)


@pytest.mark.parametrize("at", ["read", "write"])
@in_loop
async def test_an_interrupted_rebuild_says_so_and_the_next_completes_it(at, local, tmp_path, capsys):
    pages = [make_page(f"https://a.example/{number}", html(str(number))) for number in range(300)]
    async with opened(local) as store, opened_index(tmp_path / "index") as index:
        await store.put(pages)
        await index.write([Document(id="1" * 16, url="https://a.example/stale", fetched_at=1)])
        reached, calls = asyncio.Event(), 0
        real = store.get if at == "read" else index.write

        async def stop_at_the_second(argument: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > 1:
                reached.set()
                await asyncio.sleep(60)
            return await real(argument)

        setattr(*((store, "get") if at == "read" else (index, "write")), stop_at_the_second)
        task = asyncio.create_task(rebuild(index, store, tmp_path))
        await reached.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert "Run scrapy search --rebuild again" in capsys.readouterr().err
        assert len(await read_all(index)) == (1 if at == "read" else 201)
        setattr(*((store, "get") if at == "read" else (index, "write")), real)
        result = await rebuild(index, store, tmp_path)
        assert (result.documents, result.removed) == (300, 1)
        assert len(await read_all(index)) == 300


@in_loop
async def test_a_full_disk_is_told_and_the_index_is_as_it_was(local, tmp_path):
    async with opened(local) as store, opened_index(tmp_path / "index") as index:
        await store.put([make_page(f"https://a.example/{number}/" + "x" * 500) for number in range(8000)])
        await index.write([Document(id="1" * 16, url="https://a.example/before", fetched_at=1)])
        with small_disk(tmp_path / "disk", 1) as disk:
            room = disk / "room"
            room.mkdir()
            (disk / "ballast").write_bytes(bytes(700_000))
            with pytest.raises((EngineUnavailable, OSError), match=r"full|No space"):
                await Rebuild(index, store, room, Progress(), obey=Obedience()).run()
        assert [document.url for document in await read_all(index)] == ["https://a.example/before"]


def test_a_full_disk_is_told_by_name(tmp_path):
    with (
        small_disk(tmp_path / "disk", 1) as disk,
        pytest.raises(EngineUnavailable, match="disk/rebuild cannot be written: No space"),
        workroom(disk / "rebuild") as room,
    ):
        (room / "x").write_bytes(bytes(2_000_000))


def test_one_rebuilds_at_a_time(tmp_path):
    with workroom(tmp_path / "rebuild") as room:
        (room / "x").write_text("left behind")
        with pytest.raises(EngineUnavailable, match="another process"), workroom(tmp_path / "rebuild"):
            pass
        assert (room / "x").exists()
    assert not room.exists()
    room.mkdir()
    (room / "of a killed process").write_text("")
    with workroom(tmp_path / "rebuild"):
        assert list(room.iterdir()) == []


def test_similar_pages_of_one_crawl_are_found(tmp_path):
    pages = SimilarPages(tmp_path / "similar.sqlite")
    one = 0x0123_4567_89AB_CDEF
    assert pages.look("c", "a" * 16, one) == ""
    assert pages.look("c", "b" * 16, one ^ 0b111) == "a" * 16
    assert pages.look("c", "c" * 16, one ^ (0b1111 << 20)) == ""
    assert pages.look("other", "d" * 16, one) == ""
    assert pages.look("c", "a" * 16, one) == "b" * 16  # never itself
    assert pages.look("c", "e" * 16, 0) == pages.look("c", "f" * 16, 0) == ""  # too little text to say


def test_an_index_of_another_version_is_made_anew(tmp_path):
    from scrapy.settings import Settings

    settings = Settings()
    settings.setmodule("crawler.settings")
    settings.set("DATA_DIR", str(tmp_path))
    settings.set("STORE_SYNC", False)

    @in_loop
    async def run() -> None:
        async with opened(configure(tmp_path / "store", tmp_path)) as store:
            await store.put([make_page()])
        async with IndexKeeping(settings).index() as index:
            await index.write([Document(id="1" * 16, url="https://a.example/stale", fetched_at=1)])
        format_file = tmp_path / "index" / "format.json"
        format_file.write_bytes(format_file.read_bytes().replace(b'"schema":', b'"schema":9'))
        with pytest.raises(EngineRefused, match="--rebuild"):
            async with IndexKeeping(settings).index():
                pass
        keeping = IndexKeeping(settings)
        async with keeping.index(is_replaced=True) as index:
            await keeping.rebuild(index, "")
        async with IndexKeeping(settings).index() as index:
            assert [document.url for document in await read_all(index)] == ["https://a.example/"]

    run()
