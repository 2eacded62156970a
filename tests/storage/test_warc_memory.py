"""Does a worker stay as small as it is while it writes WARC files of pages that have large headers?"""

import json
import subprocess
import sys
from pathlib import Path

from tests.storage.killing import ROOT

PAGES = 1500
HEADER_BYTES = 60_000  # about as much as the downloader takes; 90 MB in all
MOST_GROWTH_BYTES = 32 * 1024 * 1024

WRITE = """
import asyncio, json, sys
from pathlib import Path
from tests.storage.stores import configure, make_page, opened

root, pages, header_bytes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
large = "v" * (header_bytes // 20)

def most_bytes():
    [line] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024

async def main():
    sizes = []
    async with opened(configure(root / "store", root, format="warc")) as store:
        for start in range(0, pages, 10):
            await store.put([
                make_page(f"https://a.example/{number}", headers={f"X-{n}": f"{number} {large}" for n in range(20)})
                for number in range(start, start + 10)
            ])
            if start == 0:
                sizes.append(most_bytes())
        sizes.append(most_bytes())
    sizes.append(most_bytes())
    print(json.dumps(sizes))

asyncio.run(main())
"""


def test_memory_does_not_grow_with_what_was_written(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITE, str(tmp_path), str(PAGES), str(HEADER_BYTES)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    before, written, finished = json.loads(done.stdout)
    assert written - before < MOST_GROWTH_BYTES
    assert finished - before < MOST_GROWTH_BYTES
    [index] = tmp_path.glob("store/warc/*/*.cdxj")
    assert index.stat().st_size > PAGES * HEADER_BYTES
    with index.open("rb") as lines:
        assert sum(1 for _ in lines) == PAGES
