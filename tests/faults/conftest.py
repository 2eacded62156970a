"""Engines for crawls that fail: as the workers see them, over a proxy that makes trouble."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.storage.s3_place import S3Place
from tests.faults.keeping import Engines
from tests.search.engine_proxy import ProxyInThread, proxy_in_thread
from tests.search.engine_server import remove_index
from tests.storage.proxy import TroubleProxy


@pytest.fixture
def engines(tmp_path: Path) -> Engines:
    return Engines(tmp_path)


@pytest.fixture
def index_proxy(opensearch_url: str, engines: Engines) -> Iterator[ProxyInThread]:
    """OpenSearch, as the workers see it."""
    with proxy_in_thread(opensearch_url) as running:
        name = engines.use_index("opensearch", running.proxy.url, opensearch_url)
        yield running
    remove_index(opensearch_url, name)


@pytest.fixture
def s3_proxy(s3_place: S3Place, engines: Engines) -> Iterator[TroubleProxy]:
    """S3, as the workers see it."""
    with TroubleProxy(int(s3_place.endpoint_url.rpartition(":")[2])) as proxy:
        engines.settings["STORE_URL"] = f"s3://{s3_place.bucket}/{s3_place.prefix}"
        engines.settings["S3_ENDPOINT_URL"] = proxy.url
        engines.direct["S3_ENDPOINT_URL"] = s3_place.endpoint_url
        yield proxy
