"""The list of pages of a rebuild: the order in which they are read, and an end in the middle of a call."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.backup.pages import Listed, PageList
from crawler.storage.page import PageInfo


def info(number: int, fetched_at: int, body_bytes: int = 10) -> PageInfo:
    return PageInfo(id=f"{number:016x}", url="", crawl="c", fetched_at=fetched_at, body_bytes=body_bytes)


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[PageList]:
    pages = PageList(tmp_path / "pages.sqlite")
    yield pages
    pages.close()


def sizes(batches: Iterator[list[Listed]]) -> list[list[int]]:
    return [[listed.body_bytes for listed in batch] for batch in batches]


def test_pages_come_as_they_were_fetched_some_at_a_time(pages: PageList):
    pages.add([info(3, 50, 3), info(2, 50, 2), info(1, 70, 1), info(9, 0, 9), info(8, 10**13, 8)])
    assert sizes(pages.in_order(2, 1000)) == [[9, 2], [3, 1], [8]]
    assert sizes(pages.in_order(5, 11)) == [[9, 2], [3, 1], [8]]
    assert sizes(pages.in_order(5, 1)) == [[9], [2], [3], [1], [8]]  # one that is too large comes by itself
    assert sizes(pages.in_order(100, 1000)) == [[9, 2, 3, 1, 8]]


def test_the_newest_version_is_the_one_that_is_read(pages: PageList):
    pages.add([info(1, 5, 5), info(1, 7, 7), info(1, 6, 6)])
    assert sizes(pages.in_order(10, 1000)) == [[7]]
    assert pages.count() == 1


def test_no_pages_are_no_batch(pages: PageList):
    assert list(pages.in_order(10, 1000)) == []


def test_an_interrupted_rebuild_closes_what_nobody_uses_any_more(tmp_path: Path):
    """A call in a thread goes on when whoever waits for it is interrupted."""
    pages = PageList(tmp_path / "pages.sqlite")
    is_adding, may_go_on = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def infos() -> Iterator[PageInfo]:
        yield info(1, 1)
        is_adding.set()
        may_go_on.wait(30)
        yield info(2, 2)

    def add() -> None:
        try:
            pages.add(infos())
        except BaseException as error:
            failures.append(error)

    adder, closer = threading.Thread(target=add), threading.Thread(target=pages.close)
    adder.start()
    assert is_adding.wait(30)
    closer.start()
    closer.join(0.05)  # that a thread waits for a lock cannot be seen: a while without an end has to do
    assert closer.is_alive()
    may_go_on.set()
    adder.join(30)
    closer.join(30)
    assert failures == []
    assert not closer.is_alive()
