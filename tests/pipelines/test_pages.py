"""Is there a line about every page, and does a page whose line cannot be written come to no harm?"""

import json
import logging
import resource
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crawler.pipelines.pages import PageLogPipeline
from tests.storage.stores import in_loop


@pytest.fixture
def pipeline(tmp_path: Path) -> PageLogPipeline:
    crawler: Any = SimpleNamespace(engine=None)  # as if it was told to stop: it waits for nothing
    return PageLogPipeline(crawler, tmp_path / "crawls" / "x" / "pages.jsonl", "x")


def urls(path: Path) -> list[str]:
    return [json.loads(line)["url"] for line in path.read_text().splitlines()]


@in_loop
async def test_what_comes_after_somebody_removed_the_file_is_in_a_new_one(pipeline):
    pipeline.open_spider()
    await pipeline.process_item({"url": "https://a.example/1"})
    pipeline.path.unlink()
    pipeline.path.parent.rmdir()
    await pipeline.process_item({"url": "https://a.example/2"})
    pipeline.close_spider()
    assert urls(pipeline.path) == ["https://a.example/2"]


@in_loop
async def test_a_file_that_may_not_grow_is_told_and_no_page_fails_by_it(pipeline, caplog):
    caplog.set_level(logging.ERROR)
    pipeline.open_spider()
    await pipeline.process_item({"url": "https://a.example/1"})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (pipeline.path.stat().st_size, hard))
    try:
        item = await pipeline.process_item({"url": "https://a.example/2"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await pipeline.process_item({"url": "https://a.example/3"})
    pipeline.close_spider()
    assert item == {"url": "https://a.example/2"}
    assert "File too large" in caplog.text
    assert urls(pipeline.path) == ["https://a.example/1", "https://a.example/3"]
