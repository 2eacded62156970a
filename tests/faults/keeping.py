"""Is everything that a web server served kept, once, and byte for byte? The judge of the tests in this directory.

``Engines`` says where pages go: to workers and commands as environment variables, perhaps over a proxy that makes
trouble, and to the judge directly.
"""

import asyncio
import hashlib
import io
import uuid
from base64 import b32encode
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrapy.settings import Settings
from warcio.archiveiterator import ArchiveIterator

from crawler.search.document import Document
from crawler.search.opening import IndexConfig, open_index
from crawler.storage.opening import StoreConfig, build_store
from crawler.storage.page import Page
from tests.fleet import Fleet
from tests.servers import wait_until
from tests.web import Site, WebServer

SMALL: dict[str, Any] = {
    "STORE_PAGES": 1,
    "INDEX_PAGES": 1,
    "STORE_SYNC": 0,
    "INDEX_ROUND_SECONDS": 0.2,
    "CONCURRENT_REQUESTS": 8,
    "FRONTIER_LEASE_AHEAD": 4,
    "FRONTIER_LOCK_SECONDS": 5,
    "FRONTIER_MAX_CRASHES": 1000,  # these URLs did not kill their workers
    "LOG_LEVEL": "INFO",
}


@dataclass
class Engines:
    directory: Path
    settings: dict[str, str] = field(default_factory=dict)  # of the workers
    direct: dict[str, str] = field(default_factory=dict)  # of the judge, where they differ

    def environment(self) -> dict[str, str]:
        return {f"CRAWLER_{name}": value for name, value in self.settings.items()}

    def read(self) -> Settings:
        settings = Settings()
        settings.setmodule("crawler.settings")
        settings.setdict({**self.settings, "DATA_DIR": str(self.directory / "data"), **self.direct})
        return settings

    def fleet(self, redis_url: str, **settings: Any) -> Fleet:
        return Fleet(redis_url, self.directory, env=self.environment(), **{**SMALL, **settings})

    def use_index(self, engine: str, proxy_url: str, url: str) -> str:
        """Answers the name of the index."""
        name = f"faults-{uuid.uuid4().hex[:16]}"
        self.settings["INDEX_URL"] = f"{engine}+{proxy_url}/{name}"
        self.direct["INDEX_URL"] = f"{engine}+{url}/{name}"
        return name


def small_site(hosts: int = 4, pages: int = 15, latency_ms: float = 40, **more: Any) -> Site:
    """Pages that differ enough to be nobody's duplicates."""
    return Site.trees(hosts=hosts, pages=pages, latency_ms=latency_ms, padding_bytes=2000, **more)


def wait_until_open(fleet: Fleet) -> None:
    """All workers have their engines open: what happens now happens in the middle."""
    for worker in fleet.workers:
        wait_until(lambda worker=worker: "Crawled 0 pages" in worker.log, f"{worker.name} to be open")


def read_store(engines: Engines) -> dict[str, Page]:
    async def read() -> dict[str, Page]:
        store = build_store(StoreConfig.from_settings(engines.read()))
        try:
            infos = [info async for info in store.pages()]
            counts = Counter(info.url for info in infos if not info.same_as)  # WARC files have every fetch
            assert set(counts.values()) <= {1}, {url: number for url, number in counts.items() if number > 1}
            pages = {info.url: await store.find(info.id) for info in infos}
        finally:
            await store.close()
        return {url: page for url, page in pages.items() if page is not None}

    return asyncio.run(read())


def read_index(engines: Engines) -> dict[str, Document]:
    async def read() -> list[Document]:
        index = open_index(IndexConfig.from_settings(engines.read()))
        await index.open()
        try:
            await index.refresh()
            return [document async for document in index.documents()]
        finally:
            await index.close()

    documents = asyncio.run(read())
    counts = Counter(document.url for document in documents)
    assert set(counts.values()) <= {1}, {url: number for url, number in counts.items() if number > 1}
    return {document.url: document for document in documents}


def check_store(engines: Engines, web: WebServer) -> dict[str, Page]:
    if engines.settings.get("STORE_FORMAT") == "warc":
        check_warcs(engines, web)
    served, pages = web.served(), read_store(engines)
    assert set(pages) == set(served)
    for url, page in pages.items():
        assert page.body == served[url], url
    return pages


def check_warcs(engines: Engines, web: WebServer) -> None:
    """As warcio sees them, digests checked: every body once, whoever died, and nothing but links to it besides."""
    served = web.served()
    bodies: Counter[str] = Counter()
    data = engines.directory / "data"
    assert not list(data.rglob("*.open")), "an index is not finished"
    assert not list((data / "uploads").rglob("*.gz")), "a file is not uploaded"
    for warc in asyncio.run(read_warcs(engines)):
        for record in ArchiveIterator(io.BytesIO(warc), check_digests="raise"):
            url, body = record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read()
            if record.rec_type != "warcinfo":
                digest = b32encode(hashlib.sha256(served[url]).digest()).decode()
                assert record.rec_headers.get_header("WARC-Payload-Digest") == f"sha256:{digest}"
                assert body == (served[url] if record.rec_type == "response" else b""), url
            bodies[url] += record.rec_type == "response"
    del bodies[None]  # of the records about the files
    assert bodies == dict.fromkeys(served, 1)


async def read_warcs(engines: Engines) -> list[bytes]:
    """Also from S3."""
    objects = build_store(StoreConfig.from_settings(engines.read())).objects
    try:
        keys = [key async for some in objects.list_keys("warc") for key in some if key.endswith(".warc.gz")]
        found = [await objects.read(key, 1 << 30) for key in keys]
    finally:
        await objects.close()
    return [kept.data for kept in found if kept is not None]


def check_index(engines: Engines, web: WebServer, missing: tuple[str, ...] = ()) -> dict[str, Document]:
    served, documents = web.served(), read_index(engines)
    assert set(documents) == set(served) - set(missing)
    for url, document in documents.items():
        body = served[url].decode()
        assert f"<title>{document.title}</title>" in body, url
        assert body.rpartition("<p>")[2].partition("</p>")[0].strip() in document.content, url
        assert document.content_hash == hashlib.sha256(served[url]).hexdigest()
    return documents


def check_kept(engines: Engines, web: WebServer) -> None:
    """The crawl was complete, and all of it is in both engines, once."""
    assert set(web.served()) == web.expected_paths()
    check_index(engines, web)
    check_store(engines, web)
    assert not spooled(engines), "something still waits in the spool"


def spooled(engines: Engines) -> list[Path]:
    """Segments that are not empty."""
    return [path for path in (engines.directory / "data" / "spool").glob("*/*.spool") if path.stat().st_size]
