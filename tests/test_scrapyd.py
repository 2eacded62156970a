"""Do workers run as a service? A real scrapyd with the committed scrapyd.conf, deployed to with the official client."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.crawls import ROOT
from tests.patience import SLOWEST
from tests.servers import RedisServer, free_port, wait_until
from tests.web import Site, WebServer

PASSWORD = "a-test's-own"
SCRIPTS = Path(sys.executable).parent
# Short steps, so that both workers have turns.
WORKER = {
    "ALLOW_PRIVATE": "1", "FRONTIER_RATE": "0", "FRONTIER_IDLE_SECONDS": "0.1", "FRONTIER_BLOOM_CAPACITY": "10000",
    "CONCURRENT_REQUESTS": "2", "FRONTIER_LEASE_AHEAD": "1", "FRONTIER_VISIT_PAGES": "2", "MAX_DEPTH": "-1",
    "PAGE_LOG": "0",
}  # fmt: skip


class Scrapyd:
    def __init__(self, project: Path) -> None:
        self.project = project
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self._process: subprocess.Popen[bytes] | None = None
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("CRAWLER_", "PYTHON"))}
        # As ./run sets it.
        self.environment = {**environment, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def configure(self) -> None:
        """The committed files, with a port and a password of this test, and less patience."""
        changes = {"http_port = 6800": f"http_port = {self.port}\npoll_interval = 0.2", "change-me": PASSWORD,
                   "127.0.0.1:6800/": f"127.0.0.1:{self.port}/"}  # fmt: skip
        for name in ("scrapyd.conf", "scrapy.cfg"):
            text = (ROOT / name).read_text()
            for old, new in changes.items():
                text = text.replace(old, new)
            assert PASSWORD in text
            (self.project / name).write_text(text)

    def start(self) -> None:
        with (self.project / "scrapyd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(SCRIPTS / "scrapyd"), "--pidfile="],
                cwd=self.project, env=self.environment, stdout=log, stderr=log,
            )  # fmt: skip
        wait_until(self._answers, "scrapyd to answer")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.project / "scrapyd.log").read_text()
        try:
            return bool(self.ask("daemonstatus.json")["status"] == "ok")
        except urllib.error.URLError:
            return False

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    def deploy(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(SCRIPTS / "scrapyd-deploy"), "--version", "1"],
            cwd=self.project, env=self.environment, capture_output=True, text=True, timeout=60 * SLOWEST, check=False,
        )  # fmt: skip

    def ask(self, service: str, post: list[tuple[str, str]] | None = None, **query: str) -> dict[str, Any]:
        data = urllib.parse.urlencode(post).encode() if post is not None else None
        url = f"{self.url}{service}?{urllib.parse.urlencode(query)}"
        token = base64.b64encode(f"orbweaver:{PASSWORD}".encode()).decode()
        request = urllib.request.Request(url, data=data, headers={"Authorization": f"Basic {token}"})
        with urllib.request.urlopen(request, timeout=20 * SLOWEST) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def schedule(self, seeds: str, **settings: str) -> str:
        post = [("project", "orbweaver"), ("spider", "broad"), ("seeds", seeds)]
        post += [("setting", f"{name}={value}") for name, value in {**WORKER, **settings}.items()]
        return str(self.ask("schedule.json", post)["jobid"])

    def jobs(self, state: str) -> set[str]:
        return {job["id"] for job in self.ask("listjobs.json", project="orbweaver")[state]}

    def wait_for_end(self, *jobs: str) -> None:
        wait_until(lambda: set(jobs) <= self.jobs("finished"), f"the end of {jobs}: {self.logs(*jobs)[-3000:]}", 60)

    def logs(self, *jobs: str) -> str:
        directory = self.project / "data" / "scrapyd" / "logs" / "orbweaver" / "broad"
        return "".join(path.read_text() for job in jobs for path in directory.glob(f"{job}.log"))


@pytest.fixture(scope="module")
def scrapyd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrapyd]:
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "crawler", project / "crawler", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.py", project)
    service = Scrapyd(project)
    service.configure()
    try:
        service.start()
        deployed = service.deploy()
        assert '"status": "ok"' in deployed.stdout, deployed.stdout + deployed.stderr
        # From here on, a worker that finds the project found the egg.
        (project / "crawler").rename(project / "not-the-crawler")
        yield service
    finally:
        service.stop()


class Counts:
    def __init__(self, server: RedisServer, crawl: str) -> None:
        self.redis = redis.Redis.from_url(server.url)
        self.base = f"{{ow:0}}:{crawl}:"

    def __call__(self, name: str) -> int:
        return int(self.redis.hget(f"{self.base}counts", name) or 0)  # type: ignore[arg-type]


def test_the_egg_has_the_spider(scrapyd: Scrapyd) -> None:
    assert scrapyd.ask("listspiders.json", project="orbweaver")["spiders"] == ["broad"]


@pytest.mark.parametrize("login", [None, "orbweaver:change-me", f"somebody:{PASSWORD}"])
def test_nobody_comes_in_without_the_password(scrapyd: Scrapyd, login: str | None) -> None:
    headers = {"Authorization": "Basic " + base64.b64encode(login.encode()).decode()} if login else {}
    for service in ("daemonstatus.json", "addversion.json", ""):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(scrapyd.url + service, headers=headers), timeout=20 * SLOWEST)
        assert refused.value.code == 401


def test_a_deploy_with_a_wrong_password_is_refused(scrapyd: Scrapyd) -> None:
    cfg = scrapyd.project / "scrapy.cfg"
    right = cfg.read_text()
    crawler = scrapyd.project / "crawler"
    (scrapyd.project / "not-the-crawler").rename(crawler)
    try:
        cfg.write_text(re.sub(r"password = .*", "password = wrong", right))
        refused = scrapyd.deploy()
    finally:
        cfg.write_text(right)
        crawler.rename(scrapyd.project / "not-the-crawler")
    assert refused.returncode != 0
    assert "401" in refused.stdout + refused.stderr


def test_two_scheduled_workers_share_one_crawl(
    scrapyd: Scrapyd, redis_server: RedisServer, redis_url: str, tmp_path: Path
) -> None:
    counts = Counts(redis_server, "shared")
    with WebServer(Site.trees(6, pages=8, latency_ms=20), tmp_path) as web:
        counts.redis.set(f"{counts.base}state", "paused")  # until both are there
        shared = {"REDIS_URL": redis_url, "FRONTIER_CRAWL": "shared"}
        jobs = [
            scrapyd.schedule(",".join(web.seeds()), USER_AGENT="first", **shared),
            scrapyd.schedule("", USER_AGENT="second", **shared),
        ]
        joined = "ow:events:shared"
        wait_until(
            lambda: str(counts.redis.xrange(joined)).count("worker_joined") == 2 and counts("queued") == 6,
            "both workers", 60,
        )  # fmt: skip
        counts.redis.delete(f"{counts.base}state")
        scrapyd.wait_for_end(*jobs)
        hits = web.pages()
        assert Counter(hit.url for hit in hits) == Counter(web.expected_paths())
        assert {hit.user_agent for hit in hits} == {"first", "second"}
    assert counts("done") == 48
    assert counts("leased") == 0
    assert "Traceback" not in scrapyd.logs(*jobs)


def test_a_cancelled_worker_gives_everything_back(
    scrapyd: Scrapyd, redis_server: RedisServer, redis_url: str, tmp_path: Path
) -> None:
    counts = Counts(redis_server, "cancelled")
    with WebServer(Site.trees(4, pages=20, latency_ms=60), tmp_path) as web:
        shared = {"REDIS_URL": redis_url, "FRONTIER_CRAWL": "cancelled"}
        job = scrapyd.schedule(",".join(web.seeds()), **shared)
        web.wait_for_pages(5, 60)
        answer = scrapyd.ask("cancel.json", [("project", "orbweaver"), ("job", job)])
        assert (answer["status"], answer["prevstate"]) == ("ok", "running")
        scrapyd.wait_for_end(job)
        assert counts("leased") == 0
        assert counts("queued") > 0
        assert counts("accepted") == counts("queued") + counts("done")
        done = counts("done")
        assert done < 80
        second = scrapyd.schedule("", CONCURRENT_REQUESTS="16", FRONTIER_VISIT_PAGES="8", **shared)
        scrapyd.wait_for_end(second)
        assert Counter(hit.url for hit in web.pages()) == Counter(web.expected_paths())
    assert counts("done") == 80


def test_finished_jobs_survive_a_restart(scrapyd: Scrapyd) -> None:
    before = scrapyd.jobs("finished")
    assert len(before) >= 1
    scrapyd.stop()
    scrapyd.start()
    assert scrapyd.jobs("finished") == before
    assert scrapyd.ask("listspiders.json", project="orbweaver")["spiders"] == ["broad"]
