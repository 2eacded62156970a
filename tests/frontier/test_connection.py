"""Every kind of Redis a URL can name, and every way it can be away. Real servers only."""

import asyncio
import contextlib
import datetime
import ipaddress
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import redis
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from redis.exceptions import ResponseError

from crawler.errors import ConfigurationError, EngineRefused, EngineUnavailable
from crawler.frontier.connection import Connection, Script, blocking_url, connect, load_script
from crawler.frontier.outage import passing_trouble
from crawler.frontier.redis_url import hide_password, parse
from tests.servers import RedisCluster, RedisSentinel, RedisServer, free_port, wait_until

SET = Script("set", b"redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])")
NOWHERE = Path("/nonexistent")


@pytest.fixture(params=["asyncio", "uvloop"])
def either_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Crawls run on uvloop, small tools on asyncio, and the two fail in different ways."""
    if request.param == "uvloop":
        monkeypatch.setitem(globals(), "make_loop", uvloop.new_event_loop)


make_loop = asyncio.new_event_loop


def run(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=make_loop) as runner:
        return runner.run(asyncio.wait_for(work, 60))


def with_connection(url: str, use: Callable[[Connection], Awaitable[Any]], data_dir: Path = NOWHERE) -> Any:
    async def work() -> Any:
        connection = await connect(url, data_dir)
        try:
            return await use(connection)
        finally:
            await connection.close()

    return run(work())


def write_and_read(url: str, data_dir: Path = NOWHERE) -> Any:
    return with_connection(url, lambda connection: connection.run(SET, "{1}:page", [b"\xffbytes"]), data_dir)


# --- URLs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6379",
        "http://localhost",
        "redis+other://h:1",
        "redis://",
        "redis://host:port",
        "redis://host:99999",
        "redis://host/name",
        "unix://",
        "redis+sentinel://host:1",
        "redis+sentinel://host:1/service/zero",
        "redis+cluster://host:1/0",
        "redis+cluster://host:1,,host:2",
        "redis+cluster://host:123456",
    ],
)
def test_malformed_urls_are_shown_with_the_accepted_forms(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        run(connect(url, NOWHERE))
    assert repr(url) in str(caught.value)
    assert "redis+sentinel://[user:password@]host:port" in str(caught.value)


def test_unknown_option_in_a_url_is_an_error() -> None:
    for url in ("redis://h?colour=red", "redis+sentinel://h/s?colour=red", "redis+cluster://h?colour=red"):
        with pytest.raises(ConfigurationError, match="colour"):
            run(connect(url, NOWHERE))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:secret@host/0", "redis://user:***@host/0"),
        ("redis://:secret@host/0", "redis://***@host/0"),
        ("redis://secret@host/0", "redis://***@host/0"),
        ("redis://user:se/cr@et#@host:x", "redis://user:***@host:x"),
        ("redis+sentinel://h/s?sentinel_password=secret&ssl_ca_certs=a", None),
        ("user:secret@host", "user:***@host"),
        ("redis://host/0", "redis://host/0"),
    ],
)
def test_passwords_are_never_shown(url: str, shown: str | None) -> None:
    assert hide_password(url) == (shown or "redis+sentinel://h/s?sentinel_password=***&ssl_ca_certs=a")


def test_error_about_a_malformed_url_hides_its_password() -> None:
    for password in ("sec/ret", "12/ret", "sec#ret", "sec?ret=1", "sec,ret", "[sec/ret"):
        for scheme in ("redis", "redis+cluster", "redis+sentinel", "other"):
            with pytest.raises(ConfigurationError) as caught:
                run(connect(f"{scheme}://user:{password}@host:port", NOWHERE))
            assert "sec" not in str(caught.value)
            assert "ret" not in str(caught.value)


def test_addresses_of_several_nodes() -> None:
    url = parse("rediss+cluster://user:p%40ss@one:7000,[::1]:7001,two")
    assert url.nodes == (("one", 7000), ("::1", 7001), ("two", 6379))
    assert url.tls
    assert url.options["password"] == "p@ss"
    url = parse("redis+sentinel://one,two:5/main/3?sentinel_password=x")
    assert (url.nodes, url.service, url.options["db"]) == ((("one", 26379), ("two", 5)), "main", 3)
    assert url.sentinel_options["password"] == "x"


# --- Kinds of Redis --------------------------------------------------------------------------


def test_single_redis(redis_url: str) -> None:
    assert write_and_read(redis_url) == b"\xffbytes"


def test_database_of_the_url_is_used(redis_server: RedisServer, redis_url: str) -> None:
    write_and_read(redis_url.replace("/0", "/3"))
    with redis_server.client(db=None) as client:
        assert client.info("keyspace").keys() == {"db3"}


def test_unix_socket(data_dir: Path) -> None:
    with RedisServer(data_dir, port=0) as server:
        assert write_and_read(server.url) == b"\xffbytes"


def test_embedded(data_dir: Path) -> None:
    assert write_and_read("embedded:", data_dir) == b"\xffbytes"
    assert with_connection("embedded:", lambda connection: connection.client.get("{1}:page"), data_dir) == b"\xffbytes"


def test_replies_are_bytes_whatever_the_url_says(redis_url: str) -> None:
    assert write_and_read(redis_url + "?decode_responses=yes&protocol=3") == b"\xffbytes"


def make_certificate(directory: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    certificate_path, key_path = directory / "certificate.pem", directory / "key.pem"
    certificate_path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate_path, key_path


def test_tls(data_dir: Path, redis_url: str) -> None:
    certificate, key = make_certificate(data_dir)
    port = free_port()
    args = ["--tls-port", str(port), "--tls-cert-file", str(certificate), "--tls-key-file", str(key)]
    with RedisServer(data_dir, extra_args=[*args, "--tls-auth-clients", "no"]):
        url = f"rediss://127.0.0.1:{port}/0"
        assert write_and_read(f"{url}?ssl_ca_certs={certificate}") == b"\xffbytes"
        with pytest.raises(EngineRefused, match=r"not trusted.*ssl_ca_certs"):
            write_and_read(url)
    with pytest.raises(EngineUnavailable, match="if it has no TLS, use redis://"):
        write_and_read(redis_url.replace("redis:", "rediss:"))


def test_sentinel_follows_a_failover(data_dir: Path) -> None:
    waits: list[str] = []
    with RedisSentinel(data_dir) as sentinel:
        assert blocking_url(sentinel.url, NOWHERE) == f"redis://127.0.0.1:{sentinel.master.port}/0"
        replica = sentinel.replica()

        async def use(connection: Connection) -> int:
            await connection.run(SET, "page", ["one"])
            await connection.client.wait(1, 5000)
            sentinel.master.kill9()
            assert await connection.persist(lambda: connection.run(SET, "page", ["two"]), waits.append) == b"two"
            return (await connection.client.info("server"))["tcp_port"]

        assert with_connection(sentinel.url, use) == replica.port
    assert len(waits) == 1


def test_sentinel_without_the_service_or_without_sentinel(data_dir: Path) -> None:
    with RedisSentinel(data_dir) as sentinel:
        with pytest.raises(EngineUnavailable, match="No master found for 'other'"):
            write_and_read(sentinel.url.replace(sentinel.service, "other"))
        with pytest.raises(EngineRefused, match="use redis\\+sentinel://"):
            write_and_read(f"redis://127.0.0.1:{sentinel.sentinel.port}")
    with pytest.raises(EngineUnavailable, match=r"'orbweaver'; a Sentinel did not answer\)"):
        write_and_read(sentinel.url)
    with pytest.raises(EngineUnavailable, match="No master found for 'orbweaver'"):
        blocking_url(sentinel.url, NOWHERE)


def test_cluster_runs_a_script_on_the_node_of_its_key(redis_cluster: RedisCluster, redis_cluster_url: str) -> None:
    async def use(connection: Connection) -> None:
        assert connection.is_cluster
        for number in range(32):
            assert await connection.run(SET, f"{{{number}}}:page", [number]) == b"%d" % number

    with_connection(redis_cluster_url, use)
    sizes = []
    for node in redis_cluster.nodes:
        with node.client() as client:
            sizes.append(client.dbsize())
    assert sum(sizes) == 32
    assert all(sizes)


@pytest.mark.usefixtures("either_loop")
def test_cluster_waits_for_a_node_that_is_restarted(data_dir: Path) -> None:
    waits: list[str] = []
    with RedisCluster(data_dir) as cluster:

        async def use(connection: Connection) -> None:
            for number in range(16):
                await connection.run(SET, f"{{{number}}}", ["before"])
            cluster.nodes[1].kill9()
            work = [
                connection.persist(lambda n=number: connection.run(SET, f"{{{n}}}", ["after"]), waits.append)
                for number in range(16)
            ]
            everything = asyncio.gather(*work)
            await asyncio.to_thread(wait_until, lambda: waits, "the outage to be noticed")
            await asyncio.to_thread(cluster.nodes[1].start)
            assert set(await everything) == {b"after"}

        with_connection(cluster.url, use)


def test_cluster_and_single_are_not_mistaken_for_each_other(redis_url: str, redis_cluster_url: str) -> None:
    with pytest.raises(EngineRefused, match="use redis:// instead"):
        write_and_read(redis_url.replace("redis://", "redis+cluster://").removesuffix("/0"))
    with pytest.raises(EngineRefused, match="use redis\\+cluster://"):
        write_and_read("redis://" + redis_cluster_url.split(",")[-1])


def test_blocking_url(data_dir: Path, redis_url: str) -> None:
    assert blocking_url(redis_url, NOWHERE) == redis_url
    with pytest.raises(ConfigurationError, match="cannot use a cluster"):
        blocking_url("redis+cluster://host:1", NOWHERE)
    url = blocking_url("embedded:", data_dir)
    with redis.Redis.from_url(url) as client:
        assert client.ping()
    from crawler.frontier import connection

    connection._kept.pop(data_dir.resolve()).release()


# --- Scripts ---------------------------------------------------------------------------------


def test_script_survives_a_flush_of_the_script_cache(redis_url: str) -> None:
    async def use(connection: Connection) -> None:
        await connection.run(SET, "page", [1])
        await connection.client.script_flush()
        assert await connection.run(SET, "page", [2]) == b"2"
        assert await connection.client.script_exists(SET.sha1) == [True]

    with_connection(redis_url, use)


def test_scripts_are_read_from_the_package_once() -> None:
    script = load_script("seen")
    assert b"KEYS[1]" in script.source
    assert load_script("seen") is script


# --- Trouble ---------------------------------------------------------------------------------


def test_nothing_listening_fails_at_once_and_names_the_address(data_dir: Path) -> None:
    port = free_port()
    for url in (f"redis://:secret@127.0.0.1:{port}", f"redis+cluster://127.0.0.1:{port}", f"unix://{data_dir}/none"):
        with pytest.raises(EngineUnavailable, match="cannot be reached") as caught:
            write_and_read(url)
        assert "secret" not in str(caught.value)
        assert hide_password(url) in str(caught.value)


def test_wrong_password_is_refused_by_every_kind(data_dir: Path) -> None:
    with RedisServer(data_dir, extra_args=["--requirepass", "right"]) as server:
        address = f"127.0.0.1:{server.port}"
        assert write_and_read(f"redis://:right@{address}") == b"\xffbytes"
        for url in (f"redis://:wrong@{address}", f"redis://{address}", f"redis+cluster://:wrong@{address}"):
            with pytest.raises(EngineRefused, match="password") as caught:
                write_and_read(url)
            assert "wrong@" not in str(caught.value)


def test_password_changed_while_running_is_refused_by_persist(data_dir: Path) -> None:
    with RedisServer(data_dir, extra_args=["--requirepass", "right"]) as server:

        async def use(connection: Connection) -> None:
            await connection.client.config_set("requirepass", "new")
            await connection.client.connection_pool.disconnect()
            await connection.persist(connection.client.ping, pytest.fail)

        with pytest.raises(EngineRefused, match="password"):
            with_connection(f"redis://:right@127.0.0.1:{server.port}", use)


def test_user_without_rights_is_refused(redis_server: RedisServer, redis_url: str) -> None:
    with redis_server.client() as client:
        client.acl_setuser("guest", enabled=True, passwords=["+x"], commands=["+ping"], keys=["*"])
    url = redis_url.replace("://", "://guest:x@")
    with pytest.raises(EngineRefused, match="ACL SETUSER"):
        with_connection(url, lambda connection: connection.persist(lambda: connection.run(SET, "k", [1]), pytest.fail))


def test_mistake_in_a_script_is_raised_at_once(redis_url: str) -> None:
    broken = Script("broken", b"return nothing.here")
    with pytest.raises(ResponseError, match="nothing"):
        with_connection(
            redis_url, lambda connection: connection.persist(lambda: connection.run(broken, "k", []), pytest.fail)
        )


def test_mistake_in_our_own_code_is_raised_at_once(redis_url: str) -> None:
    async def mistaken() -> None:
        None.missing  # type: ignore[attr-defined]  # noqa: B018

    with pytest.raises(AttributeError, match="missing"):
        with_connection(redis_url, lambda connection: connection.persist(mistaken, pytest.fail))


def test_connection_closed_under_a_write_is_an_outage(redis_url: str) -> None:
    """The race of redis-py's issue 4287, made certain: the writer goes between the check and the write."""
    waits: list[str] = []

    async def use(connection: Connection) -> bytes:
        await connection.client.ping()
        (idle,) = connection.client.connection_pool._available_connections
        writer, tries = idle._writer, []

        async def write() -> Any:
            tries.append(1)
            if len(tries) == 1:
                idle._writer = None
                await idle._send_packed_command([b"PING"])
            return await connection.run(SET, "page", [1])

        try:
            return await connection.persist(write, waits.append)
        finally:
            writer.close()

    assert with_connection(redis_url, use) == b"1"
    assert len(waits) == 1


