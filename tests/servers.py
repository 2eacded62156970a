"""Real Redis servers for tests, on loopback, that never outlive the test run."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import redis

from crawler.embedded.keeper import die_with_parent
from crawler.embedded.redis import find_server
from tests.patience import SLOWEST

DEADLINE_SECONDS = 30.0
SLOTS = 16384
_given_out: set[int] = set()
# A server dies with the thread that started it, and a test may do that from a thread that soon ends.
_spawner = ThreadPoolExecutor(max_workers=1)


def wait_until(condition: Callable[[], Any], what: str = "", seconds: float = DEADLINE_SECONDS) -> Any:
    """The condition's first true value."""
    deadline = time.monotonic() + seconds * SLOWEST
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds * SLOWEST} s in vain for {what or condition}")
        time.sleep(0.01)


def free_port() -> int:
    # Below the ephemeral range, so that no outgoing connection takes the port before the server does, and by
    # process id, so that parallel test workers do not look at the same ports at the same time.
    for offset in range(10_000):
        port = 12_000 + (os.getpid() * 97 + offset) % 18_000
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _given_out:
            _given_out.add(port)
            return port
    raise AssertionError("no free port on loopback")


class Server:
    """One server process, and how to end it nicely or not."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log_path = directory / "server.log"
        self.process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)

    def command(self) -> list[str]:
        raise NotImplementedError

    def client(self, **options: Any) -> redis.Redis:
        raise NotImplementedError

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        parent_pid = os.getpid()
        with self.log_path.open("ab") as log:
            self.process = _spawner.submit(
                subprocess.Popen,
                self.command(),
                stdout=log,
                stderr=log,
                preexec_fn=lambda: die_with_parent(parent_pid),
            ).result()
        with self.client() as client:
            wait_until(lambda: self._answers(client), f"an answer; the log says {self.log_path.read_text()[-2000:]}")

    def _answers(self, client: redis.Redis) -> bool:
        assert self.running, f"the server ended: {self.log_path.read_text()[-2000:]}"
        try:
            return bool(client.ping())
        except redis.AuthenticationError:
            return True
        except (redis.ConnectionError, redis.TimeoutError):
            return False

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill9(self) -> None:
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def _end(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill9()


class RedisServer(Server):
    """``port`` None takes a free one, 0 listens on a Unix socket only."""

    def __init__(self, directory: Path, port: int | None = None, extra_args: Sequence[str] = ()) -> None:
        super().__init__(directory)
        self.port = free_port() if port is None else port
        self.extra_args = tuple(extra_args)
        self.socket_path = directory / "redis.sock"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0" if self.port else f"unix://{self.socket_path}?db=0"

    def command(self) -> list[str]:
        command = [find_server(), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory)]
        command += ["--save", "", "--appendonly", "yes"]
        if self.port == 0:
            command += ["--unixsocket", str(self.socket_path)]
        return [*command, *self.extra_args]

    def client(self, **options: Any) -> redis.Redis:
        return redis.Redis.from_url(self.url, retry=None, socket_timeout=5, **options)


class Several:
    """Server processes that belong together: all of them run, or none does."""

    def start(self) -> None:
        raise NotImplementedError

    def kill9(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill9()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill9()


class RedisCluster(Several):
    """Masters only, every slot served."""

    def __init__(self, directory: Path, nodes: int = 3, extra_args: Sequence[str] = ()) -> None:
        args = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", *extra_args]
        self.nodes = [RedisServer(directory / f"node{number}", extra_args=args) for number in range(nodes)]
        # The nodes talk to each other on a second port, by default 10,000 above the first.
        for node in self.nodes:
            node.extra_args += ("--cluster-port", str(free_port()))

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        bounds = [SLOTS * number // len(self.nodes) for number in range(len(self.nodes) + 1)]
        first = self.nodes[0]
        for node, low, high in zip(self.nodes, bounds, bounds[1:], strict=False):
            with node.client() as client:
                if client.execute_command("CLUSTER INFO")["cluster_slots_assigned"] == "0":
                    client.execute_command("CLUSTER", "ADDSLOTSRANGE", low, high - 1)
                bus_port = first.extra_args[-1]
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", first.port, bus_port)
        self.wait_until_ok()

    def wait_until_ok(self) -> None:
        for node in self.nodes:
            with node.client() as client:
                wait_until(lambda client=client: self._is_whole(client), f"cluster_state:ok on {node.url}")

    def _is_whole(self, client: redis.Redis) -> bool:
        info = client.execute_command("CLUSTER INFO")
        return info["cluster_state"] == "ok" and int(info["cluster_known_nodes"]) == len(self.nodes)

    def flush(self) -> None:
        for node in self.nodes:
            with node.client() as client:
                client.flushall()

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def kill9(self) -> None:
        for node in self.nodes:
            node.kill9()


class SentinelProcess(Server):
    def __init__(self, directory: Path, service: str, master_port: int, extra_lines: Iterable[str] = ()) -> None:
        super().__init__(directory)
        self.port = free_port()
        self.configuration = directory / "sentinel.conf"
        lines = [
            f"port {self.port}",
            "bind 127.0.0.1",
            f"dir {directory}",
            f"sentinel monitor {service} 127.0.0.1 {master_port} 1",
            f"sentinel down-after-milliseconds {service} 500",
            f"sentinel failover-timeout {service} 2000",
            *extra_lines,
        ]
        self.configuration.write_text("\n".join(lines) + "\n")

    def command(self) -> list[str]:
        return [find_server(), str(self.configuration), "--sentinel"]

    def client(self, **options: Any) -> redis.Redis:
        return redis.Redis(port=self.port, retry=None, socket_timeout=5, **options)


class RedisSentinel(Several):
    """One master and one Sentinel that watches it; ``replica()`` adds somebody to fail over to."""

    service = "orbweaver"

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.master = RedisServer(directory / "master")
        self.sentinel = SentinelProcess(directory / "sentinel", self.service, self.master.port)
        self._replicas: list[RedisServer] = []

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self.sentinel.port}/{self.service}/0"

    def start(self) -> None:
        self.master.start()
        self.sentinel.start()

    def replica(self) -> RedisServer:
        args = ["--replicaof", "127.0.0.1", str(self.master.port), "--repl-diskless-sync-delay", "0"]
        replica = RedisServer(self.directory / f"replica{len(self._replicas)}", extra_args=args)
        self._replicas.append(replica)
        replica.start()
        with self.sentinel.client() as client:
            wait_until(lambda: client.sentinel_slaves(self.service), "the Sentinel to see the replica")
        with replica.client() as client:
            wait_until(lambda: client.info("replication")["master_link_status"] == "up", "the replica to be in step")
        return replica

    def kill9(self) -> None:
        for server in [self.sentinel, self.master, *self._replicas]:
            server.kill9()


@contextlib.contextmanager
def short_directory() -> Iterator[Path]:
    """Socket paths are limited to about a hundred bytes, which pytest's own directories come near to."""
    path = Path(tempfile.mkdtemp(prefix="ow-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
