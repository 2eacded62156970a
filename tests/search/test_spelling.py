"""Which word was meant?"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.search.spelling import best_correction, distance, edits


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [("word", "word", 0), ("word", "wrod", 1), ("word", "wor", 1), ("word", "sword", 1), ("word", "ward", 1),
     ("asynchronuos", "asyncronous", 2), ("word", "none", 3)],
)  # fmt: skip
def test_distance(one, other, far):
    assert distance(one, other, 2) == min(far, 3)
    assert distance(other, one, 2) == min(far, 3)


@given(st.text("abc", min_size=4, max_size=8))
@settings(deadline=None)
def test_edits_are_one_away(word):
    assert {distance(word, other, 2) for other in edits(word)} == {1}


def test_the_nearest_then_the_commonest():
    known = {"generator": 50, "generators": 900, "generated": 5000, "gen": 9000}
    assert best_correction("generatr", 0, known) == "generator"
    assert best_correction("generator", 50, known) == "generators"
    assert best_correction("generator", 500, known) == ""
    assert best_correction("generator", 50, {"generated": 5000}) == ""  # two letters away: another word, not a typo
    assert best_correction("genertaed", 0, {"generated": 5000}) == "generated"
    assert best_correction("xyz", 0, known) == ""
    assert best_correction("слво", 0, {"слово": 3}) == "слово"
    assert "слово" in edits("слво")
