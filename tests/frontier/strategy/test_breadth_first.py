"""Are shallow links crawled before deep ones, in the class of the queue that the settings mean?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.errors import ConfigurationError
from crawler.frontier.strategy.breadth_first import score_breadth_first
from crawler.frontier.strategy.config import StrategyConfig
from crawler.frontier.strategy.runner import Candidate, Page, StrategyRunner
from crawler.urls import canonicalise
from tests.frontier.strategy.settings import make_settings

CONFIG = StrategyConfig(high_score=0.7, low_score=0.3, deep_links=3)

configs = (
    st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.integers(1, 20))
    .filter(lambda case: case[1] - case[0] > 0.001)
    .map(lambda case: StrategyConfig(low_score=case[0], high_score=case[1], deep_links=case[2]))
)


@pytest.mark.parametrize(
    ("url", "depth", "is_seed", "score", "priority"),
    [
        ("https://a.com/x", 0, True, 1.0, "high"),
        ("https://a.com/x", 0, False, 1.0, "high"),
        ("https://b.com/", 1, False, 0.9625, "high"),
        ("https://b.com/", 9, False, 0.83125, "high"),
        ("https://a.com/x", 1, False, 0.65, "medium"),
        ("https://a.com/x/", 2, False, 0.6111, "medium"),
        ("https://a.com/?a=b", 2, False, 0.6111, "medium"),
        ("https://a.com/?a=/", 2, False, 0.6111, "medium"),
        ("https://a.com/x", 3, False, 0.21, "low"),
        ("https://a.com/x", 10_000, False, 0.0002, "low"),
    ],
)
def test_scores(url, depth, is_seed, score, priority):
    assert canonicalise(url).text == url
    found = score_breadth_first(CONFIG, url, depth, is_seed)
    assert found == pytest.approx(score, abs=1e-4)
    assert CONFIG.priority_of(found) == priority


@given(config=configs, depth=st.integers(1, 5000))
def test_scores_fall_with_depth_and_keep_to_their_band(config, depth):
    for url in ("https://a.com/x", "https://a.com/"):
        here, below = (score_breadth_first(config, url, level) for level in (depth, depth + 1))
        assert 0 <= below < here < 1
    assert config.priority_of(score_breadth_first(config, "https://a.com/", depth)) == "high"
    expected = "low" if depth >= config.deep_links else "medium"
    assert config.priority_of(score_breadth_first(config, "https://a.com/x", depth)) == expected


@given(
    links=st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from(["", "x", "x/", "?q=1", "x?q=/"]), st.sampled_from("abc")),
        max_size=30,
    ),
    depth=st.integers(0, 12),
)
def test_the_fast_way_and_frontera_s_way_agree(links, depth):
    fast = StrategyRunner.from_settings(make_settings())
    slow = StrategyRunner.from_settings(make_settings())
    slow._score_fast = None
    seeds = {Candidate(f"https://{host}.com/{number}/{path}", f"{host}.com", 0, True) for number, path, host in links}
    candidates = list({Candidate(f"https://{host}.com/{path}", f"{host}.com", depth + 1) for _, path, host in links})
    page = Page("https://a.com/", depth=depth)
    assert fast.is_fast
    assert fast.score_links(page, candidates) == slow.score_links(page, candidates)
    assert fast.score_seeds(list(seeds)) == slow.score_seeds(list(seeds))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"FRONTIER_LOW_SCORE": 0.7}, "FRONTIER_LOW_SCORE is 0.7 and FRONTIER_HIGH_SCORE is 0.7; the first must be"),
        ({"FRONTIER_LOW_SCORE": "0.9"}, "FRONTIER_LOW_SCORE is 0.9 and FRONTIER_HIGH_SCORE is 0.7"),
        ({"FRONTIER_HIGH_SCORE": 1.5}, "FRONTIER_HIGH_SCORE is 1.5; it must be a number from 0 to 1"),
        ({"FRONTIER_HIGH_SCORE": "nan"}, "FRONTIER_HIGH_SCORE is 'nan'; it must be a number from 0 to 1"),
        ({"FRONTIER_DEEP_LINKS": 0}, "FRONTIER_DEEP_LINKS is 0; it must be a whole number from 1"),
        ({"FRONTIER_LOW_SCORE": "x"}, "FRONTIER_LOW_SCORE is 'x'; it must be a number"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        StrategyConfig.from_settings(make_settings(**changes))
    with pytest.raises(ConfigurationError, match=complaint):
        StrategyRunner.from_settings(make_settings(**changes))


def test_settings_given_as_text_count():
    runner = StrategyRunner.from_settings(make_settings(FRONTIER_HIGH_SCORE="0.6", FRONTIER_DEEP_LINKS="2"))
    scores = runner.score_links(Page("https://a.com/", depth=1), [Candidate("https://a.com/x", "a.com", 2)]).scores
    assert [runner.priority_of(score) for score in scores] == ["low"]
    assert runner.priority_of(0.6) == "high"
