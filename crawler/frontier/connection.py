"""How do we talk to Redis, whichever Redis it is, and what when it is away?

Everything that uses Redis gets a ``Connection`` from ``connect``. Scripts run with ``run``, on one Redis and on
Cluster alike; ``persist`` carries an operation over an outage, so that a crawl waits instead of failing.
"""

import asyncio
import functools
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from redis.asyncio import RedisCluster, Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, NoPermissionError, NoScriptError
from redis.retry import Retry
from redis.sentinel import Sentinel as BlockingSentinel

from crawler.embedded.redis import EmbeddedRedis
from crawler.errors import ConfigurationError, EngineRefused, EngineUnavailable
from crawler.frontier import outage
from crawler.frontier.lua import read_source
from crawler.frontier.redis_url import TIMEOUTS, Client, RedisUrl, build_client, for_socket, parse

OLDEST_SERVER = (6, 2)
FIRST_DELAY_SECONDS = 0.05
LONGEST_DELAY_SECONDS = 1.0

T = TypeVar("T")


class Script:
    """One atomic step, as written in ``crawler/frontier/lua/<name>.lua``."""

    def __init__(self, name: str, source: bytes | None = None) -> None:
        self.name = name
        if source is None:
            source = read_source(name)
        self.source = source
        # The name under which Redis caches a script, not a signature.
        self.sha1 = hashlib.sha1(source, usedforsecurity=False).hexdigest()


@functools.cache
def load_script(name: str) -> Script:
    return Script(name)


class Connection:
    def __init__(
        self, url: RedisUrl, client: Client, sentinel: Sentinel | None = None, embedded: EmbeddedRedis | None = None
    ) -> None:
        # Any: redis-py's annotations say "bytes or str" of every answer, and ours are always bytes.
        self.client: Any = client
        self.is_cluster = isinstance(client, RedisCluster)
        self.shown = f"embedded: in {embedded.directory}" if embedded else url.shown
        self._sentinel = sentinel
        self._embedded = embedded
        self._restarting = asyncio.Lock()

    async def run(self, script: Script, key: str, args: list[bytes | str | int]) -> Any:
        """``key`` is the script's one key; it decides which node of a cluster runs it."""
        try:
            return await self.client.execute_command("EVALSHA", script.sha1, 1, key, *args)
        except NoScriptError:  # new, or restarted since: EVAL makes Redis remember it
            return await self.client.execute_command("EVAL", script.source, 1, key, *args)

    async def persist(self, operation: Callable[[], Awaitable[T]], on_wait: Callable[[str], None]) -> T:
        """Repeats the operation until Redis is well again. ``on_wait`` is told once per outage, and once more
        when the embedded server does not start again.

        The reply may be what was lost, and not the request: only operations that may run twice belong here.
        """
        delay_seconds = FIRST_DELAY_SECONDS
        told: set[str] = set()
        while True:
            try:
                return await operation()
            except outage.POSSIBLE_OUTAGES as error:
                trouble = outage.passing_trouble(error)
                if trouble is None:
                    refusal = outage.refusal(error)
                    if refusal is None:
                        raise
                    raise EngineRefused(f"Redis at {self.shown} {refusal}") from error
                if not told:
                    told.add("outage")
                    on_wait(f"Redis at {self.shown} {trouble}. Waiting for it; nothing is lost")
                failure = await self._recover(error)
                if failure and "start" not in told:
                    told.add("start")
                    on_wait(failure)
            await asyncio.sleep(delay_seconds)
            delay_seconds = min(2 * delay_seconds, LONGEST_DELAY_SECONDS)

    async def _recover(self, error: Exception) -> str | None:
        if outage.error_code(error) == "READONLY" and not isinstance(self.client, RedisCluster):
            # After a failover the same name may lead to the new master, but only on a new connection.
            await self.client.connection_pool.disconnect(inuse_connections=False)
        if self._embedded is not None and isinstance(error, ConnectionError):
            async with self._restarting:
                try:
                    await asyncio.to_thread(self._embedded.ensure_running)
                except EngineUnavailable as failure:
                    return str(failure)
        return None

    async def close(self) -> None:
        try:
            await self.client.aclose()
            if self._sentinel is not None:
                await self._sentinel.aclose()
        finally:
            if self._embedded is not None:
                self._embedded.release()

    async def check(self) -> None:
        """Is a Redis there that we can use? Raises an EngineError that says what to do if not."""
        try:
            await self.client.ping()
            server = await self._describe_server()
        except outage.CLIENT_ERRORS as error:
            refusal = outage.refusal(error) or outage.tls_trouble(error)
            if refusal:
                raise EngineRefused(f"Redis at {self.shown} {refusal}") from error
            trouble = outage.passing_trouble(error)
            if trouble:
                # A server without TLS waits in silence for the end of what it takes for a very odd command.
                hint = "; if it has no TLS, use redis://" if self.shown.startswith("rediss") else ""
                raise EngineUnavailable(
                    f"Redis at {self.shown} {trouble}{hint}; or set REDIS_URL to another (embedded: needs no server)"
                ) from error
            raise EngineRefused(f"Redis at {self.shown} says: {error}; correct REDIS_URL") from error
        self._check_server(server)

    async def _describe_server(self) -> dict[str, Any]:
        try:
            return dict(await self.client.info("server"))
        except NoPermissionError:  # a user with few rights need not be able to ask
            return {}

    def _check_server(self, server: dict[str, Any]) -> None:
        version = str(server.get("redis_version", "6.2"))
        if tuple(map(int, version.split(".")[:2])) < OLDEST_SERVER:
            raise EngineRefused(f"Redis at {self.shown} is version {version}; 6.2 or newer is needed")
        mode = server.get("redis_mode", "")
        if mode in {"cluster", "sentinel"} and not self.is_cluster:
            raise EngineRefused(f"Redis at {self.shown} runs as {mode}: use redis+{mode}:// in REDIS_URL")


