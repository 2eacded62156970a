"""Is the main text what the page is about, without what all pages of its site have?"""

import pytest
from selectolax.lexbor import LexborHTMLParser

from crawler.parsing import main_text, parse_page

URL = "https://example.com/a/"
SENTENCES = [
    "The orb weaver rebuilds its web every night, and eats the old one before it begins with the new one.",
    "Threads of the frame are stronger than steel of the same weight, while those of the spiral are sticky.",
    "Most of them live for one year only; their eggs, wrapped in silk, wait through the winter for the spring.",
]
STORY = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
MENU = "".join(f"<li><a href=/{name}>{name.title()} section</a></li>" for name in ("home", "news", "shop", "about"))


@pytest.mark.parametrize(
    "page",
    [
        "<nav><ul>{menu}</ul></nav><main><h1>Webs</h1>{story}</main><footer>© Somebody, all rights reserved</footer>",
        "<header>Our site<ul>{menu}</ul></header><article><header><h1>Webs</h1></header>{story}</article>"
        "<aside>Buy our book about spiders now, it is cheap and good and has many pages, all of them printed.</aside>",
        "<div role=navigation><div><ul>{menu}</ul></div></div><div role=main><div><h1>Webs</h1></div>{story}</div>"
        "<div role=contentinfo><div>Copyright</div> by us</div>",
        "<div><ul>{menu}</ul></div><div><h1>Webs</h1>{story}</div><div><a href=/a>imprint</a> | <a href=/b>terms</a>",
        "<table><tr><td><ul>{menu}</ul><td><h1>Webs</h1>{story}</table><ul>{menu}</ul><p>Page 1 of 2",
    ],
)
def test_menus_headers_and_footers_are_left_out(page):
    html = page.format(menu=MENU, story=STORY)
    expected = "\n".join(["Webs", *SENTENCES])
    found = parse_page(html.encode(), URL)
    assert found.main_text == expected
    assert main_text(LexborHTMLParser(html)) == expected
    assert len(found.text) > len(expected)


def test_links_within_sentences_stay():
    html = f"<main>{STORY}<p>Read <a href=/x>more about silk</a> or not; you may go on with the next page.</main>"
    assert "Read more about silk or not" in parse_page(html.encode(), URL).main_text


def test_short_lines_go_with_the_text_around_them():
    html = f"<ul>{MENU}</ul><p>Breadcrumb</p><ul>{MENU}</ul><p>{SENTENCES[0]}<p>For example:<pre>spin()</pre>{STORY}"
    lines = parse_page(html.encode(), URL).main_text.split("\n")
    assert lines[:3] == [SENTENCES[0], "For example:", "spin()"]
    assert "Breadcrumb" not in lines


@pytest.mark.parametrize(
    "html",
    ["<ul><li><a href=/x>only</a><li><a href=/y>links</a></ul>", "<p>short</p>", "<nav>all in</nav><nav>menus</nav>",
     "<main></main><p>beside</p>", ""],
)  # fmt: skip
def test_a_page_without_a_main_part_is_all_of_its_text(html):
    page = parse_page(html.encode(), URL)
    assert page.main_text == page.text


def test_a_teaser_that_calls_itself_main_does_not_hide_the_story():
    page = parse_page(f"<main><p>Loading…</p></main><div>{STORY * 3}</div>".encode(), URL)
    assert SENTENCES[2] in page.main_text
