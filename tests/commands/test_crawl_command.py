"""Does ``scrapy crawl`` do what a person, and what scrapyd, expects of it? As processes, from outside."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from tests.patience import SLOWEST
from tests.servers import free_port, wait_until
from tests.web import Answer, Site, WebServer

ROOT = Path(__file__).parents[2]
FAST = ["--allow-private", "--rate", "500", "--burst", "50", "--max-depth", "-1"]


class Runner:
    def __init__(self, redis_url, data_dir):
        self.redis_url = redis_url
        self.data_dir = data_dir
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("CRAWLER_", "ORBWEAVER_"))},
            "CRAWLER_REDIS_URL": redis_url,
            "CRAWLER_DATA_DIR": str(data_dir),
            "SCRAPY_SETTINGS_MODULE": "crawler.settings",
        }
        self.started = []

    def start(self, *args, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        process = subprocess.Popen([sys.executable, "-m", "scrapy", *args], cwd=ROOT, env=self.env, **options)
        self.started.append(process)
        return process

    def run(self, *args, input=None, timeout=150):
        process = self.start(*args, stdin=subprocess.PIPE)
        try:
            out, err = process.communicate(input, timeout * SLOWEST)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def events(self, *args, **options):
        done = self.run(*args, "--json", **options)
        return done, [json.loads(line) for line in done.stdout.splitlines()]

    def pages(self, crawl):
        path = self.data_dir / "crawls" / crawl / "pages.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def scrapy(redis_url, data_dir):
    runner = Runner(redis_url, data_dir)
    yield runner
    for process in runner.started:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture
def web(tmp_path):
    with WebServer(Site.trees(hosts=3, pages=15), tmp_path) as server:
        yield server


# --- Arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "give a URL"),
        (["nosuch"], "neither a URL nor a spider (spiders: broad"),
        (["http://example.org/", "--max-pagse", "3"], "--max-pagse"),
        (["http://example.org/", "--max-pages", "many"], "--max-pages"),
        (["http://example.org/", "--max-pages", "-4"], "MAX_PAGES"),
        (["http://example.org/", "--workers", "0"], "--workers is 0"),
        (["http://example.org/", "--crawl", "a b"], "crawl 'a b'"),
        (["http://example.org/", "-o", "x.json"], "-o: only for a spider"),
        (["http://example.org/", "-a", "x=1"], "-a: only for a spider"),
        (["broad", "--max-pages", "3"], "--max-pages: only for URLs"),
        (["--crawl", "unknown"], "no crawl 'unknown'"),
        (["-f", "/no/such/file"], "No such file"),
        (["example.org"], "try https://example.org"),
        (["ftp://example.org/", "http://"], "not one good URL"),
        (["http://127.0.0.1:1/"], "--allow-private"),
    ],
)
def test_wrong_arguments_are_explained(scrapy, args, message):
    done = scrapy.run("crawl", *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_no_redis_is_one_message(scrapy):
    scrapy.env["CRAWLER_REDIS_URL"] = "redis://127.0.0.1:1/"
    done = scrapy.run("crawl", "http://example.org/", "--workers", "3")
    assert done.returncode == 1
    assert done.stderr.count("Redis at redis://127.0.0.1:1/") == 1
    assert "Traceback" not in done.stderr


# --- A crawl ---------------------------------------------------------------------------------


def test_a_crawl_from_its_seeds_to_its_summary(scrapy, web):
    done = scrapy.run("crawl", *web.seeds(), "bad.example", "no-url", *FAST, "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert "try https://bad.example" in done.stderr
    assert "'no-url' is not a URL" in done.stderr
    assert "Done: every reachable page was fetched" in done.stdout
    assert "45 accepted = 0 queued + 0 leased + 45 done + 0 dead" in done.stdout
    assert "from 3 hosts" in done.stdout
    crawl = re.search(r"127\.0\.0\.1-\d+-\d{8}-\d{6}", done.stdout)[0]
    assert {page["url"] for page in scrapy.pages(crawl)} == web.expected_paths()
    assert (scrapy.data_dir / "crawls" / crawl / "worker-2.log").exists()
    assert len(web.pages()) == 45


def test_with_recrawl_max_pages_is_of_one_run_and_the_same_command_goes_on(scrapy, web):
    words = ["crawl", *web.seeds(), *FAST, "--crawl", "again", "--recrawl"]
    for total in (20, 40):
        done, events = scrapy.events(*words, "--max-pages", "20", "--workers", "2")
        assert done.returncode == 0, done.stderr
        assert (events[-1]["reason"], events[-1]["pages"], events[-1]["new_pages"]) == ("max_pages", total, 20)
        assert len(web.pages()) == total
    done = scrapy.run(*words)
    assert "Done: every reachable page was fetched; 45 pages wait to be crawled again" in done.stdout
    assert "45 accepted = 45 queued + 0 leased + 0 done + 0 dead" in done.stdout
    assert "--recrawl" in done.stdout, "how to go on"
    done = scrapy.run(*words)
    assert "Nothing was due" in done.stdout
    assert {page["url"] for page in scrapy.pages("again")} == web.expected_paths()
    assert len(web.pages()) == 45


def test_seeds_from_a_file_and_from_standard_input(scrapy, web, tmp_path):
    first, second, third = web.seeds()
    (tmp_path / "seeds.txt").write_text(f"# three hosts\n\n{first}\n{second}\n")
    scrapy.env["ORBWEAVER_CWD"] = str(tmp_path)
    done, events = scrapy.events("crawl", "-f", "seeds.txt", "-", *FAST, input=f"{third}\n")
    assert done.returncode == 0, done.stderr
    assert events[-1]["pages"] == 45


def test_json(scrapy, web):
    done, events = scrapy.events("crawl", *web.seeds(), *FAST, "--max-pages", "10", "--crawl", "ten")
    assert done.returncode == 0, done.stderr
    assert {event["event"] for event in events[:-1]} <= {"progress"}
    last = events[-1]
    assert (last["event"], last["reason"], last["pages"], last["crawl"]) == ("finished", "max_pages", 10, "ten")
    assert last["accepted"] == last["queued"] + last["leased"] + last["done"] + last["dead"]
    assert len(scrapy.pages("ten")) == 10

    done, events = scrapy.events("crawl", "--crawl", "ten", *FAST)
    assert done.returncode == 0, done.stderr
    assert (events[-1]["reason"], events[-1]["pages"], events[-1]["new_pages"]) == ("finished", 45, 35)
    assert {page["url"] for page in scrapy.pages("ten")} == web.expected_paths()


def test_errors_have_their_reasons(scrapy, tmp_path):
    site = Site.trees(hosts=1, pages=7)
    site.hosts["127.0.0.1"].answers["/p/3"] = [Answer(status=404)]
    site.hosts["127.0.0.1"].robots = "User-agent: *\nDisallow: /p/5\n"
    with WebServer(site, tmp_path) as web:
        done = scrapy.run("crawl", *web.seeds(), *FAST)
    assert done.returncode == 0, done.stderr
    assert "1  http_error: the server answered with an error" in done.stdout
    assert "1  robots: robots.txt disallows it" in done.stdout


def test_a_site_that_is_down_says_so(scrapy):
    done = scrapy.run("crawl", f"http://127.0.0.1:{free_port()}/", *FAST)
    assert "Done: no page can be reached" in done.stdout
    assert "Is the site up" in done.stdout


def test_a_closed_site_says_so(scrapy, tmp_path):
    site = Site.trees(hosts=1, pages=7)
    site.hosts["127.0.0.1"].robots = "User-agent: *\nDisallow: /\n"
    with WebServer(site, tmp_path) as web:
        done = scrapy.run("crawl", *web.seeds(), *FAST)
    assert "Not one page was fetched" in done.stdout
    assert "ROBOTSTXT_OBEY" in done.stdout


# --- Faults ----------------------------------------------------------------------------------


@pytest.fixture
def slow_web(tmp_path):
    with WebServer(Site.trees(hosts=2, pages=60, latency_ms=60), tmp_path) as server:
        yield server


SLOWLY = ["--allow-private", "--rate", "15", "--burst", "4", "--max-depth", "-1"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_once_stops_and_the_crawl_can_go_on(scrapy, slow_web, number):
    process = scrapy.start("crawl", *slow_web.seeds(), *SLOWLY, "--crawl", "stopped", "--workers", "2")
    slow_web.wait_for_pages(20, 120)
    process.send_signal(number)
    out, err = process.communicate(timeout=90 * SLOWEST)
    assert process.returncode == 130, err
    assert "Stopping, nothing is lost; continue with: scrapy crawl --crawl stopped" in err
    assert "Stopped: it was stopped" in out
    assert " 0 leased " in out

    done, events = scrapy.events("crawl", "--crawl", "stopped", *FAST)
    assert done.returncode == 0, done.stderr
    assert events[-1]["reason"] == "finished"
    assert {page["url"] for page in scrapy.pages("stopped")} == slow_web.expected_paths()
    assert len(slow_web.pages()) == 120  # nothing twice


def test_a_worker_that_is_killed_is_replaced(scrapy, slow_web):
    process = scrapy.start("crawl", *slow_web.seeds(), *SLOWLY, "--crawl", "hurt", "-s", "FRONTIER_LOCK_SECONDS=2")
    slow_web.wait_for_pages(20, 120)
    [worker] = workers_of(process.pid)
    worker.kill()
    out, err = process.communicate(timeout=120 * SLOWEST)
    assert process.returncode == 0, err
    assert "Worker 1 ended unexpectedly (SIGKILL): starting it again" in err
    assert "Done: every reachable page was fetched" in out
    assert {page["url"] for page in scrapy.pages("hurt")} == slow_web.expected_paths()


def test_workers_end_with_a_killed_parent_and_give_back_what_they_held(scrapy, slow_web):
    process = scrapy.start("crawl", *slow_web.seeds(), *SLOWLY, "--crawl", "orphan", "--workers", "2")
    slow_web.wait_for_pages(20, 120)
    workers = workers_of(process.pid)
    assert len(workers) == 2
    process.kill()
    process.wait()
    wait_until(lambda: not any(map(is_alive, workers)), "the workers to end", 60)
    done, events = scrapy.events("crawl", "--crawl", "orphan", *FAST)
    assert done.returncode == 0, done.stderr
    assert events[-1]["reason"] == "finished"
    assert len(slow_web.pages()) == 120


def is_alive(process):
    """Not a zombie either: an orphan is buried by init, when that gets round to it."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def workers_of(pid):
    return [child for child in psutil.Process(pid).children() if "broad" in child.cmdline()]