@pytest.mark.usefixtures("either_loop")
def test_persist_waits_for_a_server_that_restarts(data_dir: Path) -> None:
    waits: list[str] = []
    with RedisServer(data_dir) as server:

        async def use(connection: Connection) -> None:
            for number, word in enumerate(("one", "two"), 1):
                server.kill9()
                waiting = asyncio.create_task(
                    connection.persist(lambda word=word: connection.run(SET, word, [word]), waits.append)
                )
                await asyncio.to_thread(wait_until, lambda number=number: len(waits) == number)
                await asyncio.to_thread(server.start)
                assert (await waiting).decode() == word

        with_connection(server.url, use)
        with server.client() as client:
            assert set(client.keys()) == {b"one", b"two"}
    assert len(waits) == 2  # one per outage, however often it was tried
    assert server.url in waits[0]


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.usefixtures("either_loop")
def test_persist_brings_the_embedded_server_back(data_dir: Path) -> None:
    waits: list[str] = []

    async def use(connection: Connection) -> bytes:
        await connection.run(SET, "page", ["kept"])
        server = (await connection.client.info("server"))["process_id"]
        keeper = parent_of(server)
        for pid in (keeper, server):
            os.kill(pid, signal.SIGKILL)
        return await connection.persist(lambda: connection.client.get("page"), waits.append)

    assert with_connection("embedded:", use, data_dir) == b"kept"
    assert len(waits) <= 1


