"""Does an index come back from its backup as it was, wherever the store is and whatever engine it goes to?"""

import asyncio
import dataclasses
import gzip
import hashlib
import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crawler.backup.backup import make_backup
from crawler.backup.catalogue import NoBackup, clear_unfinished, list_backups, mark_running, prune
from crawler.backup.manifest import FOLDER, MANIFEST, Manifest, key_of, new_version
from crawler.backup.progress import Progress
from crawler.backup.restore import Restored, restore_backup
from crawler.errors import Damaged, EngineError, EngineRefused, EngineUnavailable
from crawler.search.index import Index
from crawler.storage.opening import StoreConfig
from crawler.storage.store import Store
from tests.backup.keeping import make_documents, opened_index, read_all
from tests.search.engine_server import remove_index
from tests.storage.proxy import TroubleProxy
from tests.storage.stores import configure, in_loop, opened

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["directory", "s3", "warc in a directory", "warc on s3"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> StoreConfig:
    place = request.getfixturevalue("s3_place") if "s3" in request.param else tmp_path / "store"
    return configure(place, tmp_path / "data", format="warc" if "warc" in request.param else "html")


@pytest.fixture
def local(tmp_path: Path) -> StoreConfig:
    return configure(tmp_path / "store", tmp_path / "data")


async def back_up(index: Index, store: Store, **options: Any) -> Manifest:
    return await make_backup(index, store, Progress(), **options)


async def restore(index: Index, store: Store, tmp_path: Path, version: str = "") -> Restored:
    room = tmp_path / f"room-{uuid.uuid4().hex}"
    room.mkdir()
    return await restore_backup(index, store, version, room, Progress())


@in_loop
async def test_an_index_comes_back_as_it_was(config, tmp_path):
    documents = make_documents(900)
    async with opened(config) as store, opened_index(tmp_path / "a") as index:
        await index.write(documents)
        manifest = await back_up(index, store, part_bytes=1)
        assert manifest.documents == 900
        assert len(manifest.parts) > 2
        await index.write([msgspec.structs.replace(documents[0], title="changed", fetched_at=2**40)])
        await index.delete([documents[1].id])
        result = await restore(index, store, tmp_path)
        assert (result.documents, result.rejected) == (900, 0)
        assert await read_all(index) == documents
    async with opened(config) as store, opened_index(tmp_path / "b") as other:
        await restore(other, store, tmp_path, manifest.version)
        assert await read_all(other) == documents
        # Nothing else is left in the store than what the manifest names.
        keys = set(await store.list_files(f"{FOLDER}/"))
        assert keys == {key_of(manifest.version, name) for name in [MANIFEST, *(part.name for part in manifest.parts)]}


@pytest.mark.parametrize("way", ["embedded to opensearch", "opensearch to embedded"])
def test_a_backup_moves_to_another_engine(way, local, tmp_path, opensearch_url):
    name = f"backup-{uuid.uuid4().hex[:12]}"
    remote, here = f"opensearch+{opensearch_url}/{name}", tmp_path / "index"
    source, target = (here, remote) if way.startswith("embedded") else (remote, here)
    documents = make_documents(600)

    @in_loop
    async def move() -> None:
        async with opened(local) as store:
            async with opened_index(source) as index:
                await index.write(documents)
                await back_up(index, store)
            async with opened_index(target) as index:
                await index.write(make_documents(700)[650:])
                await restore(index, store, tmp_path)
                assert await read_all(index) == documents

    try:
        move()
    finally:
        remove_index(opensearch_url, name)


@in_loop
async def test_an_empty_index_has_a_backup_too(local, tmp_path):
    async with opened(local) as store, opened_index(tmp_path / "a") as index:
        assert (await back_up(index, store)).parts == []
        await index.write(make_documents(3))
        await restore(index, store, tmp_path)
        assert await read_all(index) == []


@in_loop
async def test_parts_can_be_read_without_this_program(local, tmp_path):
    async with opened(local) as store, opened_index(tmp_path / "a") as index:
        await index.write(make_documents(5))
        version = (await back_up(index, store)).version
    folder = tmp_path / "store" / FOLDER / version
    [part] = json.loads((folder / MANIFEST).read_text())["parts"]
    data = (folder / part["name"]).read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (part["bytes"], part["sha256"])
    lines = [json.loads(line) for line in gzip.decompress(data).splitlines()]
    assert sorted(line["url"] for line in lines) == [f"https://a.example/{number}" for number in range(5)]


@in_loop
async def test_versions_sort_by_time_and_old_ones_are_pruned(config, tmp_path):
    async with opened(config) as store, opened_index(tmp_path / "a") as index:
        made = [(await back_up(index, store)).version for _ in range(4)]
        assert [one.version for one in await list_backups(store)] == made == sorted(made)
        assert await prune(store, 2) == made[:2]
        assert [one.version for one in await list_backups(store)] == made[2:]
        assert not [key for key in await store.list_files(f"{FOLDER}/") if made[0] in key or made[1] in key]
        assert await prune(store, 2) == []


# --- What goes wrong ---------------------------------------------------------------------------


async def damage(store: Store, manifest: Manifest, kind: str) -> None:
    key = key_of(manifest.version, manifest.parts[1].name)
    data = await store.get_file(key)
    if kind == "missing":
        await store.delete_file(key)
    elif kind == "flipped":
        await store.put_file(key, data[:100] + bytes([data[100] ^ 1]) + data[101:])
    elif kind == "short":
        await store.put_file(key, data[:-1])
    else:
        text = await store.get_file(key_of(manifest.version, MANIFEST))
        changed = {
            "manifest": text[: len(text) // 2],
            "miscounted": text.replace(b'"documents":', b'"documents":1', 1),
            "foreign": text.replace(b"part-00001.jsonl.gz", b"../../../etc/passwd"),
            "format": text.replace(b'"format":1', b'"format":2'),
        }[kind]
        assert changed != text
        await store.put_file(key_of(manifest.version, MANIFEST), changed)


@pytest.mark.parametrize("kind", ["missing", "flipped", "short", "manifest", "miscounted", "foreign", "format"])
@in_loop
async def test_a_damaged_backup_is_refused_and_changes_nothing(kind, config, tmp_path):
    async with opened(config) as store, opened_index(tmp_path / "a") as index:
        await index.write(make_documents(500))
        manifest = await back_up(index, store, part_bytes=1)
        await damage(store, manifest, kind)
        await index.write(make_documents(510)[500:])
        error = EngineRefused if kind == "format" else Damaged
        with pytest.raises(error, match="format 2" if kind == "format" else manifest.version):
            await restore(index, store, tmp_path)
        assert len(await read_all(index)) == 510
        # The list still works, and an older one could be chosen from it.
        [one] = await list_backups(store)
        assert (one.manifest is None) == (kind not in ("missing", "flipped", "short"))


@in_loop
async def test_a_part_with_another_number_of_documents_is_refused(local, tmp_path):
    async with opened(local) as store, opened_index(tmp_path / "a") as index:
        await index.write(make_documents(10))
        manifest = await back_up(index, store)
        [part] = manifest.parts
        wrong = msgspec.structs.replace(
            manifest, documents=11, parts=[msgspec.structs.replace(part, documents=11)]
        )  # fmt: skip
        await store.put_file(key_of(manifest.version, MANIFEST), msgspec.json.encode(wrong))
        with pytest.raises(Damaged, match="holds 10 documents, and 11 are expected"):
            await restore(index, store, tmp_path)
        assert len(await read_all(index)) == 10


@in_loop
async def test_what_is_no_backup_is_told(local, tmp_path):
    async with opened(local) as store, opened_index(tmp_path / "a") as index:
        for version in ("", new_version(), "../../etc"):
            with pytest.raises(NoBackup):
                await restore(index, store, tmp_path, version)


@pytest.mark.parametrize("kind", ["directory", "s3"])
def test_a_killed_backup_does_not_exist_and_the_next_clears_it(kind, request, tmp_path):
    place = request.getfixturevalue("s3_place") if kind == "s3" else tmp_path / "store"
    text = json.dumps(dataclasses.asdict(place)) if kind == "s3" else str(place)
    command = [sys.executable, "-m", "tests.backup.endless", text, str(tmp_path), "900"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waiting\n"

        @in_loop
        async def look_while_it_runs() -> None:
            async with opened(configure(place, tmp_path)) as store:
                assert len(await store.list_files(f"{FOLDER}/")) > 2
                assert await list_backups(store) == []
                assert await clear_unfinished(store) == []  # it is being made

        look_while_it_runs()
        process.kill()

    @in_loop
    async def look_after_it() -> None:
        async with opened(configure(place, tmp_path)) as store, opened_index(tmp_path / "index") as index:
            left = await store.list_files(f"{FOLDER}/")
            assert await list_backups(store) == []
            with pytest.raises(NoBackup):
                await restore(index, store, tmp_path)
            assert (await back_up(index, store)).documents == 900
            assert not set(left) & set(await store.list_files(f"{FOLDER}/"))

    look_after_it()


@in_loop
async def test_a_backup_that_another_machine_makes_is_left_alone_until_it_is_silent(local, tmp_path, monkeypatch):
    async with opened(local) as store:
        version = new_version()
        monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
        await mark_running(store, version)
        monkeypatch.undo()
        assert await clear_unfinished(store) == []
        monkeypatch.setattr("crawler.backup.catalogue.SILENT_SECONDS", -1.0)
        assert await clear_unfinished(store) == [version]
        assert await store.list_files(f"{FOLDER}/") == []


@in_loop
async def test_a_store_that_goes_away_leaves_no_half_backup(s3_server, s3_place, tmp_path):
    with TroubleProxy(s3_server.port) as proxy:
        config = configure(dataclasses.replace(s3_place, endpoint_url=proxy.url), tmp_path)
        async with opened(config) as store, opened_index(tmp_path / "a") as index:
            await index.write(make_documents(900))
            put_file, count = store.put_file, 0

            async def put_some(*args: Any, **options: Any) -> bool:
                nonlocal count
                count += 1
                proxy.refuse_next = -1 if count > 4 else 0
                return await put_file(*args, **options)

            store.put_file = put_some  # type: ignore[method-assign]
            with pytest.raises(EngineUnavailable):
                await back_up(index, store, part_bytes=1)
            proxy.refuse_next = 0
            store.put_file = put_file  # type: ignore[method-assign]
            assert await list_backups(store) == []
            assert (await back_up(index, store, part_bytes=1)).documents == 900


@in_loop
async def test_a_store_that_goes_away_while_restoring_does_no_harm(s3_server, s3_place, tmp_path):
    with TroubleProxy(s3_server.port) as proxy:
        config = configure(dataclasses.replace(s3_place, endpoint_url=proxy.url), tmp_path)
        async with opened(config) as store, opened_index(tmp_path / "a") as index:
            await index.write(make_documents(900))
            await back_up(index, store, part_bytes=1)
            get_file, clear, count = store.get_file, index.clear, 0

            async def get_some(key: str) -> bytes | None:
                nonlocal count
                count += 1
                proxy.refuse_next = -1 if count > 2 else 0
                return await get_file(key)

            store.get_file = get_some  # type: ignore[method-assign]
            with pytest.raises(EngineUnavailable):
                await restore(index, store, tmp_path)
            assert len(await read_all(index)) == 900

            async def lose_the_store_and_clear() -> None:
                proxy.refuse_next = -1
                await clear()

            proxy.refuse_next = 0
            store.get_file = get_file  # type: ignore[method-assign]
            index.clear = lose_the_store_and_clear  # type: ignore[method-assign]
            await restore(index, store, tmp_path)
            assert len(await read_all(index)) == 900


@in_loop
async def test_an_index_that_cannot_be_read_whole_makes_no_backup(local, tmp_path):
    async with opened(local) as store, opened_index(tmp_path / "a") as index:
        await index.write(make_documents(20))
        read = index.documents

        async def read_some():
            async for document in read():
                if document.id.endswith("0"):
                    yield document

        index.documents = read_some
        with pytest.raises(EngineUnavailable, match="of 20 documents could be read"):
            await back_up(index, store)
        assert await store.list_files(f"{FOLDER}/") == []


@in_loop
async def test_an_index_that_fails_while_it_is_restored_says_what_to_do(local, tmp_path):
    async with opened(local) as store, opened_index(tmp_path / "a") as index:
        await index.write(make_documents(300))
        version = (await back_up(index, store)).version
        write = index.write

        async def fail(documents):
            raise EngineUnavailable("the disk is full")

        index.write = fail
        with pytest.raises(EngineError, match=f"not whole now: run scrapy search --restore {version} again"):
            await restore(index, store, tmp_path)
        index.write = write
        await restore(index, store, tmp_path)
        assert len(await read_all(index)) == 300


@in_loop
async def test_one_writer_is_asked_for_before_anything_is_fetched(local, tmp_path):
    async with opened(local) as store, opened_index(tmp_path / "a") as index:
        await index.write(make_documents(3))
        await back_up(index, store)
        room = tmp_path / "room"
        room.mkdir()
        async with opened_index(tmp_path / "a") as other:
            with pytest.raises(EngineUnavailable, match="is writing to the index"):
                await restore_backup(other, store, "", room, Progress())
        assert list(room.iterdir()) == []


@in_loop
async def test_an_interrupted_backup_clears_up(local, tmp_path):
    async with opened(local) as store, opened_index(tmp_path / "a") as index:
        await index.write(make_documents(900))
        started = asyncio.Event()
        put_file = store.put_file

        async def put(key, body, **options):
            if "part" in key:
                started.set()
                await asyncio.sleep(60)
            return await put_file(key, body, **options)

        store.put_file = put
        task = asyncio.create_task(back_up(index, store, part_bytes=1))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await store.list_files(f"{FOLDER}/") == []