# --- In a terminal ---------------------------------------------------------------------------


def test_a_terminal_sees_a_panel_and_ctrl_c_reaches_each_worker_once(scrapy, slow_web):
    master, slave = pty.openpty()
    process = scrapy.start(
        "crawl", *slow_web.seeds(), *SLOWLY, "--crawl", "seen", "--max-pages", "100",
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=lambda: take_terminal(slave),
    )  # fmt: skip
    os.close(slave)
    screen = []
    reader = threading.Thread(target=read_all, args=(master, screen), daemon=True)
    reader.start()
    slow_web.wait_for_pages(40, 120)
    wait_until(lambda: "of 100 pages" in shown(screen), "the panel")
    os.write(master, b"\x03")
    process.wait(90)
    reader.join(5)
    text = shown(screen)
    assert process.returncode == 130, text
    assert "of 100 pages" in text
    assert "╭─ seen" in text
    assert "Stopping, nothing is lost" in text
    assert " 0 leased " in text
    log = (scrapy.data_dir / "crawls" / "seen" / "worker-1.log").read_text()
    assert "unclean" not in log


def shown(screen):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(screen).decode(errors="replace"))


def take_terminal(fd):
    import fcntl
    import termios

    fcntl.ioctl(fd, termios.TIOCSCTTY, 0)


def read_all(fd, pieces):
    while True:
        select.select([fd], [], [])
        try:
            piece = os.read(fd, 65536)
        except OSError:
            return
        if not piece:
            return
        pieces.append(piece)


# --- A spider by its name --------------------------------------------------------------------


def test_a_spider_by_its_name_is_scrapys_own_crawl(scrapy, web, tmp_path):
    items = tmp_path / "items.json"
    done = scrapy.run(
        "crawl", "broad", "-a", f"seeds={web.seeds()[0]}", "-O", str(items), "-s", "ALLOW_PRIVATE=True",
        "-s", "FRONTIER_RATE=500", "-s", "FRONTIER_CRAWL=stock", "-s", "MAX_DEPTH=-1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "Spider closed" in done.stderr
    assert len(json.loads(items.read_text())) == 15


# --- The demo --------------------------------------------------------------------------------


def test_the_demo(scrapy):
    done = scrapy.run("demo")
    assert done.returncode == 0, done.stderr
    assert "Done: every reachable page was fetched" in done.stdout
    assert "robots: robots.txt disallows it" in done.stdout
    assert " go on" not in done.stdout
