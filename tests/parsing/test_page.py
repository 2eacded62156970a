"""Are title and links of a page found, whatever a server sends, and fast? And what a page asks of crawlers?"""

import time
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler import parsing
from crawler.frontier.reasons import EXPLANATIONS, Drop
from crawler.parsing import MAX_LINKS, MAX_NESTING, MAX_TITLE_LENGTH, TOO_MANY_LINKS, Page, parse_page
from crawler.robots.directives import Directives, Obedience
from tests.parsing.patience import patience_seconds

URL = "https://example.com/a/page.html?x=1"


def links_of(html: str | bytes, url: str = URL, content_type: str = "") -> list[str]:
    body = html.encode() if isinstance(html, str) else html
    return [link.text for link in parse_page(body, url, content_type).links]


# --- Links -----------------------------------------------------------------------------------


def test_links_of_all_kinds_in_page_order():
    html = """
        <a href="/one">1</a><map><area href="two"></map><iframe src="//b.org/three?b=2&amp;a=1"></iframe>
        <p><a href='../four#part'>4</a><A HREF=https://c.org>5</A>
    """
    page = parse_page(html.encode(), URL)
    assert [(link.text, link.host) for link in page.links] == [
        ("https://example.com/one", "example.com"),
        ("https://example.com/a/two", "example.com"),
        ("https://b.org/three?a=1&b=2", "b.org"),
        ("https://example.com/four", "example.com"),
        ("https://c.org/", "c.org"),
    ]
    assert not page.bad_links
    assert not page.is_cut


def test_framesets():
    assert links_of("<frameset><frame src=left.html><frame src=/right></frameset>") == [
        "https://example.com/a/left.html",
        "https://example.com/right",
    ]


def test_a_link_counts_once():
    html = "<a href=/a>1</a><a href=/b>2</a><a href=/a>3</a><a href=' /a#x '>4</a><a href=https://EXAMPLE.com:443/a>"
    assert links_of(html) == ["https://example.com/a", "https://example.com/b"]


@pytest.mark.parametrize(
    "href",
    ["", " ", "#", "#top", "javascript:void(0)", " JavaScript:x()", "mailto:a@b.c", "tel:+1", "data:text/html,x"],
)
def test_what_leads_nowhere_is_not_counted(href):
    page = parse_page(f'<a href="{href}">x</a><a href>y</a><a>z</a><a href=/good>'.encode(), URL)
    assert [link.text for link in page.links] == ["https://example.com/good"]
    assert not page.bad_links


def test_bad_links_are_counted_by_reason():
    html = f"<a href='http://['><a href='http://a b/'><a href=ftp://f/><a href='java\tscript:x'><a href=/{'x' * 3000}>"
    page = parse_page(html.encode(), URL)
    assert page.links == []
    assert page.bad_links == {"bad_url": 2, "bad_scheme": 2, "too_long": 1}
    assert page.bad_links.keys() <= set(Drop)


@pytest.mark.parametrize("rel", ["nofollow", "noopener NoFollow", "nofollow\tx", "ugc", "Sponsored noopener"])
def test_links_not_to_be_followed_are_left_out(rel):
    assert links_of(f'<a href=/a rel="{rel}">x</a><a href=/b rel="nofollower">y</a><a href=/c rel>') == [
        "https://example.com/b",
        "https://example.com/c",
    ]


@pytest.mark.parametrize(
    ("meta", "follows"),
    [
        ('name="robots" content="nofollow"', False),
        ('name="ROBOTS" content="NoIndex, NoFollow"', False),
        ('content="noindex,nofollow" name=" robots "', False),
        ("name=robots content=none", False),
        ("name=robots content=noindex", True),
        ("name=robots content='max-snippet:-1, follow'", True),
        ("name=robots", True),
        ("name content=nofollow", True),
        ("name=description content=nofollow", True),
        ("name=otherbot content=nofollow", True),
    ],
)
def test_meta_robots(meta, follows):
    page = parse_page(f"<title>t</title><a href=/a>x</a><meta {meta}><a href=/b>y</a>".encode(), URL)
    assert len(page.links) == (2 if follows else 0)
    assert page.title == "t"
    assert page.bad_links == ({} if follows else {"nofollow": 2})


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("/other/", "https://example.com/other/x"),
        ("https://cdn.org/d/e", "https://cdn.org/d/x"),
        ("sub/", "https://example.com/a/sub/x"),
        ("https://user:secret@cdn.org/", "https://cdn.org/x"),
        ("", "https://example.com/a/x"),
        ("javascript:1", "https://example.com/a/x"),
        ("data:,x", "https://example.com/a/x"),
        ("http://[", "https://example.com/a/x"),
    ],
)
def test_base(base, expected):
    found = links_of(f"<a href=x>1</a><base href='{base}'><base href=/second/><a href=/y>2</a>")
    assert found[0] == expected
    assert len(found) == 2


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0; url=/moved", ["https://example.com/moved"]),
        ("0.5,URL = 'https://b.org/x y' ", ["https://b.org/x%20y"]),
        ('3;url="next.html"', ["https://example.com/a/next.html"]),
        ("0 /moved", ["https://example.com/moved"]),
        ("5", []),
        ("5; url=", []),
        ("0; url=javascript:x", []),
        ("x; url=/moved", []),
    ],
)
def test_a_page_that_sends_its_readers_on_leads_there(content, expected):
    escaped = content.replace("'", "&#39;")
    assert links_of(f"<meta http-equiv=Refresh content='{escaped}'>") == expected


