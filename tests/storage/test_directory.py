"""A directory as a store: crashes, full disks, forbidden and hostile ones."""

import contextlib
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.errors import Damaged, EngineRefused, EngineUnavailable
from crawler.storage.directory import LEFTOVER_SECONDS, UNFINISHED
from crawler.storage.gzip_page import decode_page
from crawler.storage.page import Page
from crawler.storage.store import Store
from tests.storage.killing import ROOT, put_and_kill
from tests.storage.putting import numbered
from tests.storage.stores import configure, in_loop, listed, make_link, make_page, opened

PAGE = make_page()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@in_loop
async def test_the_file_lies_where_the_layout_says(root, tmp_path):
    link = make_link(PAGE, "https://b.example/")
    for sync in (False, True):
        async with opened(configure(root, tmp_path, sync=sync)) as store:
            await store.put([PAGE, link])
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    assert names == sorted([f"pages/2023-11-15/{PAGE.info.id}.html.gz", f"pages/2023-11-15/{link.info.id}.link.json"])
    assert gzip.decompress((root / PAGE.info.key).read_bytes()) == PAGE.body
    assert json.loads((root / f"pages/2023-11-15/{link.info.id}.link.json").read_text())["same_as"] == PAGE.info.key


def test_a_killed_process_leaves_no_half_file(root, tmp_path):
    safe = [put_and_kill("html", str(root), tmp_path, batches) for batches in (1, 9, 40)]
    found = {}
    for path in root.glob("pages/**/*"):
        if path.is_file():
            page = decode_page(path.read_bytes(), str(path))
            found[int(page.info.url.rpartition("/")[2])] = page.body
    assert set(range(max(safe))) <= found.keys()
    assert all(body == numbered(number) for number, body in found.items())


@in_loop
async def test_what_dead_processes_left_is_removed_and_what_live_ones_write_is_not(root, tmp_path):
    (root / UNFINISHED).mkdir(parents=True)
    old, fresh = root / UNFINISHED / "other-1-0", root / UNFINISHED / "other-2-0"
    for path in (old, fresh):
        path.write_bytes(b"half a pa")
    os.utime(old, times=(time.time() - LEFTOVER_SECONDS - 1,) * 2)
    async with opened(configure(root, tmp_path)) as store:
        await store.put([PAGE])
        assert [path.name for path in (root / UNFINISHED).iterdir()] == ["other-2-0"]
        assert await store.list_files("") == [PAGE.info.key]


