"""What do a terminal, a log and a program see of a crawl?"""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from crawler.frontier.reasons import EXPLANATIONS
from crawler.progress.json_lines import JsonReporter
from crawler.progress.lines import LineReporter, line_of
from crawler.progress.snapshot import Snapshot
from crawler.progress.summary import REASONS, Summary, render
from crawler.progress.terminal import TerminalReporter, panel_of

SNAPSHOT = Snapshot(
    crawl="example.org-20261118-110105",
    state="",
    elapsed_seconds=125.4,
    pages=1234,
    new_pages=1234,
    pages_per_second=9.87,
    accepted=5610,
    queued=4321,
    leased=12,
    done=1240,
    dead=37,
    hosts_ready=3,
    hosts_waiting=14,
    hosts_visited=2,
    retries_waiting=6,
    held_back=0,
    workers=4,
    max_pages=2000,
    eta_seconds=77.6,
    errors={"http_error": 20, "timeout": 9, "dns": 5, "connection": 2, "too_large": 1},
    dropped={"duplicate": 123456, "off_scope": 4321},
)
BARE = replace(
    SNAPSHOT, max_pages=0, eta_seconds=None, retries_waiting=0, dead=0, errors={}, dropped={}, pages=1, new_pages=1
)


def summary(reason="finished", **changes):
    return Summary(
        replace(SNAPSHOT, **changes),
        reason,
        17,
        "/data/crawls/x/pages.jsonl",
        "./run",
        "./run crawl --crawl x --max-depth 2",
        "-s DATA_DIR=/data",
        "/data/crawls/x",
        "https://example.org/?a=1&b=2",
    )


def text_of(a_summary):
    return "\n".join(line.plain for line in render(a_summary))


def draw(renderable, width):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, legacy_windows=False)
    console.print(renderable)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [60, 100])
def test_the_panel_shows_every_number_and_fits(width):
    text = draw(panel_of(SNAPSHOT), width)
    lines = text.rstrip("\n").split("\n")
    assert all(len(line) == width for line in lines)
    assert len(lines) <= 12
    for piece in ("example.org-20261118-110105", "1,234 of 2,000 pages", "9.9/s", "2:05", "1:17 left", "4,321 queued",
                  "12 in flight", "3 ready", "14 waiting", "6 waiting", "20 http_error", "1 others",
                  "123,456 duplicate",
                  "4 running", "Ctrl-C"):  # fmt: skip
        assert piece in text, piece
    assert "…" not in text


def test_a_panel_without_a_limit_or_trouble_has_no_bar_and_no_empty_rows():
    text = draw(panel_of(BARE), 60)
    assert "1 page " in text
    for piece in ("left", "━", "failed", "dropped", "retries"):
        assert piece not in text


def test_the_panel_says_when_the_crawl_is_paused():
    assert "paused" in draw(panel_of(replace(SNAPSHOT, state="paused")), 60)


def test_terminal_messages_are_no_markup_and_the_panel_goes_away():
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    reporter = TerminalReporter(console)
    reporter.begin()
    reporter.show(SNAPSHOT)
    reporter.say("worker [bold]1[/bold] ended")
    reporter.end()
    reporter.finish(summary())
    text = console.file.getvalue()
    assert "worker [bold]1[/bold] ended" in text
    assert "\x1b[2K" in text
    assert "5,610 accepted" in text


def test_a_line_for_logs():
    assert line_of(SNAPSHOT) == (
        "2:05  1,234 of 2,000 pages  9.9/s  1:17 left  4,321 queued  12 in flight  "
        "hosts: 2 visited, 3 ready, 14 waiting  "
        "6 to retry  37 failed (20 http_error · 9 timeout · 5 dns · 2 connection · 1 others)"
    )
    assert "failed" not in line_of(BARE)


