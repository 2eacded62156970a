"""Is a page kept with what is true of it, whatever the machine says?"""

import time
from pathlib import Path

from tests.crawls import SpiderProcess
from tests.storage.stores import configure, in_loop, listed, opened
from tests.web import Site, WebServer


@in_loop
async def test_the_clock_of_a_worker_does_not_date_its_pages(redis_url: str, tmp_path: Path) -> None:
    """Of two versions of a page, by workers whose clocks differ, the later one would lose otherwise."""
    before = time.time()
    with WebServer(Site.trees(hosts=1, pages=2), tmp_path) as web:
        arguments = {"seeds": web.seeds()[0]}
        with SpiderProcess("tests.pipelines.behind:Behind", tmp_path, arguments, REDIS_URL=redis_url) as worker:
            assert worker.wait() == 0, worker.log
    async with opened(configure(tmp_path / "data" / "store", tmp_path)) as store:
        infos = await listed(store)
    assert len(infos) == 2
    assert all(before <= info.fetched_at / 1000 <= time.time() for info in infos)
