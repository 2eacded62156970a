"""What does ``REDIS_URL`` mean? ``connection.py`` asks, and gets the matching redis-py client.

The query of a URL holds redis-py's own connection arguments, such as ``?ssl_ca_certs=/etc/ca.pem``;
``sentinel_username`` and ``sentinel_password`` are for Sentinels that have a password of their own.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from redis.asyncio import ConnectionPool, Redis, RedisCluster, Sentinel
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from crawler.errors import ConfigurationError

ACCEPTED = (
    "embedded:, redis://[user:password@]host[:port][/db], rediss://… (TLS), unix:///path/to/socket[?db=N], "
    "redis+sentinel://[user:password@]host:port,host:port/service[/db], "
    "redis+cluster://[user:password@]host:port,host:port, and rediss+sentinel://, rediss+cluster:// for TLS"
)
NODE = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.%\w]+)\]|(?P<host>[^\[\]:,@/\s]+))(?::(?P<port>\d{1,5}))?")

TIMEOUTS: dict[str, Any] = {"socket_connect_timeout": 5.0, "socket_timeout": 10.0}
# Replies must not depend on the URL, and retries are the business of Connection.persist.
FIXED: dict[str, Any] = {"decode_responses": False, "protocol": 2}

Client = Redis | RedisCluster
Kind = Literal["embedded", "single", "sentinel", "cluster"]


@dataclass(frozen=True)
class RedisUrl:
    text: str
    kind: Kind
    nodes: tuple[tuple[str, int], ...] = ()
    service: str = ""
    tls: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    sentinel_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        return hide_password(self.text)


def hide_password(url: str) -> str:
    """Also for malformed URLs: what stands before the last @ may hold a password with any character."""
    url = re.sub(r"([?&][^=&]*password=)[^&]*", r"\1***", url)
    scheme, separator, rest = url.partition("://") if "://" in url else ("", "", url)
    login, at, address = rest.rpartition("@")
    user, colon, _ = login.partition(":")
    return f"{scheme}{separator}{user + colon if user and colon else ''}{'***@' if at else ''}{address}"


class Malformed(ValueError):
    """Its text must not quote the URL: with an unescaped / or # in it, any part may be of the password."""


def parse(text: str) -> RedisUrl:
    try:
        return _parse(text.strip())
    except ValueError as error:
        reason = str(error) if isinstance(error, Malformed) else "it is malformed"
    raise ConfigurationError(f"REDIS_URL is {hide_password(text)!r}: {reason}; accepted are {ACCEPTED}")


def _parse(text: str) -> RedisUrl:
    if text.rstrip("/") == "embedded:":
        return RedisUrl(text, "embedded")
    split = urlsplit(text)
    if split.scheme != "unix" and "@" in split.path + split.query + split.fragment:
        # Otherwise we would look up the user's name as a host.
        raise Malformed("write / ? # @ in a user or password as %2F %3F %23 %40")
    if split.scheme in {"redis", "rediss", "unix"}:
        return _parse_single(text)
    scheme, _, kind = split.scheme.partition("+")
    if scheme not in {"redis", "rediss"} or kind not in {"sentinel", "cluster"}:
        raise Malformed("its scheme is unknown")

    credentials, _, names = split.netloc.rpartition("@")
    options = dict(parse_url(f"{scheme}://{credentials}@host/?{split.query}"))
    for replaced in ("host", "connection_class"):
        options.pop(replaced, None)
    path = [part for part in split.path.split("/") if part]
    tls = scheme == "rediss"
    if kind == "cluster":
        if path:
            raise Malformed("a cluster has no database and no service, so nothing may follow the addresses")
        return RedisUrl(text, "cluster", _parse_nodes(names, 6379), tls=tls, options=options)

    if not path or len(path) > 2:
        raise Malformed("the name of the Sentinel service must follow the addresses, as in /mymaster or /mymaster/0")
    options["db"] = _parse_database(path[1]) if len(path) == 2 else 0
    own = {name: options.pop("sentinel_" + name, None) for name in ("username", "password")}
    tls_options = {name: value for name, value in options.items() if name.startswith("ssl_")}
    nodes = _parse_nodes(names, 26379)
    return RedisUrl(text, "sentinel", nodes, path[0], tls, options, {**own, **tls_options})


def _parse_single(text: str) -> RedisUrl:
    split = urlsplit(text)
    if split.scheme == "unix":
        if not split.path:
            raise Malformed("the path of the socket is missing")
    elif not split.hostname:
        raise Malformed("the host is missing")
    elif split.path.strip("/"):
        _parse_database(split.path.strip("/"))  # redis-py takes database 0 when it cannot read the number
    if split.scheme != "unix" and split.port == 0:
        raise Malformed("the port is 0")
    return RedisUrl(text, "single", options=dict(parse_url(text)))


def _parse_database(text: str) -> int:
    if not text.isdecimal():
        raise Malformed("the database must be a number")
    return int(text)


def _parse_nodes(names: str, default_port: int) -> tuple[tuple[str, int], ...]:
    nodes = []
    for name in names.split(","):
        found = NODE.fullmatch(name)
        if not found or not 0 < int(found["port"] or default_port) < 65536:
            raise Malformed("the addresses must be host:port, with commas between them")
        nodes.append((found["six"] or found["host"], int(found["port"] or default_port)))
    return tuple(nodes)


def build_client(url: RedisUrl) -> tuple[Client, Sentinel | None]:
    """Connects to nothing yet. The Sentinel, if any, is to be closed after the client."""
    try:
        return _build(url)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"REDIS_URL is {url.shown!r}: {error}; accepted are {ACCEPTED}") from None


def _build(url: RedisUrl) -> tuple[Client, Sentinel | None]:
    options = {**TIMEOUTS, "health_check_interval": 30, **url.options, **FIXED, "retry": Retry(NoBackoff(), 0)}
    if url.kind == "cluster":
        nodes = [ClusterNode(host, port) for host, port in url.nodes]
        return RedisCluster(startup_nodes=nodes, ssl=url.tls, **options), None
    if url.kind == "sentinel":
        about_sentinels = {**TIMEOUTS, **url.sentinel_options, "retry": Retry(NoBackoff(), 0), "ssl": url.tls}
        sentinel = Sentinel(url.nodes, sentinel_kwargs=about_sentinels)  # type: ignore[no-untyped-call]
        client: Redis = sentinel.master_for(url.service, ssl=url.tls, **options)
    else:
        sentinel = None
        client = Redis.from_pool(ConnectionPool(**options))
    # An unknown argument in the query shows here, and not at the first command.
    client.connection_pool.make_connection()  # type: ignore[no-untyped-call]
    return client, sentinel


def for_socket(path: Path) -> str:
    return f"unix://{quote(str(path))}?db=0"