def test_a_line_every_five_seconds_and_one_at_the_end():
    out, err, now = io.StringIO(), io.StringIO(), [0.0]
    reporter = LineReporter(out, err, lambda: now[0])
    reporter.begin()
    for second in range(1, 13):
        now[0] = second
        reporter.show(replace(SNAPSHOT, elapsed_seconds=second))
    reporter.end()
    assert [line.split()[0] for line in err.getvalue().splitlines()] == ["0:05", "0:10", "0:12"]
    reporter.finish(summary())
    assert "5,610 accepted" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_json_lines():
    out, err = io.StringIO(), io.StringIO()
    reporter = JsonReporter(out, err)
    reporter.begin()
    reporter.show(SNAPSHOT)
    reporter.say("hello")
    reporter.end()
    reporter.finish(summary("max_pages"))
    first, last = (json.loads(line) for line in out.getvalue().splitlines())
    assert first["event"] == "progress"
    assert first["pages"] == 1234
    assert first["errors"]["timeout"] == 9
    assert first["eta_seconds"] == 77.6
    assert last["event"] == "finished"
    assert last["reason"] == "max_pages"
    assert last["accepted"] == last["queued"] + last["leased"] + last["done"] + last["dead"]
    assert last["pages_file"].endswith("pages.jsonl")
    assert err.getvalue() == "hello\n"


def test_the_summary_says_it_all():
    text = text_of(summary())
    assert text.strip().startswith("Done: every reachable page was fetched")
    assert "1,234 in 2:05 (9.8/s), from 17 hosts" in text
    assert "5,610 accepted = 4,321 queued + 12 leased + 1,240 done + 37 dead" in text
    assert f"20  http_error: {EXPLANATIONS['http_error']}" in text
    assert "/data/crawls/x/pages.jsonl" in text
    assert "./run frontier status --crawl example.org-20261118-110105 -s DATA_DIR=/data" in text
    assert (
        "./run frontier why 'https://example.org/?a=1&b=2' --crawl example.org-20261118-110105 -s DATA_DIR=/data"
        in text
    )
    assert "./run frontier failures --crawl example.org-20261118-110105 -s DATA_DIR=/data" in text
    assert "./run crawl --crawl x --max-depth 2" in text


def test_a_finished_crawl_is_not_to_be_continued():
    assert "go on" not in text_of(summary(queued=0))


def test_a_crawl_without_failures_has_none_to_look_at():
    assert "frontier failures" not in text_of(summary(dead=0))


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_is_explained(reason):
    assert REASONS[reason] in text_of(summary(reason))


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("private_address", "--allow-private"), ("robots", "ROBOTSTXT_OBEY"), ("dns", "spelt right"),
        ("robots_unreachable", "Is the site up"),
    ],
)  # fmt: skip
def test_no_pages_and_what_to_do(reason, fix):
    text = text_of(summary(pages=0, new_pages=0, done=0, dead=3, errors={reason: 3}))
    assert "every reachable page" not in text
    assert "Not one page was fetched" in text
    assert fix in text.split("sum")[0]
    assert "pages.jsonl" not in text


def test_a_continued_crawl_that_had_its_pages():
    assert "larger --max-pages" in text_of(summary("max_pages", new_pages=0))
    assert "fetched earlier" in text_of(summary("finished", new_pages=0))


def test_pages_that_wait_to_be_crawled_again_are_not_hidden():
    waiting = {"queued": 12, "recrawls_waiting": 12, "unchanged": 3}
    text = text_of(summary(**waiting))
    assert "Done: every reachable page was fetched; 12 pages wait to be crawled again" in text
    assert "12 waiting, 3 unchanged" in text
    assert "./run crawl --crawl x --max-depth 2   # go on with what is due by then" in text
    assert "# go on\n" in text_of(summary(queued=13, recrawls_waiting=12)) + "\n"
    assert "; 1 page waits to be crawled again" in text_of(summary(recrawls_waiting=1))
    assert "wait to be crawled" not in text_of(summary("max_pages", **waiting))
    assert "3 pages were asked for again, and none had changed" in text_of(summary(new_pages=0, **waiting))
    assert "Nothing was due" in text_of(summary(new_pages=0, recrawls_waiting=12))
    assert "12 to crawl again" in line_of(replace(SNAPSHOT, **waiting))
    assert "12 waiting · 3 unchanged" in draw(panel_of(replace(SNAPSHOT, **waiting)), 100)
    assert "recrawl" not in draw(panel_of(SNAPSHOT), 100)


def test_a_failed_crawl_shows_its_logs_and_how_to_go_on():
    text = text_of(summary("failed", queued=0))
    assert text.strip().startswith("Failed: ")
    assert "logs in" in text
    assert "go on" in text


def test_a_drained_crawl_must_be_resumed_first():
    assert "frontier resume" in text_of(summary("drained", state="draining"))
