"""Pages and stores for the tests of both."""

import asyncio
import dataclasses
import functools
import hashlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from crawler.storage.opening import StoreConfig, build_store
from crawler.storage.page import Page, PageInfo, page_id
from crawler.storage.s3_place import S3Place
from crawler.storage.store import Store
from crawler.urls import fingerprint

NOON = 1_700_049_600_000  # 2023-11-15, 12:00 UTC, in ms
DAY = 86_400_000


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: Any, **fixtures: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **fixtures), 60))

    return run


def make_page(url: str = "https://a.example/", body: bytes = b"<p>hello</p>", **known: Any) -> Page:
    info = PageInfo(
        id=page_id(fingerprint(url)), url=url, crawl="test", fetched_at=NOON, content_type="text/html; charset=utf-8",
        charset="utf-8", sha256=hashlib.sha256(body).hexdigest(), body_bytes=len(body), depth=1,
        headers={"Content-Type": "text/html; charset=utf-8", "Server": "test"},
    )  # fmt: skip
    return Page(msgspec.structs.replace(info, **known), body)


def make_link(original: Page, url: str, **known: Any) -> Page:
    """A page whose body is kept already."""
    info = make_page(url, original.body, same_as=original.info.key, **known).info
    return Page(info, b"")


def configure(place: Path | S3Place, data_dir: Path, **changes: Any) -> StoreConfig:
    config = StoreConfig(
        place=place,
        format="html",
        sync=False,
        data_dir=data_dir,
        warc_max_bytes=1 << 30,
        waiting_bytes=1 << 30,
        requests_at_once=16,
    )
    return dataclasses.replace(config, **changes)


@asynccontextmanager
async def opened(config: StoreConfig) -> AsyncIterator[Store]:
    store = build_store(config)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def listed(store: Store, **which: Any) -> list[PageInfo]:
    return [info async for info in store.pages(**which)]
