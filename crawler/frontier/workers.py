"""Which workers are alive? Each says so with every heartbeat; commands, ``purge`` and the page budget ask.

A record is a key that expires, so a worker that was killed is gone from here without anybody's help.
"""

import asyncio
import os
import socket
from dataclasses import dataclass

from crawler.frontier.connection import Connection
from crawler.frontier.keys import Keys

RECORD_SECONDS = 30  # three heartbeats of ten seconds may be missed


@dataclass(frozen=True, slots=True)
class Worker:
    id: str
    crawl: str
    machine: str
    pid: int
    pages: int
    holds: int  # URLs


def new_worker_id() -> str:
    """Unlike any before: a restarted worker must not be taken for the one that died."""
    return f"{socket.gethostname()[:32]}-{os.getpid()}-{os.urandom(3).hex()}"


async def beat(connection: Connection, keys: Keys, worker: str, *, pages: int, holds: int) -> None:
    key = keys.worker(worker)
    record = {"crawl": keys.crawl, "machine": socket.gethostname(), "pid": os.getpid(), "pages": pages, "holds": holds}
    await connection.client.hset(key, mapping=record)
    await connection.client.expire(key, RECORD_SECONDS)
    await connection.client.sadd(keys.workers, worker)


async def leave(connection: Connection, keys: Keys, worker: str) -> None:
    await connection.client.delete(keys.worker(worker))
    await connection.client.srem(keys.workers, worker)


async def is_alive(connection: Connection, keys: Keys, worker: str) -> bool:
    return bool(await connection.client.exists(keys.worker(worker)))


async def live_workers(connection: Connection, keys: Keys, crawl: str | None = None) -> list[Worker]:
    """All workers of the namespace, or of one crawl. Forgets those whose record ran out."""
    names = sorted(name.decode() for name in await connection.client.smembers(keys.workers))
    records = await asyncio.gather(*(connection.client.hgetall(keys.worker(name)) for name in names))
    found = []
    for name, record in zip(names, records, strict=True):
        if not record:
            await connection.client.srem(keys.workers, name)
            continue
        values = {field.decode(): value.decode() for field, value in record.items()}
        if crawl in {None, values["crawl"]}:
            found.append(
                Worker(
                    name, values["crawl"], values["machine"], int(values["pid"]), int(values["pages"]),
                    int(values["holds"]),
                )
            )  # fmt: skip
    return found
