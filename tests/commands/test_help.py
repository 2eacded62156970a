"""Can ``--help`` be read on any terminal? Scrapy takes each line of it that ends with a colon for a heading."""

import re

import pytest

from tests.commands.processes import scrapy

HEADINGS = {"Usage", "Options", "Global Options", "Crawling Urls"}


@pytest.mark.parametrize("command", ["crawl", "search", "frontier"])
@pytest.mark.parametrize("width", [72, 80, 100])
def test_no_line_is_taken_for_a_heading(command: str, width: int) -> None:
    done = scrapy("embedded:", command, "--help", COLUMNS=str(width))
    assert done.returncode == 0
    headings = re.findall(r"^(.+)\n(?:=+|-+)$", done.stdout, re.MULTILINE)
    assert {"Usage", "Options"} <= set(headings) <= HEADINGS