def test_links_in_markup_that_is_not_content():
    html = "<!-- <a href=/a> --><script>'<a href=/b>'</script><textarea><a href=/c></textarea><noscript><a href=/d>"
    assert links_of(html) == ["https://example.com/d"]


def test_a_page_with_too_many_links_gives_the_first_ones():
    html = "".join(f"<a href=/{i}>" for i in range(100_000)).encode()
    page = parse_page(html, URL)
    assert len(page.links) == MAX_LINKS
    assert page.links[-1].text == f"https://example.com/{MAX_LINKS - 1}"
    assert page.bad_links == {TOO_MANY_LINKS: 90_000}
    assert Drop(TOO_MANY_LINKS) in EXPLANATIONS


def test_repeated_links_do_not_use_up_the_cap():
    html = "<a href=/menu>" * 50_000 + "<a href=/last>"
    assert links_of(html) == ["https://example.com/menu", "https://example.com/last"]


def test_relative_links_of_a_page_with_an_odd_url():
    assert links_of("<a href=x><a href=/y><a href='?z'>", "https://example.com") == [
        "https://example.com/x", "https://example.com/y", "https://example.com/?z",
    ]  # fmt: skip
    assert links_of("<a href=http://b/>", "http://h/" + "x" * 5000) == ["http://b/"]


# --- Title -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>A  page\n of &lt;mine&gt; </title>", "A page of <mine>"),
        ("<body><title>late</title>", "late"),
        ("<title>one</title><title>two</title>", "one"),
        ("<svg><title>icon</title></svg>", ""),
        ("<svg><g><title>icon</title></g></svg><title>page</title>", "page"),
        ("<title></title>", ""),
        ("<title>never closed", "never closed"),
        ("<title>&#xfeff;Donau&shy;dampf&#8203;schiff</title>", "Donaudampfschiff"),
        ("no markup", ""),
        ("", ""),
    ],
)
def test_title(html, title):
    assert parse_page(html.encode(), URL).title == title


def test_a_title_has_an_end():
    assert len(parse_page(b"<title>" + b"x" * 1_000_000, URL).title) == MAX_TITLE_LENGTH


# --- Characters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "content_type", "title"),
    [
        ("<title>Grüße</title>".encode(), "", "Grüße"),
        ("<title>Grüße</title>".encode("latin-1"), "text/html; charset=ISO-8859-1", "Grüße"),
        ("<title>мир</title>".encode("cp1251"), 'text/html;charset="windows-1251"', "мир"),
        ("<meta charset=windows-1251><title>мир</title>".encode("cp1251"), "text/html", "мир"),
        ("<meta http-equiv=content-type content='text/html; charset=koi8-r'><title>мир".encode("koi8-r"), "", "мир"),
        ("<?xml version='1.0' encoding='shift_jis'?><title>日本</title>".encode("cp932"), "", "日本"),
        ("<title>“x”</title>".encode("cp1252"), "text/html; charset=us-ascii", "“x”"),
        ("\ufeff<title>мир".encode(), "text/html; charset=latin-1", "мир"),
        ("\ufeff<title>мир".encode("utf-16-le"), "text/html; charset=utf-8", "мир"),
        ("\ufeff<title>мир".encode("utf-16-be"), "", "мир"),
        ("<title>мир".encode("utf-16-be"), "text/html; charset=utf-16be", "мир"),
        ("<meta charset=utf-16><title>мир".encode(), "", "мир"),
        ("<meta charset=latin-1><title>мир".encode(), "text/html; charset=utf-8", "мир"),
        ("<meta charset=windows-1251><title>мир".encode("cp1251"), "text/html; charset=nonsense", "мир"),
        (b"<title>a\xffb\xc3", "", "aÿbÃ"),
        (b"<title>a\xffb", "text/html; charset=utf-8", "a\ufffdb"),
        (b"<title>\x81\x30", "text/html; charset=gb18030", "\ufffd"),
        (b"<!--" + b"x" * 1100 + b"--><meta charset=cp1251><title>\xff.", "", "я."),
        (b"<!--" + b"x" * 1100 + "--><meta charset=cp1251><title>мир".encode("cp1251"), "", "мир"),
    ],
)
def test_charset(body, content_type, title):
    assert parse_page(body, URL, content_type).title == title


