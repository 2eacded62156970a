"""``scrapy frontier``, run as a process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from tests.commands.processes import ROOT, scrapy
from tests.frontier.test_control import make_history, run, with_frontier


@pytest.fixture
def history(redis_url: str) -> str:
    """A crawl with a URL of every kind."""
    run(with_frontier(redis_url, make_history, FRONTIER_SEEN_BUCKETS=65536))
    return redis_url


def ask(url: str, *args: str, status: int = 0) -> str:
    done = scrapy(url, "frontier", *args)
    assert (done.returncode, done.stderr) == (status, ""), done.stdout
    return done.stdout


def test_status_prints_the_sum(history):
    lines = [" ".join(line.split()) for line in ask(history, "status").splitlines()]
    assert "URLs accepted 6 = queued 3 + leased 1 + done 1 + dead 1" in lines
    assert "dead 1 http_error: the server answered with an error" in lines
    assert "workers none" in lines
    answer = json.loads(ask(history, "status", "--json"))
    assert (answer["accepted"], answer["queued"], answer["leased"], answer["done"], answer["dead"]) == (6, 3, 1, 1, 1)
    assert (answer["balance"], answer["dead_reasons"], answer["state"]) == (0, {"http_error": 1}, "running")


def test_a_crawl_that_never_was_is_empty(redis_url):
    answer = json.loads(ask(redis_url, "status", "--json", "--crawl", "nothing"))
    assert (answer["crawl"], answer["accepted"], answer["finished"]) == ("nothing", 0, True)


def test_hosts_are_listed(history):
    head, *rows = ask(history, "hosts").splitlines()
    assert head.split() == ["host", "queued", "classes", "state", "pages", "fails"]
    assert {row.split()[0] for row in rows} == {"queued.example", "medium.example"}
    found = json.loads(ask(history, "hosts", "--json", "--top", "1"))
    assert (len(found), found[0]["total"], found[0]["state"]) == (1, 1, "ready")


def test_why_answers(history):
    text = ask(history, "why", "https://dead.example/#part")
    assert text.splitlines()[:2] == [
        "https://dead.example/",
        "It is dead: the server answered with an error (status 404).",
    ]
    assert json.loads(ask(history, "why", "https://leased.example/", "--json"))["details"]["worker"] == "w1"


def test_a_crawl_is_steered(history):
    assert json.loads(ask(history, "pause", "--json"))["state"] == "paused"
    assert json.loads(ask(history, "status", "--json"))["state"] == "paused"
    assert ask(history, "resume") == "default: resumed\n"
    assert ask(history, "block", "Queued.example").startswith("queued.example: blocked in all crawls, until")
    assert (
        ask(history, "block", "medium.example", "--seconds", "60")
        == "medium.example: blocked in all crawls, for 60 s\n"
    )
    assert {host["state"] for host in json.loads(ask(history, "hosts", "--json"))} == {"blocked"}


def test_a_crawl_is_exported_purged_and_imported(history, tmp_path: Path):
    done = scrapy(history, "frontier", "export", "crawl.jsonl", ORBWEAVER_CWD=str(tmp_path))
    assert done.returncode == 0
    exported = (tmp_path / "crawl.jsonl").read_text()
    assert json.loads(exported.splitlines()[0])["format"] == "orbweaver-frontier"
    assert scrapy(history, "frontier", "purge").returncode == 2
    assert "purged" in ask(history, "purge", "--yes")
    with redis.Redis.from_url(history) as client:
        assert not list(client.scan_iter("*:default*"))
    done = scrapy(history, "frontier", "import", stdin=exported)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "default: imported 4 queued, 1 dead and 6 seen URLs\n"
    assert json.loads(ask(history, "status", "--json"))["queued"] == 4
    assert ask(history, "audit") == "default: nothing wrong found\n"
    again = scrapy(history, "frontier", "import", "--crawl", "default", stdin=exported.replace('"id":"', '"id":"0'))
    assert again.returncode == 2
    assert "not empty" in again.stderr


def test_audit_tells_and_repairs(history):
    with redis.Redis.from_url(history) as client:
        client.delete("{ow:0}:default:ready:high")
        client.hincrby("{ow:0}:default:counts", "queued", 5)
    text = ask(history, "audit", status=1)
    assert "lost_host" in text
    assert "was 8, is 3" in text
    assert json.loads(ask(history, "audit", "--json", "--repair"))["sound"] is True
    assert ask(history, "audit") == "default: nothing wrong found\n"


def test_misuse_is_told(redis_url):
    for args in ([], ["stats"], ["status", "--jsno"]):
        done = scrapy(redis_url, "frontier", *args)
        assert done.returncode == 2, args
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def test_a_reader_who_leaves_is_no_error(history):
    script = '"$0" -m scrapy frontier export | head -c 10 >/dev/null; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable],
        capture_output=True,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "CRAWLER_REDIS_URL": history},
        timeout=60,
        check=False,
    )
    assert done.stderr == b""


def test_scrapy_lists_the_commands(redis_url):
    text = scrapy(redis_url).stdout
    assert "  seed " in text
    assert "  frontier " in text
    assert "  console " not in text
