"""Are the texts of links found when the page that they lead to is indexed?"""

import multiprocessing
from pathlib import Path

import pytest

from crawler.errors import EngineRefused
from crawler.search.anchors import MOST_CHARACTERS, AnchorBook


def test_texts_come_together_each_once(tmp_path: Path) -> None:
    book = AnchorBook(tmp_path / "new" / "anchors.sqlite")
    book.add([("a", "The  tutorial\n"), ("b", "Reference"), ("a", "Tutorial"), ("a", "The tutorial")])
    book.add([("a", "Tutorial")])
    assert book.texts(["a", "b", "c"]) == {"a": "The tutorial\nTutorial", "b": "Reference"}
    book.close()
    assert AnchorBook(tmp_path / "new" / "anchors.sqlite").texts(["b"]) == {"b": "Reference"}


def test_a_page_that_everybody_links_to_has_bounded_texts(tmp_path: Path) -> None:
    book = AnchorBook(tmp_path / "anchors.sqlite")
    book.add(("home", f"number {number} {'x' * 5000}") for number in range(100))
    assert len(book.texts(["home"])["home"]) <= 2 * MOST_CHARACTERS + 1


def test_many_are_asked_for_at_once(tmp_path: Path) -> None:
    book = AnchorBook(tmp_path / "anchors.sqlite")
    book.add((str(number), f"page {number}") for number in range(1200))
    assert len(book.texts([str(number) for number in range(1100, 2300)])) == 100


def add_some(path: Path, letter: str) -> None:
    book = AnchorBook(path)
    for number in range(50):
        book.add([("shared", letter), (f"{letter}{number}", "text")])


def test_processes_share_it(tmp_path: Path) -> None:
    path = tmp_path / "anchors.sqlite"
    processes = [multiprocessing.Process(target=add_some, args=(path, letter)) for letter in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    book = AnchorBook(path)
    assert sorted(book.texts(["shared"])["shared"].split("\n")) == ["a", "b", "c"]
    assert len(book.texts([f"{letter}{number}" for letter in "abc" for number in range(50)])) == 150


def test_a_file_that_is_something_else_is_told(tmp_path: Path) -> None:
    path = tmp_path / "anchors.sqlite"
    path.write_text("no database" * 100)
    with pytest.raises(EngineRefused, match="may be deleted"):
        AnchorBook(path).texts(["a"])
