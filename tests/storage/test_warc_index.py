"""Is a page found by halving, wherever it stands, and are several indexes read as one?"""

import random

import pytest

from crawler.storage.warc_index import Entry, find_lines, merge, read_line, write_line
from tests.storage.stores import NOON, make_page


def make_lines(count: int, seed: int = 1) -> list[bytes]:
    chance = random.Random(seed)
    pages = [make_page(f"https://a.example/{n}", headers={"X": "y" * chance.randrange(300)}) for n in range(count)]
    return sorted(write_line(Entry(number, 1, page.info)) for number, page in enumerate(pages))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 501])
def test_every_page_is_found_and_no_other(count):
    lines = make_lines(count)
    for form in (lines, b"".join(lines)):
        for line in lines:
            assert [found.rstrip(b"\n") for found in find_lines(form, line[:16].decode())] == [line.rstrip(b"\n")]
        for absent in ("0" * 16, "f" * 16, "7" * 16):
            assert list(find_lines(form, absent)) == []


def test_all_versions_of_a_page_are_found():
    versions = [write_line(Entry(n, 1, make_page(fetched_at=NOON + n).info)) for n in range(4)]
    lines = sorted(make_lines(50) + versions)
    found = list(find_lines(b"".join(lines), versions[0][:16].decode()))
    assert [read_line(line).page.fetched_at for line in found] == [NOON, NOON + 1, NOON + 2, NOON + 3]


def test_merged_indexes_hold_each_version_once():
    lines = make_lines(60)
    merged = list(merge([b"".join(lines[:40]), lines[20:], b""]))
    assert [line.rstrip(b"\n") for line in merged] == [line.rstrip(b"\n") for line in lines]