async def connect(redis_url: str, data_dir: Path) -> Connection:
    """Fails at once when there is no usable Redis: at the start somebody is looking, later ``persist`` waits."""
    url = parse(redis_url)
    embedded = None
    try:
        if url.kind == "embedded":
            embedded = EmbeddedRedis(data_dir)
            url = parse(for_socket(await asyncio.to_thread(embedded.ensure_running)))
        client, sentinel = build_client(url)
    except BaseException:
        if embedded is not None:
            embedded.release()
        raise
    connection = Connection(url, client, sentinel, embedded)
    try:
        await connection.check()
    except BaseException:
        await connection.close()
        raise
    return connection


# For as long as the process lives: nobody tells us when a scrapy-redis spider is done with its URL.
_kept: dict[Path, EmbeddedRedis] = {}


def blocking_url(redis_url: str, data_dir: Path) -> str:
    """A URL that plain redis-py understands, for scrapy-redis. Of a Sentinel: the master of this moment."""
    url = parse(redis_url)
    if url.kind == "embedded":
        embedded = _kept.setdefault(data_dir.resolve(), EmbeddedRedis(data_dir))
        return for_socket(embedded.ensure_running())
    if url.kind == "cluster":
        raise ConfigurationError(f"REDIS_URL is {url.shown!r}, but scrapy-redis cannot use a cluster: give one Redis")
    if url.kind == "sentinel":
        return _master_url(url)
    return url.text


def _master_url(url: RedisUrl) -> str:
    about_sentinels = {**TIMEOUTS, **url.sentinel_options, "ssl": url.tls, "retry": Retry(NoBackoff(), 0)}
    sentinel = BlockingSentinel(url.nodes, sentinel_kwargs=about_sentinels)  # type: ignore[no-untyped-call]
    try:
        host, port = sentinel.discover_master(url.service)  # type: ignore[no-untyped-call]
    except ConnectionError as error:
        trouble = outage.refusal(error) or outage.passing_trouble(error)
        raise EngineUnavailable(f"Redis at {url.shown} {trouble}") from error
    options = dict(url.options)
    database = options.pop("db", 0)
    user, password = (quote(options.pop(name, None) or "", safe="") for name in ("username", "password"))
    login = f"{user}:{password}@" if user or password else ""
    host = f"[{host}]" if ":" in host else host
    query = f"?{urlencode(options)}" if options else ""
    return f"redis{'s' if url.tls else ''}://{login}{host}:{port}/{database}{query}"
