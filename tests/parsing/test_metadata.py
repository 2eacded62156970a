"""Is what a page says about itself found: description, keywords, OpenGraph, JSON-LD and dates? And is nonsense not?"""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.parsing import Page, parse_page
from crawler.parsing.dates import read_ms
from crawler.parsing.json_ld import MAX_DEPTH, MAX_OBJECTS
from crawler.parsing.metadata import MAX_KEYWORDS, MAX_OPEN_GRAPH

URL = "https://example.com/"
DAY = int(datetime(2024, 5, 6, tzinfo=UTC).timestamp() * 1000)


def parse(html: str) -> Page:
    return parse_page(html.encode(), URL)


# --- Meta elements ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "description"),
    [
        ("<meta name=description content='  All\n about &amp; more '>", "All about & more"),
        ("<meta name=Description content=one><meta name=description content=two>", "one"),
        ("<meta property=og:description content=og><meta name=description content=own>", "own"),
        ("<meta property=og:description content=og><meta name=description content=' '>", "og"),
        ("<meta name=twitter:description content=tw>", "tw"),
        ("<meta name=description content='&#xfeff;Silben&shy;trennung'>", "Silbentrennung"),
        ("<meta name=description>", ""),
        ("<meta name=robots content=noindex>", ""),
    ],
)
def test_description(html, description):
    assert parse(html).description == description


@pytest.mark.parametrize(
    ("content", "keywords"),
    [
        ("spiders, webs,silk , , spiders", ["spiders", "webs", "silk"]),
        ("one two; three", ["one two", "three"]),
        ("蜘蛛、網，絲", ["蜘蛛", "網", "絲"]),
        ("", []),
        (",;,", []),
    ],
)
def test_keywords(content, keywords):
    assert parse(f"<meta name=keywords content='{content}'>").keywords == keywords


def test_open_graph_is_kept_with_its_first_values():
    page = parse(
        "<meta property=og:title content=' A  title '><meta property='OG:image' content=/1.png>"
        "<meta property=og:image content=/2.png><meta name=twitter:card content=summary>"
        "<meta property=article:section content=News><meta property=other content=x><meta property=og:url content=''>"
    )
    assert page.open_graph == {
        "og:title": "A title",
        "og:image": "/1.png",
        "twitter:card": "summary",
        "article:section": "News",
    }


def test_metadata_has_an_end():
    page = parse(
        "".join(f"<meta property=og:{'k' * 500}{i} content={'v' * 5000}>" for i in range(1000))
        + f"<meta name=description content='{'d ' * 100_000}'>"
    )
    assert len(page.open_graph) <= MAX_OPEN_GRAPH
    assert all(len(key) <= 100 and len(value) <= 2000 for key, value in page.open_graph.items())
    page = parse(f"<meta name=description content='{'d ' * 100_000}'><meta name=keywords content='{'a,b,' * 100_000}'>")
    assert 1000 < len(page.description) <= 2000
    assert page.keywords == ["a", "b"]
    words = ",".join(f"w{i}" for i in range(1000))
    assert len(parse(f"<meta name=keywords content={words}>").keywords) == MAX_KEYWORDS


# --- JSON-LD ---------------------------------------------------------------------------------


def with_json(*texts: str) -> str:
    return "".join(f"<script type='application/ld+json'>{text}</script>" for text in texts)


def test_json_ld_of_all_scripts_lists_and_graphs():
    page = parse(
        with_json(
            '{"@type": "Article", "name": "one", "n": [1, 2.5, null, true]}',
            '[{"name": "two"}, [{"name": "three"}], 4, "five"]',
            '{"@context": "x", "@graph": [{"name": "six"}]}',
        )
        + '<script type=\'Application/LD+JSON\'>{"name": "seven"}</script><script>{"name": "no"}</script>'
    )
    assert [one["name"] for one in page.json_ld] == ["one", "two", "three", "six", "seven"]
    assert page.json_ld[0]["n"] == [1, 2.5, None, True]


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "nonsense", '{"a": }', '{"a": "\\ud800"}', "{'a': 1}", "[" * 100_000,
        '{"a":' * 5000 + "1" + "}" * 5000,
        "[" * (MAX_DEPTH + 2) + '{"a": 1}' + "]" * (MAX_DEPTH + 2), "1e999999", "-", "9" * 100_000, '"text"', "null",
        json.dumps({"a": "x" * 300_000}), "\x00", "&lt;", "<!-- -->",
    ],
)  # fmt: skip
def test_json_ld_that_is_broken_or_beyond_reason_is_left_out(text):
    page = parse(with_json('{"name": "before"}') + with_json(text) + "<title>t</title><p>text</p>")
    assert page.json_ld == [{"name": "before"}]
    assert (page.title, page.text) == ("t", "text")


def test_one_broken_script_does_not_hide_the_next():
    assert parse(with_json("{", '{"name": "good"}')).json_ld == [{"name": "good"}]