@contextlib.contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[Path]:
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here (needs root): {done.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


async def put_one_by_one(store: Store, pages: list[Page]) -> None:
    for page in pages:
        await store.put([page])


@pytest.mark.parametrize("format_", ["html", "warc"])
@in_loop
async def test_a_full_disk_is_told_and_when_there_is_room_it_goes_on(tmp_path, format_):
    with small_disk(tmp_path / "disk", 4) as disk:
        async with opened(configure(disk / "store", tmp_path, format=format_)) as store:
            pages = [make_page(f"https://a.example/{number}", os.urandom(300_000)) for number in range(12)]
            (disk / "ballast").write_bytes(bytes(2_000_000))
            for _ in range(2):
                with pytest.raises(EngineUnavailable, match="is full"):
                    await put_one_by_one(store, pages)
            (disk / "ballast").unlink()
            kept = {info.url for info in await listed(store)}
            assert 0 < len(kept) < 12
            for page in pages[: len(kept)]:
                assert await store.find(page.info.id) == page
            await store.put([pages[len(kept)]])
            assert await store.find(pages[len(kept)].info.id) == pages[len(kept)]
            assert len(await listed(store)) == len(kept) + 1
            unfinished = disk / "store" / UNFINISHED
            assert list(unfinished.iterdir()) == []


LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from crawler.errors import EngineUnavailable
from tests.storage.stores import configure, make_page, opened
import os
async def main():
    root = Path(sys.argv[1])
    async with opened(configure(root, root, format=sys.argv[2])) as store:
        await store.put([make_page("https://a.example/small")])
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        try:
            await store.put([make_page("https://a.example/large", os.urandom(90_000))])
        except EngineUnavailable as error:
            print("told", error)
        await store.put([make_page("https://a.example/after")])
        print(sorted([info.url async for info in store.pages()]))
asyncio.run(main())
"""


@pytest.mark.parametrize("format_", ["html", "warc"])
def test_a_write_that_stops_halfway_leaves_nothing(root, format_):
    """Without root: the kernel lets no file of this process grow beyond a limit."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(root), format_], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout.startswith("told"), done.stderr
    assert done.stdout.splitlines()[-1] == "['https://a.example/after', 'https://a.example/small']"


FORBIDDEN = """
import asyncio, os, sys
from pathlib import Path
from crawler.errors import EngineRefused
from tests.storage.stores import configure, make_page, opened
async def main():
    await asyncio.to_thread(int)  # the other user may not be able to read Python's own files
    if os.getuid() == 0:
        os.setgid(65534); os.setuid(65534)
    try:
        async with opened(configure(Path(sys.argv[1]), Path(sys.argv[1]))) as store:
            await store.put([make_page()])
    except EngineRefused as error:
        print(error)
asyncio.run(main())
"""


def test_a_forbidden_directory_is_refused():
    with contextlib.ExitStack() as stack:
        folder = Path("/var/tmp") / f"forbidden-{os.getpid()}"
        folder.mkdir(mode=0o555)
        stack.callback(folder.rmdir)
        done = subprocess.run(
            [sys.executable, "-c", FORBIDDEN, str(folder / "store")], capture_output=True, text=True, cwd=ROOT,
            check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        assert "the right to write there" in done.stdout, done.stderr


@in_loop
async def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(EngineRefused, match="in the way"):
        async with opened(configure(tmp_path / "file" / "store", tmp_path)):
            pass


@in_loop
async def test_no_symbolic_link_leads_out(root, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    root.mkdir()
    (root / "linked").symlink_to(outside)
    (root / "one").symlink_to(outside / "secret")
    async with opened(configure(root, tmp_path)) as store:
        with pytest.raises(EngineRefused, match="leads out"):
            await store.get_file("linked/secret")
        with pytest.raises(EngineRefused, match="leads out"):
            await store.put_file("linked/new", b"x")
        with pytest.raises(EngineRefused):
            await store.get_file("one")
        await store.put_file("one", b"inside")
        assert await store.list_files("") == ["one"]
    assert (outside / "secret").read_text() == "secret"
    assert os.listdir(outside) == ["secret"]


@in_loop
async def test_damaged_files_are_told_and_do_not_end_a_listing(root, tmp_path, caplog):
    pages = [make_page(f"https://a.example/{number}", b"text" * 3000) for number in range(5)]
    async with opened(configure(root, tmp_path)) as store:
        await store.put(pages)
        cut, empty, pipe, huge = (root / page.info.key for page in pages[:4])
        cut.write_bytes(cut.read_bytes()[:-20])
        empty.write_bytes(b"")
        pipe.unlink()
        os.mkfifo(pipe)
        os.truncate(huge, 1 << 40)
        for page in pages[:4]:
            with pytest.raises(Damaged, match=page.info.id):
                await store.find(page.info.id)
        (root / "pages" / "2023-11-15" / "README.txt").write_text("not a page")
        assert {info.url for info in await listed(store)} == {pages[number].info.url for number in (0, 3, 4)}
        await store.put([pages[1]])
        assert await store.find(pages[1].info.id) == pages[1]


@in_loop
async def test_a_duplicate_of_what_is_gone_is_told(root, tmp_path):
    link = make_link(PAGE, "https://b.example/")
    async with opened(configure(root, tmp_path)) as store:
        await store.put([link])
        with pytest.raises(Damaged, match="duplicate"):
            await store.find(link.info.id)
        await store.put([PAGE])
        assert (await store.find(link.info.id)).body == PAGE.body


@in_loop
async def test_links_that_go_in_circles_end(root, tmp_path):
    one, two = make_page("https://a.example/1"), make_page("https://a.example/2")
    async with opened(configure(root, tmp_path)) as store:
        await store.put([make_link(two, one.info.url), make_link(one, two.info.url)])
        with pytest.raises(Damaged, match="duplicate"):
            await store.find(one.info.id)
