"""How many pages a crawl may still fetch."""

from collections.abc import Callable

from crawler.frontier.connection import load_script
from tests.frontier.frontiers import Crawl

Open = Callable[..., Crawl]


def call(crawl: Crawl, act: str, *arguments: str | int) -> int:
    work = crawl.frontier.connection.run(load_script("budget"), crawl.keys.budget, [act, *arguments])
    return int(crawl.run(work))


def test_no_more_is_granted_than_the_cap(open_crawl: Open) -> None:
    crawl = open_crawl()
    assert call(crawl, "reserve", "w1", 6, 10) == 6
    assert call(crawl, "reserve", "w2", 6, 10) == 4
    assert call(crawl, "reserve", "w3", 6, 10) == 0


def test_what_is_given_back_can_be_granted_again(open_crawl: Open) -> None:
    crawl = open_crawl()
    call(crawl, "reserve", "w1", 10, 10)
    assert call(crawl, "settle", "w1", 3, 4) == 3
    assert call(crawl, "reserve", "w2", 10, 10) == 4
    assert call(crawl, "settle", "w1", 3, 0) == 6
    assert call(crawl, "settle", "w2", 4, 0) == 10
    assert call(crawl, "reserve", "w1", 1, 10) == 0


def test_a_dead_worker_gives_back_what_it_had_reserved(open_crawl: Open) -> None:
    crawl = open_crawl()
    call(crawl, "reserve", "w1", 8, 10)
    call(crawl, "settle", "w1", 2, 0)
    assert call(crawl, "forget", "w1") == 6
    assert call(crawl, "forget", "w1") == 0
    assert call(crawl, "reserve", "w2", 10, 10) == 8


def test_pages_beyond_the_reservation_are_still_counted(open_crawl: Open) -> None:
    crawl = open_crawl()
    call(crawl, "reserve", "w1", 2, 10)
    call(crawl, "forget", "w1")  # taken for dead, and alive after all
    assert call(crawl, "settle", "w1", 2, 0) == 2
    assert call(crawl, "reserve", "w2", 10, 10) == 8