@pytest.mark.parametrize(
    "text",
    ['{"name": "two\nlines"}', '<!-- {"name": "two lines"} -->', '//<![CDATA[\n{"name": "two\tlines"}\n//]]>',
     '/*<![CDATA[*/ {"name": "two lines"} /*]]>*/', '  {"name": "two lines"}  '],
)  # fmt: skip
def test_json_ld_as_people_write_it(text):
    assert parse(with_json(text)).json_ld == [{"name": "two lines"}]


def test_json_ld_has_an_end():
    page = parse(with_json(json.dumps([{"i": i} for i in range(1000)])))
    assert [one["i"] for one in page.json_ld] == list(range(MAX_OBJECTS))
    page = parse(with_json(*[json.dumps({"a": "x" * 50_000})] * 100))
    assert len(page.json_ld) == 3


# --- Dates -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "html",
    [
        with_json('{"@type": "Article", "datePublished": "2024-05-06"}'),
        with_json('{"@graph": [{"name": "x"}, {"datePublished": "2024-05-06T02:00:00+02:00"}]}'),
        with_json('{"datePublished": {"@type": "Date", "@value": "2024-05-06"}}'),
        with_json('{"datePublished": ["2024-05-06", "2023-01-01"]}'),
        "<meta property=article:published_time content='2024-05-06T00:00:00Z'>",
        "<meta name=date content='2024-05-06'>",
        "<meta name=DC.date.issued content=20240506>",
        "<meta name=pubdate content='Mon, 06 May 2024 00:00:00 GMT'>",
        "<meta name=date content='May 6, 2024'>",
        "<meta name=date content='Monday, May 6th, 2024'>",
        "<meta name=date content='06.05.2024'>",
        with_json('\ufeff{"datePublished": "2024-05-06",};'),
        with_json('{"@graph": {"datePublished": "2024-05-06"}}'),
        '<script type=\'application/ld+json; charset=utf-8\'>{"datePublished": "2024-05-06"}</script>',
        "<meta name=date content='6 May 2024'>",
        "<meta name=date content='2024-05-06 00:00:00 UTC'>",
        "<meta name=date content='2024-05-06 00:00:00 +0000 UTC'>",
        "<meta name=date content='2024/05/06 00:00'>",
        "<meta name=date content='2024/5/6'>",
        "<meta name=date content='2024.05.06 00:00:00'>",
        with_json('{"datePublished": "2024-05-06T02:00:00+02:00[Europe/Berlin]"}'),
        "<meta name=citation_publication_date content='2024/05/06'>",
        "<meta itemprop=datePublished content=2024-05-06>",
        "<article><p>By us, <time datetime=2024-05-06>yesterday</time></p><time datetime=2020-01-01>x</time></article>",
        "<main><time datetime=nonsense>x</time><time datetime='2024-05-06 00:00'>y</time></main>",
        with_json('{"datePublished": "soon"}') + "<meta name=date content=2024-05-06>",
        with_json('{"datePublished": 5}') + "<meta name=date content=2024-05-06>",
    ],
)
def test_when_a_page_was_published(html):
    page = parse(html)
    assert (page.published_at, page.modified_at) == (DAY, 0)


@pytest.mark.parametrize(
    "html",
    [
        with_json('{"dateModified": "2024-05-06"}'),
        "<meta property=article:modified_time content=2024-05-06>",
        "<meta property=og:updated_time content=2024-05-06T00:00>",
        "<meta http-equiv=last-modified content='Mon, 06 May 2024 00:00:00 GMT'>",
    ],
)
def test_when_a_page_was_changed(html):
    page = parse(html)
    assert (page.published_at, page.modified_at) == (0, DAY)


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "99999-01-01", "2024-13-01", "2024-02-30", "0000-01-01", "-1", "9999-12-31", "1969-12-31",
     "1066-10-14", "Foo 6, 2024", "20241399", "2024-05-06T25:00", "2024/05/", "2024 UTC UTC",
     "2024-05-06 UTC [x", "٢٠٢٤-٠٥-٠٦", "1" * 5000, "\x00", "9" * 18,
     f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d}"],
)  # fmt: skip
def test_what_is_no_date_of_a_page_counts_as_not_stated(text):
    assert read_ms(text) == 0
    text = text.replace("\x00", "")
    html = f"<meta name=date content='{text}'><article><time datetime='{text}'>x</time></article>"
    page = parse(html + with_json(json.dumps({"datePublished": text, "dateModified": [text, {}]})))
    assert (page.published_at, page.modified_at) == (0, 0)


@given(st.text() | st.from_regex(r"\d{4}[-/.]?\d{1,2}[-/.]?\d{1,2}.{0,12}") | st.from_regex(r"[A-Z][a-z]{2} \d+, \d+"))
@example("Mon, 06 May 99999 00:00:00 +9999")
@example("2024-05-06T00:00:00+99:99")
def test_no_date_is_too_odd(text):
    assert 0 <= read_ms(text) < 2**63
