"""Have all machines of a crawl one time, whatever their own clocks say?"""

import time
from collections.abc import Callable

import pytest

from crawler.frontier.clock import Clock
from tests.frontier.frontiers import Crawl


@pytest.mark.parametrize("hours", [-24, 5])
def test_a_clock_that_is_wrong_does_not_matter(
    open_crawl: Callable[..., Crawl], monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    crawl, true_time = open_crawl(), time.time
    clock = Clock(crawl.frontier)
    before = true_time() * 1000
    assert before - 1 <= crawl.run(clock.now_ms()) <= true_time() * 1000
    monkeypatch.setattr(time, "time", lambda: true_time() + hours * 3600)
    assert before - 1 <= crawl.run(clock.now_ms()) <= true_time() * 1000  # set while it runs
    assert before - 1 <= crawl.run(Clock(crawl.frontier).now_ms()) <= true_time() * 1000
