"""Does one page that no store can take hold up the others?"""

import json
from pathlib import Path

import pytest

from crawler.delivery.outlet import REJECTED_FILE
from crawler.delivery.spool import Spool
from crawler.pipelines import outlets
from crawler.pipelines.outlets import make_store_outlet
from crawler.storage import gzip_page
from crawler.storage.opening import build_store
from tests.storage.stores import configure, in_loop, listed, make_page


@in_loop
async def test_a_page_that_is_too_large_to_be_kept_is_told_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (outlets, gzip_page):
        monkeypatch.setattr(module, "MAX_BODY_BYTES", 1000)
    store = build_store(configure(tmp_path / "store", tmp_path))
    outlet = make_store_outlet(store, Spool(tmp_path / "spool", 1 << 20))
    await outlet.open()
    await outlet.put(make_page("https://a.example/large", b"x" * 1001), 1001)
    await outlet.put(make_page("https://a.example/small", b"x" * 1000), 1000)
    assert await outlet.close()
    assert [info.url for info in await listed(store)] == ["https://a.example/small"]
    [line] = (tmp_path / "spool" / REJECTED_FILE).read_text().splitlines()
    assert json.loads(line)["name"] == "https://a.example/large"
