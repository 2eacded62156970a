"""Does a worker stay as small as it is while a store is away, and while what waited is delivered?"""

import json
import subprocess
import sys
from pathlib import Path

from tests.storage.killing import ROOT

PAGES = 800
PAGE_BYTES = 100_000  # 80 MB in all, which would be there twice: as it came, and as it is written
MOST_GROWTH_BYTES = 96 * 1024 * 1024

FILL_AND_DRAIN = """
import asyncio, json, os, sys
from pathlib import Path
from crawler.delivery.spool import Spool
from crawler.errors import EngineUnavailable
from crawler.pipelines.outlets import make_store_outlet
from crawler.storage.opening import build_store
from tests.storage.stores import configure, make_page

root, pages, page_bytes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

def most_bytes():
    [line] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024

async def main():
    store = build_store(configure(root / "store", root))
    spool = Spool(root / "spool", 1 << 30)
    spool.open()
    slots = asyncio.Semaphore(64)  # as many as a worker has fetched and not acked

    async def go_away():
        raise EngineUnavailable("not yet")

    store.open, come_back = go_away, store.open
    outlet = make_store_outlet(store, spool)

    async def put(number):
        async with slots:
            await outlet.put(make_page(f"https://a.example/{number}", os.urandom(page_bytes)), page_bytes)

    await put(0)
    sizes = [most_bytes()]
    await asyncio.gather(*(put(number) for number in range(1, pages)))
    sizes.append(most_bytes())
    spooled_bytes = spool.size_bytes()
    store.open = come_back
    outlet = make_store_outlet(store, spool)
    await outlet.open()
    spool.end_segment()
    assert await outlet.close()
    sizes.append(most_bytes())
    kept = sum(1 for path in (root / "store" / "pages").rglob("*.gz"))
    print(json.dumps([spooled_bytes, kept, sizes]))

asyncio.run(main())
"""


def test_memory_does_not_grow_with_what_waits(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FILL_AND_DRAIN, str(tmp_path), str(PAGES), str(PAGE_BYTES)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    spooled_bytes, kept, [before, filled, drained] = json.loads(done.stdout)
    assert spooled_bytes > PAGES * PAGE_BYTES * 0.9  # of all: the last look may be a second old
    assert kept == PAGES
    assert filled - before < MOST_GROWTH_BYTES
    assert drained - before < MOST_GROWTH_BYTES
