"""Does every page that is made to harm end as a page, in time that grows no faster than its length?"""

import re
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.parsing import Page, parse_page, text
from tests.parsing.patience import patience_seconds

URL = "https://example.com/a/"
STORY = "<p>The spider sits in the middle of its web, and waits there for what the wind will bring.</p>"


def parse(html: str | bytes) -> Page:
    body = html.encode() if isinstance(html, str) else html
    started = time.process_time()
    page = parse_page(body, URL)
    assert page.simhash >= 0
    assert time.process_time() - started < patience_seconds()
    for one in (page.text, page.main_text, page.title, page.description, *page.anchors, *page.headings):
        one.encode()
    return page


MILLION = 1_000_000
FLOODS = {
    "a million inline elements": "<b>x</b>" * (MILLION // 2),
    "a million open elements": "<b>" * MILLION,
    "paragraphs": "<p>" * (MILLION // 3),
    "short lines": "<p>x" * (MILLION // 4),
    "line ends": "x<br>" * (MILLION // 4),
    "headings": "<h1>x</h1>" * 100_000,
    "headings in headings": "<h1><div>" * 250 + "<h2>x</h2>" * 50_000,
    "named headings without text": "<h1></h1>" * 100_000,
    "hidden elements": "<p hidden>x</p>" * 100_000,
    "hidden in hidden": "<div hidden>" * 500 + "<p>x</p>" * 100_000,
    "hidden words": "<span hidden>x</span>y" * 100_000,
    "styles that hide nothing": f"<p style='{'display:' * 100_000}'>x</p>",
    "styles that nearly hide": f"<p style='{'display: ' + ' ' * 100_000}'>x</p>" * 5,
    "menus in menus": "<nav>" * 500 + "<p>x</p>" * 100_000,
    "roles": "<div role=main><div role=navigation>" * 250 + "<p>x</p>" * 100_000,
    "links with one address": "<a href=/x>x</a>" * 100_000,
    "links with many": "".join(f"<a href=/{i}>x{i}</a>" for i in range(100_000)),
    "links in links": "".join(f"<a href=/{i}><object>" for i in range(250)) + "<b>y</b>" * 300_000,
    "links in cells": "".join(f"<a href=/{i}><table><tr><td>" for i in range(120)) + "word " * 400_000,
    "links with many images": "<a href=/x>" + "<img alt='picture'>" * 100_000,
    "links that end nowhere": "</a>" * 300_000,
    "permalinks": "<a href=#x>¶</a>" * 100_000,
    "a huge attribute": f"<p class='{'x' * 5 * MILLION}'>x</p>",
    "many attributes": f"<p {' '.join(f'a{i}=x' for i in range(2000))}>x</p>" * 20,
    "quotes in names of attributes": "<b a\">\"" * 100_000,
    "quotes everywhere": "\"'<p \"'=\"'>" * 100_000,
    "a comment without end": "<!--" * 300_000,
    "comments": "<!-- -- -->" * 100_000,
    "scripts without end": "<script>" * 300_000,
    "scripts": "<script>x</script>" * 100_000,
    "svg scripts": "<svg>" + "<script>&lt;/script&gt;" * 50_000,
    "templates": "<template>x</template>" * 100_000,
    "entities": "&amp;" * MILLION,
    "entities that are none": "&" * 2 * MILLION,
    "entities that grow": "&NotEqualTilde;&#x1F600;&nbsp;" * 100_000,
    "less-than signs": "<" * 2 * MILLION,
    "greater-than signs": ">" * 2 * MILLION,
    "soft hyphens": "a\xad\u200b" * 500_000,
    "spaces": " " * 3 * MILLION + "x" + "\n" * 3 * MILLION,
    "one long word": "x" * 5 * MILLION,
    "ideographs": "蜘蛛" * 500_000,
    "metas": "<meta name=description content=x>" * 100_000,
    "a long title": "<title>" + "x " * MILLION,
    "times": "<main>" + "<time datetime='2024-05-06T'>x</time>" * 100_000,
    "bases": "<base href=/x>" * 100_000,
    "canonicals": "<head>" + "<link rel=canonical href=/x>" * 50_000,
}  # fmt: skip


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_ends(name):
    page = parse(STORY + FLOODS[name])
    assert page.text.startswith("The spider sits")


@pytest.mark.parametrize(
    "json",
    ["[" * MILLION, '{"a":' * 100_000, '"' * MILLION, "1" * MILLION, '{"a": "' + "x" * MILLION + '"}',
     "[" + "{}," * 300_000 + "{}]", '{"@graph": [' * 100_000, "\\" * MILLION, '{"datePublished": "' + "9" * 1000 + '"}',
     "\x00" * MILLION, "x" + " " * 190_000 + "x", "x" + "\u3000" * 60_000 + "x", "x" + "/* " * 60_000,
     "x" + "--> " * 40_000],
)  # fmt: skip
def test_json_ld_that_is_made_to_harm(json):
    page = parse(f"{STORY}<script type='application/ld+json'>{json}</script><p>after</p>")
    assert page.published_at == 0
    assert page.text.endswith("after")


def test_many_scripts_of_json_ld():
    parse("<script type='application/ld+json'>{\"a\": [[[[[[1]]]]]]}</script>" * 50_000)


@pytest.mark.parametrize(
    "body",
    [
        b"\x00" * 100_000, b"a\x00b<p\x00>c\x00</p>", b"\xed\xa0\x80\xed\xbf\xbf", b"&#xD800;&#xDFFF;&#x110000;&#0;",
        b"<a href='/\xed\xa0\x80'>\xed\xa0\x80</a>", b"<meta name=description content='\xed\xa0\x80&#xD800;'>",
        b"<html lang='\xff\xed\xa0\x80'>", b"<time datetime='\xff'>", b"\xf4\x90\x80\x80" * 10_000, b"\xff" * 100_000,
        "\ufeff\ud800\udc00".encode("utf-16-le", "surrogatepass"), b"\xff\xfe" + b"\x00\xd8" * 50_000,
        b"<meta property='og:\xed\xa0\x80' content='\xed\xa0\x80'>", b"\x1b$B" * 50_000, b"\x1b$B\xff<p>x",
    ],
)  # fmt: skip
def test_bytes_that_are_no_text(body):
    page = parse(body)
    for key, value in page.open_graph.items():
        (key + value).encode()


def test_tags_are_in_memory_a_window_at_a_time(monkeypatch):
    html = '<p class="x">x</p><div class="y"></div>' * 30_000

    def measure() -> int:
        tracemalloc.start()
        text.read_text(html)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak = measure()
    monkeypatch.setattr(text, "_WINDOW", len(html))
    assert peak < measure() / 3


MARKUP = """
    <a href=/x>|</a>|<p>|</p>|<p hidden>|<h1>|</h1>|<nav>|</nav>|<main>|</main>|<div role=main>|<div>|</div>|<svg>
    </svg>|<script>|</script>|<!--|-->|<template>|</template>|<table>|<td>|</table>|<img alt=x>|<select>|<option>|</b>
    <title>|<time datetime=2024>|<dialog open>|</dialog>|<noscript>|</noscript>|text |&amp;|&#0;|<b style=display:none>
    </title>|<textarea>|<plaintext>|<frameset>|<math>|<annotation-xml>|¶|<meta name=date content=|<html lang=de>
    '|"|>|text|<script type=application/ld+json>{"@graph":[
"""


@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from(
            re.split(r"\n +|\|", MARKUP)
        ),
        max_size=40,
    ).map("".join)
)  # fmt: skip
def test_any_mixture_of_markup_is_a_page(html):
    page = parse_page(html.encode(), URL)
    assert len(page.anchors) == len(page.links)
    assert "\n\n" not in page.text
    assert set(page.main_text.split("\n")) <= set(page.text.split("\n"))
    for one in (page.text, page.title, *page.anchors, *page.headings):
        one.encode()
        assert one == one.strip()
        assert "  " not in one


DRAWING = "<svg>" + '<path d="M 0 0"/>' * 50 + "<g><circle r=1 /><line></g></svg>"


def test_drawings_do_not_make_a_page_deep() -> None:
    page = parse_page((DRAWING * 100 + "<p>the end</p>").encode(), "http://a.example/")
    assert not page.is_cut
    assert page.text.endswith("the end")
