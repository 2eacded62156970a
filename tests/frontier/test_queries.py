"""Does the number of a page's queries have an end, and the memory for them?"""

from crawler.frontier import queries
from crawler.frontier.queries import QueryCounter


def test_a_path_has_so_many_queries_and_no_more():
    counter = QueryCounter(3)
    taken = [number for number in range(10) if not counter.is_one_too_many(f"http://a/shop?a=1&b=2&c={number}")]
    assert taken == [0, 1, 2]
    assert not counter.is_one_too_many("http://a/shop?a=1&b=2&c=1"), "it was taken before"
    assert not counter.is_one_too_many("http://a/other?a=1&b=2&c=9")
    assert not counter.is_one_too_many("http://b/shop?a=1&b=2&c=9")


def test_names_of_things_are_not_counted():
    counter = QueryCounter(1)
    for number in range(10):
        assert not counter.is_one_too_many("http://a/")
        assert not counter.is_one_too_many(f"http://a/item?id={number}")
        assert not counter.is_one_too_many(f"http://a/item?f=1&id={number}")


def test_nothing_is_counted_when_it_is_off():
    counter = QueryCounter(0)
    assert not any(counter.is_one_too_many(f"http://a/?a=1&b=2&c={number}") for number in range(10))


def test_what_was_not_met_for_long_is_forgotten(monkeypatch):
    monkeypatch.setattr(queries, "MOST_QUERIES", 100)
    counter = QueryCounter(2)
    for number in range(1000):
        counter.is_one_too_many("http://a/met-again?a=1&b=2&c=3")
        counter.is_one_too_many(f"http://a/{number}?a=1&b=2&c=3")
    assert counter._total <= 100
    assert sum(map(len, counter._paths.values())) == counter._total
    assert "http://a/met-again" in counter._paths
    assert "http://a/1" not in counter._paths
