"""``scrapy search``, run as a process."""

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from tests.commands.processes import ROOT, scrapy
from tests.search.pages import T0, page, with_index


@pytest.fixture(scope="module")
def index_url(tmp_path_factory):
    path = tmp_path_factory.mktemp("search")
    attack = "<script>alert(1)</script> \x1b]0;owned\x07 \x1b[2J [bold]x[/bold] \u202e"
    documents = [
        page(
            "rebase",
            title="git-rebase",
            content=f"An interactive rebase of commits{', which is long' * 20}",
            lang="en",
            host="git.example",
        ),
        page(
            "evil",
            title=f"Hostile {attack}",
            content=f"hostile words {attack}",
            lang="de",
            fetched_at=T0 + 86_400_000,
            host="\x9b2J\u202e.example",
        ),
        *(page(f"w{n}", content="asynchronous generator", crawl="c2") for n in range(20)),
    ]
    with_index(path, lambda index: index.stats(), *documents)
    return f"file:{path}/index"


@pytest.fixture
def ask(index_url):
    def run(*args: str, status: int = 0, **environ: str):
        done = scrapy("embedded:", "search", *args, **{"CRAWLER_INDEX_URL": index_url, **environ})
        assert done.returncode == status, done.stderr
        return done.stderr if status else done.stdout

    return run


def test_results_are_printed(ask):
    lines = ask("interactive", "rebase").splitlines()
    assert lines[0] == "1. git-rebase"
    assert lines[1].strip() == "https://example.org/rebase"
    assert re.fullmatch("   An interactive rebase of commits(, which is long)+, which is …", lines[2])
    assert re.fullmatch(r"results 1 to 1 of 1, in \d+ ms", lines[-1])


def test_json_is_the_whole_answer(ask):
    answer = json.loads(ask("generator", "--json", "--page", "2", "--per-page", "15"))
    assert (answer["total_results"], answer["page"], answer["per_page"], len(answer["results"])) == (20, 2, 15, 5)
    assert answer["results"][0]["snippet"] == "asynchronous <mark>generator</mark>"


def test_a_search_may_begin_with_a_minus(ask):
    everything = json.loads(ask("*", "--json"))["total_results"]
    for args in (["--", "-site:git.example"], ["--", "-site:git.example", "-title:nosuch"], ["--", "-rebase"]):
        assert json.loads(ask("--json", *args))["total_results"] == everything - 1
    assert json.loads(ask("--json", "generator", "--", "-rebase"))["total_results"] == 20
    assert "comes after --" in ask("-site:git.example word", status=2)


def test_nothing_found_may_be_a_slip(ask):
    found = ask("genrator")
    assert "nothing found" in found
    assert "did you mean: generator" in found


def test_a_hostile_page_cannot_reach_the_terminal(ask):
    found = ask("hostile")
    assert "<script>alert(1)</script>" in found  # text, as the page has it
    assert "[bold]x[/bold]" in found
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", found)
    printed = ask("hostile", "--json")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", printed)
    [result] = json.loads(printed)["results"]
    assert result["host"] == "\x9b2J\u202e.example"
    assert "<script" not in result["snippet"] + result["title_html"]


def test_snippets_are_indented_on_a_terminal(tmp_path, index_url):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 50, 0, 0))
    environ = {
        **os.environ,
        "CRAWLER_INDEX_URL": index_url,
        "CRAWLER_DATA_DIR": str(tmp_path),
        "TERM": "xterm",
        "NO_COLOR": "1",
    }
    environ.pop("COLUMNS", None)
    with os.fdopen(ours, "rb", buffering=0) as screen:
        command = [sys.executable, "-m", "scrapy", "search", "rebase"]
        with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=theirs) as process:
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError):  # the other end is closed
                while data := screen.read(4096):
                    shown += data
        assert process.returncode == 0
    lines = re.sub(rb"\x1b\[[0-9;]*m", b"", shown).decode().splitlines()
    snippet = lines[2 : lines.index("", 2)]
    assert len(snippet) > 1
    assert all(line.startswith("   ") and len(line) <= 50 for line in snippet)


def test_options_narrow(ask):
    def ids(*args):
        return {result["id"] for result in json.loads(ask(*args, "--json"))["results"]}

    assert ids("*", "--site", "git.example") == {"rebase"}
    assert ids("*", "--lang", "de") == ids("*", "--after", "2026-01-02") == ids("-generator -rebase") == {"evil"}
    assert ids("*", "--before", "2026-01-02", "--lang", "en") == {"rebase"}
    assert ids("*", "--crawl", "c1") == set()
    newest = json.loads(ask("*", "--sort", "newest", "--json", "--per-page", "1"))
    assert newest["results"][0]["id"] == "evil"


def test_suggestions_and_stats(ask):
    assert ask("--suggest", "async").splitlines() == ["asynchronous"]
    assert json.loads(ask("--suggest", "zzz", "--json")) == {"suggestions": []}
    assert "documents  22" in ask("--stats")
    stats = json.loads(ask("--optimise", "--json"))
    assert (stats["documents"], stats["engine"].split()[0]) == (22, "tantivy")


def test_misuse_is_told_in_one_line(ask, tmp_path):
    assert "nothing to look for" in ask("+++", status=1)
    assert "error: " in ask("x" * 3000, status=1)
    assert "give words to look for" in ask(status=2)
    assert "--bogus" in ask("x", "--bogus", status=2)
    told = ask("x", status=2, CRAWLER_INDEX_URL="elasticsearch+https://u:hunter2@/x")
    assert "INDEX_URL" in told
    assert "hunter2" not in told


def test_an_index_that_is_not_there_yet_is_empty(ask, tmp_path):
    none = {"CRAWLER_INDEX_URL": f"file:{tmp_path}/none"}
    assert "nothing found" in ask("word", **none)
    assert "is empty: scrapy crawl URL fills it" in scrapy("embedded:", "search", "word", **none).stderr
