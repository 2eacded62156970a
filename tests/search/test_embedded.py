"""What only the embedded engine has to get right: its files, its one writer, death at any moment."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings

from crawler.errors import BadQuery, EngineRefused, EngineUnavailable
from crawler.search.embedded import EmbeddedIndex
from crawler.search.grammar import parse
from crawler.search.query import Query, Word
from crawler.search.searching import search, suggest
from tests.search.pages import SEARCHES, embedded, page, with_index
from tests.storage.test_directory import small_disk

ROOT = Path(__file__).parents[2]

WRITER = """
import asyncio, sys
from crawler.search.document import Document
from crawler.search.embedded import EmbeddedIndex
from crawler.search.opening import IndexConfig

async def main():
    index = EmbeddedIndex(IndexConfig.from_url(sys.argv[1]))
    await index.open()
    batch = 0
    while True:
        await index.write([
            Document(id=f"{batch}-{n}", url="https://example.org/", content="word " * 50) for n in range(20)
        ])
        print(batch, flush=True)
        batch += 1

asyncio.run(main())
"""


def start_writer(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, f"file:{path}/index"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def test_one_writes_and_the_others_are_told_who(tmp_path):
    async def work() -> None:
        one, other = embedded(tmp_path), embedded(tmp_path)
        await one.open()
        await other.open()
        assert (one.is_writer, other.is_writer) == (False, False)
        assert await one.try_lock()
        assert await one.try_lock()
        assert not await other.try_lock()
        for forbidden in (other.write([page("a")]), other.delete(["a"]), other.clear(), other.optimise()):
            with pytest.raises(EngineUnavailable, match=f"process {os.getpid()} is writing"):
                await forbidden
        await one.write([page("a", content="word")])
        assert (await other.search(Query(Word("word")))).total == 1
        await one.close()
        await other.write([page("b")])
        assert other.is_writer
        await other.close()

    asyncio.run(work())


def test_killed_writer_loses_nothing_that_was_answered_for(tmp_path):
    for _ in range(3):
        writer = start_writer(tmp_path)
        assert writer.stdout is not None
        answered = [int(writer.stdout.readline()) for _ in range(4)]
        with pytest.raises(EngineUnavailable, match=f"process {writer.pid} is writing"):
            with_index(tmp_path, lambda index: index.write([page("late")]))
        writer.send_signal(signal.SIGKILL)
        rest = [int(line) for line in writer.stdout.read().split()]
        writer.wait()

        async def look(index: EmbeddedIndex) -> list[str]:
            assert await index.write([page("after", content="other")]) == []  # the lock went with its holder
            return [document.id async for document in index.documents()]

        ids = with_index(tmp_path, look)
        assert len(ids) == len(set(ids))
        expected = {f"{batch}-{n}" for batch in [*answered, *rest] for n in range(20)} | {"after"}
        assert expected <= set(ids)
        assert len(set(ids) - expected) in (0, 20)  # one more batch may have been committed, and that as a whole


def test_searches_go_on_while_a_process_writes(tmp_path):
    writer = start_writer(tmp_path)
    assert writer.stdout is not None
    try:

        async def look(index: EmbeddedIndex) -> list[int]:
            totals = []
            for _ in range(15):
                assert await asyncio.to_thread(writer.stdout.readline)
                totals.append((await index.search(Query(Word("word")))).total)
            return totals

        totals = with_index(tmp_path, look)
    finally:
        writer.kill()
        writer.wait()
    assert totals == sorted(totals)
    assert all(total % 20 == 0 and total >= 20 * (n + 1) for n, total in enumerate(totals))


def test_many_open_it_at_once_when_there_is_none(tmp_path):
    async def work() -> None:
        indexes = [embedded(tmp_path) for _ in range(8)]
        await asyncio.gather(*(index.open() for index in indexes))
        for index in indexes:
            assert (await index.search(Query(None))).total == 0
            await index.close()

    asyncio.run(work())


def test_an_index_of_another_version_is_refused_until_it_is_cleared(tmp_path):
    with_index(tmp_path, lambda index: index.stats(), page("a"))
    file = tmp_path / "index" / "format.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": 99}))

    async def work() -> None:
        index = embedded(tmp_path)
        for forbidden in (index.open(), index.search(Query(None)), index.write([page("b")])):
            with pytest.raises(EngineRefused, match=r"version 99.*--rebuild"):
                await forbidden
        await index.clear()
        await index.open()
        await index.write([page("b")])
        assert [document.id async for document in index.documents()] == ["b"]
        await index.close()

    asyncio.run(work())


@pytest.mark.parametrize("rubbish", ["", "{", "[]", '{"schema": 1}'])
def test_a_broken_format_file_is_told(tmp_path, rubbish):
    with_index(tmp_path, lambda index: index.stats())
    (tmp_path / "index" / "format.json").write_text(rubbish)
    with pytest.raises(EngineRefused, match=r"format\.json"):
        with_index(tmp_path, lambda index: index.stats())


def test_broken_files_are_an_engine_that_cannot_be_used(tmp_path):
    with_index(tmp_path, lambda index: index.stats(), page("a"))
    [meta] = (tmp_path / "index").glob("g*/meta.json")
    meta.write_text("{")
    with pytest.raises(EngineUnavailable, match=r"damaged: remove that directory.*--rebuild"):
        with_index(tmp_path, lambda index: index.stats())


def test_an_index_that_is_removed_under_its_writer_begins_anew(tmp_path):
    async def work() -> None:
        index, other = embedded(tmp_path), embedded(tmp_path)
        await index.open()
        await index.write([page("a")])
        shutil.rmtree(tmp_path / "index")
        await other.open()  # makes it again
        assert await index.write([page("b")]) == []
        assert not await other.try_lock()
        assert [document.id async for document in other.documents()] == ["b"]
        shutil.rmtree(tmp_path / "index")
        await other.open()
        assert await other.try_lock()
        assert not await index.try_lock()
        with pytest.raises(EngineUnavailable, match="only one can"):
            await index.write([page("c")])
        await other.write([page("d")])
        assert [document.id async for document in index.documents()] == ["d"]
        await index.close()
        await other.close()

    asyncio.run(work())


def test_a_directory_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "index").write_text("a file")
    with pytest.raises(EngineUnavailable, match="index"):
        with_index(tmp_path, lambda index: index.stats())


def test_optimising_makes_it_smaller_and_readers_follow(tmp_path):
    async def work() -> None:
        writer, reader = embedded(tmp_path), embedded(tmp_path)
        await writer.open()
        await reader.open()
        for version in range(6):
            texts = [f"word{n} version{version} " * 200 for n in range(50)]
            await writer.write([page(f"p{n}", content=text, fetched_at=version) for n, text in enumerate(texts)])
        before = await writer.stats()
        await writer.optimise()
        after = await writer.stats()
        assert after.documents == before.documents == 50
        assert after.bytes < before.bytes
        assert (await reader.search(Query(Word("version5")))).total == 50
        assert (await reader.search(Query(Word("version4")))).total == 0
        assert len(list((tmp_path / "index").glob("g*"))) == 1
        await writer.write([page("new", content="version5")])
        assert (await reader.search(Query(Word("version5")))).total == 51
        await reader.close()
        await writer.close()

    asyncio.run(work())


def test_the_event_loop_is_not_blocked(tmp_path):
    async def work(index: EmbeddedIndex) -> None:
        loop_thread = threading.get_ident()
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0)
                ticks += 1

        ticking = asyncio.create_task(tick())
        await index.write([page(f"p{n}", content="some words " * 500) for n in range(200)])
        ticking.cancel()
        assert ticks > 10
        assert threading.get_ident() == loop_thread

    with_index(tmp_path, work)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled")
    documents = [
        page(f"p{n}", title=f"title {n}", content="some words of 東京 and Zürich", lang="en") for n in range(20)
    ]
    with_index(path, lambda index: index.stats(), *documents)
    return path


@given(queries=SEARCHES)
@settings(max_examples=25, deadline=None)
def test_whatever_is_asked_is_answered(filled, queries):
    async def work(index: EmbeddedIndex) -> None:
        for text in queries:
            await suggest(index, text)
            with contextlib.suppress(BadQuery):
                assert (await search(index, text)).total_results >= 0

    with_index(filled, work)


@pytest.mark.parametrize(
    "text",
    [
        "*o*r* " + "w*o*r* " * 7,
        "wrods~ " * 8,
        "(((((((a OR b) c) OR d) e) OR f) g)",
        "-a -b -c",
        "a OR " * 63 + "a",
    ],
)
def test_the_dearest_searches_are_answered(tmp_path, text):
    documents = [
        page(f"p{n}", content=" ".join(f"w{n * m}ord{m}" for m in range(300)), title=f"words {n}") for n in range(200)
    ]

    async def work(index: EmbeddedIndex) -> None:
        assert (await index.search(parse(text))).total <= 200

    with_index(tmp_path, work, *documents)


FULL_DISK = """
import asyncio, resource, signal, sys
from crawler.errors import EngineUnavailable
from crawler.search.document import Document
from crawler.search.embedded import EmbeddedIndex
from crawler.search.opening import IndexConfig

