"""How is a frontier filled with millions of URLs while somebody waits? Used by ``frontier`` and ``memory``.

Batches are packed here and sent without waiting for each answer: only Redis is measured, so that only Redis should
be waited for.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import redis

from crawler.frontier.connection import load_script
from crawler.frontier.entry import Entry, encode, identity
from crawler.frontier.keys import Keys
from crawler.urls import fingerprint
from tests.servers import RedisServer

URL_LENGTH = 60
URLS_PER_HOST = 100
IN_FLIGHT = 16  # commands sent ahead of their answers
CLASSES = ("high", "medium", "low")


@contextlib.contextmanager
def start_redis(directory: Path) -> Iterator[redis.Redis]:
    """As a crawl has it, but for rewrites of the append-only file, which would come at some time or other."""
    args = ["--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"]
    with RedisServer(directory, extra_args=args) as server, server.client() as client:
        client.connection_pool.connection_kwargs["socket_timeout"] = 600
        yield client


def cpu_seconds(client: redis.Redis) -> float:
    info = client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def used_bytes(client: redis.Redis) -> int:
    return int(client.info("memory")["used_memory"])


def make_url(host: str, number: int) -> str:
    url = f"https://{host}/"
    return url + f"{number:0{URL_LENGTH - len(url)}d}"


class Urls:
    """URLs number 0, 1, 2 … of a crawl; neighbours are on different hosts unless ``run`` says how many share one."""

    def __init__(self, keys: Keys, hosts: int, classes: tuple[str, ...] = CLASSES) -> None:
        self._keys = keys
        self._hosts = hosts
        self._classes = classes

    def push_arguments(self, first: int, number: int, run: int = 1) -> list[Any]:
        """A batch as push.lua reads it; ``run`` links in a row are of one host and class."""
        arguments: list[Any] = [self._keys.crawl, 0]
        for start in range(first, first + number, run):
            group = start // run
            host = f"h{group % self._hosts:06d}.example.com"
            priority = self._classes[group // self._hosts % len(self._classes)]
            arguments += (host, priority, run)
            for place in range(start, start + run):
                url = make_url(host, place)
                name = fingerprint(url)
                entry = encode(Entry(url=url), identity(name), host)
                arguments += (str(name), self._keys.bucket(name), "-0.5", entry)
        return arguments


def push(client: redis.Redis, keys: Keys, batches: Iterable[list[Any]]) -> None:
    sha1 = client.script_load(load_script("push").source)
    send(client, (("EVALSHA", sha1, 1, keys.tag(0), *batch) for batch in batches))


def send(client: redis.Redis, commands: Iterable[tuple[Any, ...]]) -> None:
    connection = client.connection_pool.get_connection()
    waiting = 0
    try:
        for command in commands:
            connection.send_packed_command(connection.pack_command(*command))
            waiting += 1
            if waiting >= IN_FLIGHT:
                connection.read_response()
                waiting -= 1
        for _ in range(waiting):
            connection.read_response()
    finally:
        client.connection_pool.release(connection)
