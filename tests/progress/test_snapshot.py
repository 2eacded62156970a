"""Does the meter count, rate and foresee rightly?"""

from dataclasses import replace

import pytest

from crawler.frontier.messages import Status
from crawler.progress.snapshot import Meter


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def status(pages, **counts):
    counts = {"pages": pages, "accepted": 50, "queued": 20, "leased": 5, "done": pages, "dead": 3, **counts}
    return Status("c", "", counts, {"off_scope": 4, "duplicate": 9, "too_deep": 0}, 2, 3, 4, 1, 0, None)


def test_counts_of_this_run_and_of_the_crawl():
    clock = Clock()
    meter = Meter(status(100), 0, clock)
    clock.now += 4
    snapshot = meter.read(status(120, **{"dead:dns": 1, "dead:timeout": 2}), workers=2)
    assert (snapshot.pages, snapshot.new_pages, snapshot.elapsed_seconds) == (120, 20, 4)
    assert snapshot.pages_per_second == snapshot.mean_pages_per_second == 5
    assert (snapshot.queued, snapshot.leased) == (20, 5)
    assert (snapshot.hosts_ready, snapshot.hosts_waiting, snapshot.hosts_visited) == (2, 3, 4)
    assert (snapshot.retries_waiting, snapshot.workers) == (1, 2)
    assert list(snapshot.errors.items()) == [("timeout", 2), ("dns", 1)]
    assert list(snapshot.dropped.items()) == [("duplicate", 9), ("off_scope", 4)]


def test_what_did_not_change_is_counted_for_this_run():
    meter = Meter(status(100, unchanged=7), 0, Clock())
    snapshot = meter.read(replace(status(100, unchanged=9), recrawls_waiting=5), workers=1)
    assert (snapshot.unchanged, snapshot.recrawls_waiting) == (2, 5)


def test_the_rate_is_that_of_the_last_ten_seconds():
    clock = Clock()
    meter = Meter(status(0), 0, clock)
    pages = 0
    for second in range(60):
        clock.now += 1
        pages += 100 if second < 30 else 2
        snapshot = meter.read(status(pages), 1)
    assert snapshot.pages_per_second == pytest.approx(2)


@pytest.mark.parametrize(("max_pages", "pages", "eta"), [(0, 10, None), (50, 10, 20), (50, 0, None), (50, 60, 0)])
def test_eta(max_pages, pages, eta):
    clock = Clock()
    meter = Meter(status(0), max_pages, clock)
    clock.now += 5
    assert meter.read(status(pages), 1).eta_seconds == eta


def test_a_first_look_at_once_divides_by_no_zero():
    clock = Clock()
    snapshot = Meter(status(3), 10, clock).read(status(3), 1)
    assert (snapshot.pages_per_second, snapshot.mean_pages_per_second, snapshot.eta_seconds) == (0, 0, None)