def pages(name):
    words = " ".join(f"{name}{n}" for n in range(3000))
    return [Document(id=f"{name}{n}", url="https://example.org/", content=words, fetched_at=1) for n in range(30)]

async def main():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    index = EmbeddedIndex(IndexConfig.from_url(sys.argv[1]))
    await index.open()
    await index.write(pages("before"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
    for attempt in (index.write(pages("during")), index.write(pages("during")), index.optimise()):
        try:
            await attempt
        except EngineUnavailable as error:
            print("refused:", error)
    found = [document.id async for document in index.documents()]
    assert sorted(found) == sorted(page.id for page in pages("before")), found
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await index.write(pages("during"))
    await index.optimise()
    assert (await index.stats()).documents == 60
    await index.close()

asyncio.run(main())
"""


def test_a_full_disk_refuses_and_spoils_nothing(tmp_path):
    """A limit on the size of files does what a full disk does: a write fails half way."""
    command = [sys.executable, "-c", FULL_DISK, f"file:{tmp_path}/index"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused:") == 3, done.stdout
    assert len(list((tmp_path / "index").glob("g*"))) == 1


def test_optimising_without_room_for_a_second_copy_is_told_before_it_begins(tmp_path):
    documents = [page(f"p{n}", content=" ".join(f"word{n}x{m}" for m in range(500))) for n in range(100)]

    async def work(index: EmbeddedIndex) -> None:
        ballast = tmp_path / "disk" / "ballast"
        ballast.write_bytes(bytes(shutil.disk_usage(ballast.parent).free - (await index.stats()).bytes + 100_000))
        with pytest.raises(EngineUnavailable, match=r"takes \d+ MB, and \d+ MB are free on that disk: make room"):
            await index.optimise()
        assert [path.name for path in (tmp_path / "disk" / "index").glob("g*")] == ["g1"]
        ballast.unlink()
        await index.optimise()
        assert (await index.stats()).documents == 100

    with small_disk(tmp_path / "disk", 50) as disk:
        with_index(disk, work, *documents)


def test_an_index_that_cannot_be_locked_says_what_to_do(tmp_path):
    with small_disk(tmp_path / "disk", 20) as disk:
        with_index(disk, lambda index: index.write([page("a", content="word")]))
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(EngineUnavailable, match="make the directory writable"):
            with_index(disk, lambda index: index.search(Query(Word("word"))))


def test_all_documents_are_read_a_few_at_a_time(tmp_path):
    parts = with_index(
        tmp_path, lambda index: asyncio.to_thread(lambda: list(index._reader.snapshot().documents())),
        *(page(f"p{n}") for n in range(200)),
    )  # fmt: skip
    assert sorted(document.id for part in parts for document in part) == sorted(f"p{n}" for n in range(200))
    assert max(map(len, parts)) <= 50


def test_a_reader_finds_its_way_while_generations_come_and_go(tmp_path):
    async def work(index: EmbeddedIndex) -> None:
        reader = embedded(tmp_path)
        stopped = False

        async def look() -> int:
            looks = 0
            while not stopped or not looks:
                assert (await reader.search(Query(Word("word")))).total == 3
                looks += 1
            return looks

        looking = asyncio.create_task(look())
        for _ in range(15):
            await index.optimise()
        stopped = True
        assert await looking > 0
        await reader.close()

    with_index(tmp_path, work, *(page(f"p{n}", content="word") for n in range(3)))


def test_all_documents_are_read_in_small_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("crawler.search.embedded_reader.DOCUMENTS_AT_ONCE", 4)

    async def work(index: EmbeddedIndex) -> list[str]:
        return [document.id async for document in index.documents()]

    ids = with_index(tmp_path, work, *(page(f"p{n}") for n in range(100)))
    assert sorted(ids) == sorted(f"p{n}" for n in range(100))


TAKING_TURNS = """
import asyncio, sys
from crawler.errors import EngineUnavailable
from crawler.search.document import Document
from crawler.search.embedded import EmbeddedIndex
from crawler.search.opening import IndexConfig

async def main():
    for turn in range(5):
        index = EmbeddedIndex(IndexConfig.from_url(sys.argv[1]))
        await index.open()
        batch = [Document(id=f"{sys.argv[2]}-{turn}-{n}", url="https://example.org/") for n in range(10)]
        version = turn * 10 + int(sys.argv[2])
        batch.append(Document(id="shared", url="https://example.org/", title=sys.argv[2], fetched_at=version))
        while True:
            try:
                await index.write(batch)
                break
            except EngineUnavailable:
                await asyncio.sleep(0.01)
        await index.close()

asyncio.run(main())
"""


def test_processes_that_take_turns_lose_nothing(tmp_path):
    url = f"file:{tmp_path}/index"
    workers = [subprocess.Popen([sys.executable, "-c", TAKING_TURNS, url, str(n)], cwd=ROOT) for n in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]

    async def look(index: EmbeddedIndex) -> dict[str, str]:
        return {document.id: document.title async for document in index.documents()}

    found = with_index(tmp_path, look)
    written = {f"{worker}-{turn}-{n}" for worker in range(3) for turn in range(5) for n in range(10)}
    assert set(found) == written | {"shared"}
    assert found["shared"] == "2"  # the newest, whoever came last
