"""Is the tree of a page neither deep nor larger than its markup, and is nothing of an honest page lost for that?"""

import random
import tracemalloc

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawler.parsing import MAX_NESTING, nesting, parse_page, parse_xml
from crawler.parsing.nesting import MAX_TAGS, limit_nesting

URL = "http://a.example/"
MOST_LEVELS = 5 * MAX_NESTING + 5  # a table counts once, and is five: with its body, rows, cells, and what is in them


def measure(body: bytes) -> tuple[int, int]:
    """How deep the tree is, and how many nodes it has."""
    node: LexborNode | None = LexborHTMLParser(body).root
    depth = deepest = nodes = 1
    while node is not None:
        nodes += 1
        deepest = max(deepest, depth)
        if node.child is not None:
            node, depth = node.child, depth + 1
            continue
        while node is not None and node.next is None:
            node, depth = node.parent, depth - 1
        node = node.next if node is not None and depth > 0 else None
    return deepest, nodes


UNTIDY = [
    "<tr><td><font size=2>{0}</td></tr>", "<tr><td><center>{0}</td></tr>", "<form><tr><td>{0}</td></tr>",
    "<div><span>{0}</div>", "<p><b><i>{0}</b></i></p>", "<li><b>{0}", "<li><span>{0}</li>", "<dt><b>{0}<dd>x",
    "<h3><font color=red>{0}</h3>", "<div><ul><li>{0}</div>", "<div>{0}", "<font>{0}<br>",
    "<script>write('<div><span>')</script>{0}<br>", "<ruby>a<rp>(<rt>b<rp>)</ruby>{0}<br>",
    "<iframe src=x><p></iframe>{0}",
    "<div><span>{0}<svg><g><path></svg></div>", "<li>{0}<dl><dd>x</dl><p>y", "<a name=x>{0}",
]  # fmt: skip


@pytest.mark.parametrize("row", UNTIDY)
def test_a_page_that_is_merely_untidy_is_read_to_its_end(row):
    rows = "".join(row.format(f"row {i} <a href=/{i}>link {i}</a>") for i in range(1000))
    page = parse_page(f"<table>{rows}</table>".encode() if row.startswith(("<tr", "<form")) else rows.encode(), URL)
    assert not page.is_cut
    assert [link.text for link in page.links if link.text[-1].isdigit()] == [f"{URL}{i}" for i in range(1000)]
    assert page.anchors[-1] == "link 999"
    assert "row 999" in page.text


FORMATTING = {
    "many fonts": "<p>" + "".join(f"<font color={i}>" for i in range(500)) + "</p>" + "<p>x" * 20_000,
    "few fonts": "<p>" + "".join(f"<font color={i}>" for i in range(20)) + "</p>" + "<p>x" * 400_000,
    "fonts again and again": "".join(f"<p><b class={i}>x</p>" for i in range(20_000)),
    "fonts in cells": "".join(f"<b id={i}>" for i in range(400)) + f"<table>{'<td>x' * 5000}</table>{'<p>y' * 5000}",
    "ends that are none": "".join(f"<b id={i}><table><td></b></table>" for i in range(400)) + "<p>y" * 5000,
    "a long font": f"<p><b class={'x' * 200_000}></p>" + "<p>x" * 20_000,
    "a long link": f"<p><a class={'x' * 200_000}></p>" + "<p>x" * 20_000,
    "a long link in front of cells": f"<p><a class={'x' * 200_000}><table><td></a></table></p>" + "<p>x" * 20_000,
    "long links": f"<p><a class={'x' * 3000}></p>" + "<p>x" * 100_000,
    "few tags, and long": f"<p><b class={'x' * 2_000_000}></p>" + "<p>x" * 500,
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATTING)
def test_formatting_that_is_left_open_does_not_multiply(name):
    """The first of these made a gigabyte of four thousand paragraphs."""
    body = FORMATTING[name].encode()
    kept, _ = limit_nesting(body)
    written = LexborHTMLParser(kept).html or ""
    assert len(written) < 150_000_000
    assert measure(kept)[1] < 5 * body.count(b"<") + 1000


def test_the_entries_of_a_feed_do_not_multiply_it_together():
    opened = "".join(f"<font color={i}>" for i in range(200))
    entry = f"<item><description><![CDATA[<p>{opened}</p>{'<p>x' * 200}]]></description></item>"
    kept, _ = limit_nesting(f"<p>{opened}</p>{'<p>x' * 200}".encode(), pieces=500)
    assert measure(kept)[1] < 2000
    assert parse_xml(f"<rss><channel>{entry * 500}</channel></rss>".encode(), URL).is_cut
    tale = "<p>A <b>bold <i>and</i> old</b> <a href=/x>tale</a>"
    entry = f"<item><description><![CDATA[{tale * 20}]]></description></item>"
    page = parse_xml(f"<rss><channel>{entry * 2000}</channel></rss>".encode(), URL)
    assert not page.is_cut
    assert page.text.count("A bold and old tale") == 2000 * 20


