"""Are equal and similar pages of a crawl recognised, once each, by all workers?"""

import hashlib
import random
from collections.abc import Callable

import pytest

from crawler.frontier import duplicates
from crawler.frontier.duplicates import Duplicates, Fingerprint, Found
from tests.frontier.frontiers import Crawl

Open = Callable[..., Crawl]


def page(id_: int, body: str = "", simhash: int = 0, day: int = 20000) -> Fingerprint:
    return Fingerprint(id_, day, hashlib.sha256((body or f"body of {id_}").encode()).digest(), simhash)


def look(crawl: Crawl, *pages: Fingerprint) -> list[Found]:
    found: list[Found] = crawl.run(Duplicates(crawl.frontier).look(pages))
    return found


def keep(crawl: Crawl, *pages: Fingerprint) -> None:
    crawl.run(Duplicates(crawl.frontier).keep(pages))


def test_the_first_with_a_body_keeps_it_and_others_link_to_it(open_crawl: Open) -> None:
    crawl = open_crawl()
    first = page(1, "x")
    assert look(crawl, first, page(2, "y")) == [Found(is_claimed=True), Found(is_claimed=True)]
    keep(crawl, first)
    assert look(crawl, page(3, "x"), page(2**64 - 1, "x")) == [Found(same=(1, 20000))] * 2


def test_while_the_first_is_being_kept_others_are_kept_too(open_crawl: Open) -> None:
    """Otherwise the body would be lost with the worker that claimed it."""
    crawl = open_crawl()
    assert look(crawl, page(1, "x"), page(2, "x")) == [Found(is_claimed=True), Found()]
    assert look(crawl, page(1, "x")) == [Found(is_claimed=True, is_claimed_again=True)]  # fetched again, after a crash


def test_a_claim_runs_out(open_crawl: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = open_crawl()
    with monkeypatch.context() as patch:
        patch.setattr(duplicates, "CLAIM_SECONDS", -1.0)
        look(crawl, page(1, "x"))
    assert look(crawl, page(2, "x")) == [Found(is_claimed=True)]


def test_a_page_fetched_again_links_to_what_is_kept_of_it(open_crawl: Open) -> None:
    crawl = open_crawl()
    keep(crawl, page(1, "x"))
    assert look(crawl, page(1, "x")) == [Found(same=(1, 20000))]  # also on the same day
    assert look(crawl, page(1, "x", day=20001)) == [Found(same=(1, 20000))]
    assert look(crawl, page(1, "new", day=20001)) == [Found(is_claimed=True)]


def test_crawls_do_not_know_of_each_other(open_crawl: Open) -> None:
    one, other = open_crawl(crawl="one"), open_crawl(crawl="other")
    keep(one, page(1, "x"))
    assert look(other, page(2, "x")) == [Found(is_claimed=True)]


def test_what_lies_in_another_store_is_kept_in_this_one_too(open_crawl: Open) -> None:
    crawl = open_crawl()
    crawl.run(Duplicates(crawl.frontier, "one").keep([page(1, "x")]))
    assert crawl.run(Duplicates(crawl.frontier, "other").look([page(2, "x")])) == [Found(is_claimed=True)]
    assert crawl.run(Duplicates(crawl.frontier, "one").look([page(2, "x")])) == [Found(same=(1, 20000))]


def test_texts_that_differ_in_three_bits_are_similar(open_crawl: Open) -> None:
    crawl = open_crawl()
    chance = random.Random(4)
    for number in range(30):
        simhash = chance.getrandbits(64) | 1
        near = simhash
        for bit in chance.sample(range(64), 3):
            near ^= 1 << bit
        far = simhash
        for bit in chance.sample(range(64), 4):
            far ^= 1 << bit
        one, other, third = number * 3 + 1, number * 3 + 2, number * 3 + 3
        assert look(crawl, page(one, simhash=simhash))[0].similar is None
        assert look(crawl, page(other, simhash=near))[0].similar == one
        assert look(crawl, page(third, simhash=far))[0].similar != one


def test_a_page_is_not_similar_to_itself(open_crawl: Open) -> None:
    crawl = open_crawl()
    for _ in range(3):
        assert look(crawl, page(1, simhash=77))[0].similar is None
    assert look(crawl, page(2, simhash=77), page(3, simhash=0))[0].similar == 1


def test_a_list_holds_its_newest_pages(open_crawl_on_one: Open) -> None:
    crawl = open_crawl_on_one()
    # All have the lowest quarter in common, and nothing else.
    look(
        crawl,
        *(page(number, simhash=(number * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFF0000) | 5) for number in range(1, 200)),
    )
    size = crawl.run(crawl.redis.strlen(crawl.base() + "near:0:5"))
    assert size == duplicates.LIST_PAGES * 16