@pytest.mark.parametrize(
    "codec",
    ["utf-7", "unicode_escape", "raw_unicode_escape", "utf-32", "punycode", "idna", "undefined", "mbcs", "base64",
     "rot13", "zlib", "hz", "x" * 500, "..", "os.path"],
)  # fmt: skip
def test_codecs_that_are_not_of_the_web_are_ignored(codec):
    body = f"<meta charset='{codec}'><title>a\\ud800+2AA-</title><a href=/a>".encode()
    for content_type in ("", f"text/html; charset={codec}"):
        page = parse_page(body, URL, content_type)
        assert page.title == "a\\ud800+2AA-"
        assert len(page.links) == 1


def test_links_are_read_in_the_charset_of_the_page():
    assert links_of("<a href='/ü'>".encode("latin-1"), content_type="text/html; charset=latin-1") == [
        "https://example.com/%C3%BC"
    ]


# --- What a page asks ------------------------------------------------------------------------


def test_links_that_are_not_followed_are_counted_once():
    html = "<a href=/a rel=nofollow><a href=/a rel=ugc><a href=/b><a href=/b rel=nofollow><a href=# rel=ugc>"
    page = parse_page(html.encode(), URL)
    assert [link.text for link in page.links] == ["https://example.com/b"]
    assert page.bad_links == {"nofollow": 1}


@pytest.mark.parametrize(
    ("meta", "noindex", "nofollow"),
    [
        ("name=robots content=noindex", True, False),
        ("name=Orbweaver content=noindex", True, False),
        ("name=googlebot content=noindex", False, False),
        ("name=robots content='noindex nofollow'", True, True),
        ("name=robots content=none", True, True),
        ("name=robots content=all", False, False),
        ("name=robots content=index><meta name=orbweaver content=noindex", True, False),
        ("name=robots content='unavailable_after: 2010-06-25'", True, False),
        ("name=robots content='unavailable_after: 2910-06-25T15:00:00Z'", False, False),
        ("property=robots content=noindex", False, False),
    ],
)
def test_meta_robots_and_our_own_name(meta, noindex, nofollow):
    page = parse_page(f"<meta {meta}><a href=/a>x</a>".encode(), URL)
    assert page.noindex == noindex
    assert (not page.links) == nofollow


@pytest.mark.parametrize(
    ("values", "noindex", "nofollow"),
    [
        (["noindex"], True, False),
        (["NoFollow"], False, True),
        (["none"], True, True),
        (["noarchive", "nofollow"], False, True),
        (["googlebot: noindex, nofollow"], False, False),
        (["googlebot: noindex, orbweaver: nofollow"], False, True),
        (["Orbweaver: none"], True, True),
        (["*: noindex"], True, False),
        (["googlebot: none", "noindex"], True, False),
        (["max-snippet: -1, noindex"], True, False),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST"], True, False),
        (["unavailable_after: Friday, 25-Jun-10 15:00:00 GMT, nofollow"], True, True),
        (["unavailable_after: 25 Jun 2910 15:00:00 PST, nofollow"], False, True),
        (["unavailable_after: some day"], False, False),
        (["unavailable_after:"], False, False),
        (["otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST"], False, False),
        ([""], False, False),
    ],
)
def test_x_robots_tag(values, noindex, nofollow):
    page = parse_page(b"<a href=/a>x</a>", URL, "", values)
    assert page.noindex == noindex
    assert (not page.links) == nofollow


@pytest.mark.parametrize(
    ("head", "canonical"),
    [
        ("<link rel=canonical href=/other>", "https://example.com/other"),
        ("<link rel='Alternate CANONICAL' href=' https://b.org/x?utm_source=1#f '>", "https://b.org/x"),
        ("<base href=/d/><link rel=canonical href=other>", "https://example.com/d/other"),
        ("<link rel=canonical href=/a/page.html?x=1>", None),
        ("<link rel=canonical href=page.html?x=1#top>", None),
        ("<link rel=canonical href=/one><link rel=canonical href=/one>", "https://example.com/one"),
        ("<link rel=canonical href=/one><link rel=canonical href=/two>", None),
        ("<link rel=canonical href=''>", None),
        ("<link rel=canonical>", None),
        ("<link rel=canonical href='http://['>", None),
        ("<link rel=canonical href=javascript:x>", None),
        ("<link rel=stylesheet href=/other>", None),
        ("<body><p><link rel=canonical href=/other>", None),
    ],
)
def test_the_page_that_this_one_is_a_copy_of(head, canonical):
    page = parse_page(f"{head}<a href=/a>x</a>".encode(), URL)
    assert (page.canonical.text if page.canonical else None) == canonical
    assert not page.bad_links