def test_a_page_whose_formatting_costs_too_much_is_cut_and_says_so():
    page = parse_page(f"<p>before<p><a class={'x' * 3000}></p>{'<p>x' * 100_000}".encode(), URL)
    assert page.is_cut
    assert page.text.startswith("before\nx\nx")


@pytest.mark.parametrize(
    ("limit", "start", "flood"),
    [
        ("MAX_TAGS", "", "<p>x"), ("MAX_TAGS", "", "<div>x</div>"), ("MAX_TAGS", "", "x<br>"),
        ("MAX_TAGS", "", "<!--x-->"), ("MAX_ATTRIBUTES", "", "<p a b c d e f g h>x"),
        ("MAX_ATTRIBUTES", "", "<p a=1 b=2>x"), ("MAX_ATTRIBUTES", "<p", " a"),
    ],
)  # fmt: skip
def test_a_flood_of_tags_or_attributes_is_cut_and_says_so(monkeypatch, limit, start, flood):
    monkeypatch.setattr(nesting, limit, 1000)
    body = f"<title>News</title><h1>One</h1>{start}{flood * (5_000_000 // len(flood))}>".encode()
    tracemalloc.start()  # which sees what lexbor takes, too
    page = parse_page(body, URL)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * len(body)
    assert page.is_cut
    assert (page.title, page.headings) == ("News", ["One"])


def test_as_many_tags_as_the_largest_pages_have_are_not_cut():
    body = b"<i>x</i>" * (MAX_TAGS // 2)
    for end, most, should_be_cut in ((b"< 3", b"< 3", False), (b"<p>after", b"", True)):
        kept, is_cut = limit_nesting(body + end)
        assert is_cut == should_be_cut
        assert kept.removeprefix(body) == most


DEEP = """
    <svg><g>|<svg><a>|<svg><div><x/>|<svg><foreignObject><x/>|<svg></p><x/>|<svg/><x/>|<svg></svg><path/>
    <svg><svg></svg></svg><path/>|<path/>|<svg><path/></svg><b>|<math><mi><x/>|<svg>|<svg><![CDATA[></svg>]]>
    <svg><desc><![CDATA[></desc></svg>]]>|<svg><font></font>|<svg><font x="color"></font>|<b><svg><font></font>|<li><dt>
    <title></title><svg><title><b></title>|<li><dl></dl><dt>|<table><tr><td>|<table><caption>|<template>|<noscript>
    <div><object></div></object>|<frameset>|<frameset><script><frameset></script>|</ <x y="><div>|<ruby><rt>|<x a='>'>
    <select><div></select>|<p><object>|<math><annotation-xml encoding=text/html><svg></annotation-xml></math>
    <option><optgroup>
"""


@pytest.mark.parametrize("markup", [one.strip() for one in DEEP.replace("\n", "|").split("|") if one.strip()])
def test_no_trick_hides_depth(markup):
    kept, _ = limit_nesting(f"{markup * 5000}<p>after".encode())
    assert measure(kept)[0] <= MOST_LEVELS
    assert measure(limit_nesting(markup.encode() + b"<div>" * 5000)[0])[0] <= MOST_LEVELS


TAGS = """
    div span b font font_color=1 i a_href=/x p table tr td th caption svg math title desc foreignObject mi
    annotation-xml select option template object marquee button form h1 script style textarea iframe noscript
    frameset ul li dl dd rt nobr pre mglyph img br body g path em code x-y
"""


def test_no_mixture_of_tags_makes_a_deep_or_a_large_tree():
    rng = random.Random(1)
    tags = [tag.replace("_", " ") for tag in TAGS.split()]
    for _ in range(300):
        motif = "".join(
            rng.choice(
                ["<{0}>", "<{0}>", "<{0}>", "<{0}/>", "</{1}>", "<b id=%d>", "<![CDATA[", "-->", "<!--", "x"]
            ).format(tag, tag.split()[0])
            for tag in rng.choices(tags, k=rng.randint(1, 8))
        )
        body = "".join(motif.replace("%d", str(i)) for i in range(1500)).encode()
        kept, _ = limit_nesting(body)
        depth, nodes = measure(kept)
        assert depth <= MOST_LEVELS, motif
        assert nodes <= 12 * body.count(b"<") + 4000, motif


def test_what_is_left_out_makes_no_tag_of_what_stands_beside_it():
    page = parse_page(b"<div>" * 3000 + b"<<div>script>shown</script><p>after", URL)
    assert page.text.endswith("shown\nafter")


def test_words_stay_whole_where_formatting_is_left_out():
    opened = "".join(f"<b class=x{i}>" for i in range(10))
    page = parse_page(f"{opened}{'<i>wo</i>rd ' * 2000}".encode(), URL)
    assert page.text == ("word " * 2000).strip()