@pytest.mark.usefixtures("either_loop")
def test_persist_waits_while_redis_is_out_of_memory(data_dir: Path) -> None:
    waits: list[str] = []
    with RedisServer(data_dir, extra_args=["--maxmemory", "1mb", "--maxmemory-policy", "noeviction"]) as server:

        async def use(connection: Connection) -> bytes:
            # Memory is refused once too much is used: fill it until that is so.
            with contextlib.suppress(redis.OutOfMemoryError):
                for number in range(100):
                    await connection.client.set(f"filler{number}", b"x" * 100_000)
            waiting = asyncio.create_task(connection.persist(lambda: connection.run(SET, "page", [1]), waits.append))
            await asyncio.to_thread(wait_until, lambda: waits, "the outage to be noticed")
            await connection.client.config_set("maxmemory", "100mb")
            return await waiting

        assert with_connection(server.url, use) == b"1"
    assert len(waits) == 1
    assert "maxmemory" in waits[0]


def test_persist_waits_while_a_replica_is_read_only(data_dir: Path) -> None:
    waits: list[str] = []
    with RedisServer(data_dir / "master") as master:
        args = ["--replicaof", "127.0.0.1", str(master.port), "--repl-diskless-sync-delay", "0"]
        with RedisServer(data_dir / "replica", extra_args=args) as replica:

            async def use(connection: Connection) -> bytes:
                waiting = asyncio.create_task(
                    connection.persist(lambda: connection.run(SET, "page", [1]), waits.append)
                )
                await asyncio.to_thread(wait_until, lambda: waits, "the outage to be noticed")
                with replica.client() as client:
                    await asyncio.to_thread(client.replicaof, "NO", "ONE")
                return await waiting

            assert with_connection(replica.url, use) == b"1"
    assert len(waits) == 1


def test_errors_inside_scripts_of_redis_6_are_understood() -> None:
    """Redis 6.2 wraps what went wrong in a sentence of its own."""
    wrapped = "Error running script (call to f_0): @user_script:1: @user_script: 1: -OOM command not allowed when used"
    assert "out of memory" in (passing_trouble(ResponseError(wrapped)) or "")
    assert "disk" in (passing_trouble(ResponseError("MISCONF Errors writing to the AOF file: No space left")) or "")
    assert passing_trouble(ResponseError("BUSYGROUP Consumer Group name already exists")) is None
    assert passing_trouble(ResponseError("WRONGTYPE Operation against a key")) is None