def test_every_wish_can_be_refused():
    html = "<meta name=robots content=none><link rel=canonical href=/other><a href=/a rel=nofollow>x</a>"
    deaf = Obedience("orbweaver", False, False, False, False)
    page = parse_page(html.encode(), URL, "", ["none"], deaf)
    assert not page.noindex
    assert page.canonical is None
    assert [link.text for link in page.links] == ["https://example.com/a"]
    for heard in ("meta_robots", "x_robots_tag"):
        page = parse_page(html.encode(), URL, "", ["none"], replace(deaf, **{heard: True}))
        assert page.noindex
        assert not page.links


@given(
    text=st.text(max_size=60) | st.sampled_from(["unavailable_after", "noindex", ",", ":", "99999"]), agent=st.text()
)
@example(text="unavailable_after: 0001-01-01T00:00+23:59", agent="")
@example(text="unavailable_after: 31 Feb 99999 25:00:00 +9999", agent="")
def test_no_wish_is_too_odd(text, agent):
    wishes = Directives()
    wishes.add(text)
    wishes.add(f"unavailable_after: {text}")
    wishes.add_header(text, agent)


# --- Whatever a server sends -----------------------------------------------------------------


@given(
    body=st.binary()
    | st.lists(
        st.sampled_from(
            [b"<a href=", b"/x", b"'", b'"', b">", b"<title>", b"</", b"<!--", b"\x00", b"\xff", b"<base href=", b" ",
             b"<meta charset=", b"utf-16", b"<svg>", b"<template>", b"http://", b"[", b"%", b"<iframe src="]
        ),
        max_size=30,
    ).map(b"".join),
    url=st.sampled_from([URL, "http://h", "nonsense", ""]),
    content_type=st.text() | st.sampled_from(["text/html; charset=utf-16", "charset=\x00", "charset=big5"]),
)  # fmt: skip
@example(body=b"", url=URL, content_type="")
@example(body=b"\xff\xfe", url=URL, content_type="")
def test_garbage_gives_a_page(body, url, content_type):
    page = parse_page(body, url, content_type)
    assert isinstance(page, Page)
    page.title.encode()
    for link in page.links:
        link.text.encode()


@pytest.mark.parametrize(
    "markup",
    ["<div>", "<ul><li>", "<b>", "<b></x>", "<div><object></div></object>", "<div><!--</div>-->", '<div a="</div>">',
     '<div a=b="></div x=">', '<div a==></div a==">">', "</div<x><div>", "<div><!</div>", "<optgroup>",
     "<div><script></div></script>", "<svg>", "<a href=x>", "<table><td>", "<template>"],
)  # fmt: skip
def test_nesting_without_end_ends(markup):
    body = f"<title>t</title><a href=/a></a>{markup * 20_000}".encode()
    started = time.process_time()
    page = parse_page(body, URL)
    assert time.process_time() - started < patience_seconds()  # some of these take lexbor ten seconds
    assert page.title == "t"
    assert page.links[0].text == "https://example.com/a"


def test_a_long_page_that_is_not_deep_is_read_to_its_end():
    row = "<tr><td><a href=/a>x</a><br><img src=x><p>one<p>two<li>three<b>four</b>"
    body = f"<!doctype html><table>{row * 5000}</table><a href=/last>".encode()
    page = parse_page(body, URL)
    assert not page.is_cut
    assert page.links[-1].text == "https://example.com/last"


def test_what_is_nested_too_deep_is_read_all_the_same():
    page = parse_page(b"<a href=/a></a>" + b"<div>" * 3000 + b"deep<a href=/b>", URL)
    assert page.text == "deep"
    assert len(page.links) == 2
    page = parse_page(b"<div>" * (MAX_NESTING - 1) + b"<i></i>" * 3000 + b"<a href=/b>", URL)
    assert not page.is_cut
    assert len(page.links) == 1


def test_the_reasons_are_the_frontier_s():
    assert parsing.TOO_MANY_LINKS == Drop.TOO_MANY_LINKS
    assert parsing.NOFOLLOW == Drop.NOFOLLOW
