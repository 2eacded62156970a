"""Is it known why a crawl ended?"""

import asyncio

import pytest

from crawler.frontier.config import FrontierConfig
from crawler.frontier.frontier import Frontier
from crawler.frontier.messages import Status
from crawler.job.outcome import find_reason, last_event


def status(state="", held_back=0, recrawls=0, **counts):
    return Status("c", state, counts, {}, 0, 0, 0, 0, held_back, None, recrawls)


@pytest.fixture
def find(redis_url, data_dir):
    from scrapy.settings import Settings

    settings = Settings()
    settings.setmodule("crawler.settings")
    settings.setdict({"REDIS_URL": redis_url, "DATA_DIR": str(data_dir), "MAX_PAGES": 10}, priority="cmdline")
    config = FrontierConfig.from_settings(settings, "c")

    async def scenario(before, after, now):
        frontier = await Frontier.open(config)
        try:
            for fields in before:
                await frontier.connection.client.xadd(frontier.keys.events, fields)
            since = await last_event(frontier)
            for fields in after:
                await frontier.connection.client.xadd(frontier.keys.events, fields)
            return await find_reason(frontier, since, now)
        finally:
            await frontier.close()

    return lambda before, after, now: asyncio.run(scenario(before, after, now))


def finished(reason):
    return {"kind": "finished", "reason": reason}


def test_the_newest_word_of_a_worker_counts(find):
    after = [finished("interrupted"), finished("max_pages"), {"kind": "worker_left", "reason": "x"}]
    assert find([finished("finished")], after, status(queued=3)) == "max_pages"


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (status(), "finished"),
        (status(queued=4, held_back=4), "blocked"),
        (status(queued=4, recrawls=4), "finished"),
        (status(queued=6, recrawls=4, held_back=2), "blocked"),
        (status(queued=4, recrawls=3), "unknown"),
        (status(queued=4, pages=10), "max_pages"),
        (status("draining", queued=4), "drained"),
        (status(queued=4), "unknown"),
        (status(leased=1), "unknown"),
    ],
)
def test_words_of_an_earlier_run_do_not_count_and_the_frontier_tells_the_rest(find, now, reason):
    assert find([finished("drained")], [{"kind": "page"}], now) == reason
    assert find([], [], now) == reason
