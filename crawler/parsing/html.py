"""What does a page say? Its title and text, where it leads, and what it asks of crawlers.

Called for every page, so it is built for speed: lexbor parses, one selector finds links and metadata in page order, and
one pass over what lexbor writes reads the text. Nothing that a server sends may stop it.
"""

from collections.abc import Sequence

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawler.parsing.boilerplate import choose_main
from crawler.parsing.charset import to_utf8
from crawler.parsing.dates import find_dates
from crawler.parsing.json_ld import read_json_ld
from crawler.parsing.language import find_language
from crawler.parsing.links import INTERESTING, NOFOLLOW, add_links, find, find_other, join_base
from crawler.parsing.metadata import add_metadata
from crawler.parsing.nesting import limit_nesting
from crawler.parsing.page import Page
from crawler.parsing.text import read_text, strip_invisible
from crawler.robots.directives import Obedience

MAX_TITLE_LENGTH = 1000
OBEY_ALL = Obedience()


def parse_page(
    body: bytes,
    url: str,
    content_type: str = "",
    x_robots_tag: Sequence[str] = (),
    obey: Obedience = OBEY_ALL,
    *,
    content_language: str = "",
    with_text: bool = True,
) -> Page:
    """``url`` is the page's own, the others are values of its headers. Never raises.

    Without text there are no anchors, headings, metadata, dates and language either, at a third of the cost.
    """
    utf8, charset = to_utf8(body, content_type)
    kept, is_cut = limit_nesting(utf8)
    tree = LexborHTMLParser(kept)
    title = tree.css_first("title:not(svg title)")
    page = Page(_tidy_title(title) if title else "", is_cut=is_cut, charset=charset)
    found = find(tree.css(INTERESTING), obey)
    if x_robots_tag and obey.x_robots_tag:
        for value in x_robots_tag:
            found.wishes.add_header(value, obey.agent)
    page.noindex = found.wishes.noindex
    base = join_base(url, found.base)
    if found.canonicals:
        page.canonical = find_other(found.canonicals, base, url)
    anchors: dict[str, str] = {}
    if with_text:
        text = read_text(tree.body.html or "") if tree.body else read_text("")
        anchors = text.anchors
        page.is_cut |= text.is_cut
        page.text, page.main_text, page.headings = str(text), choose_main(text), text.headings
        metas = add_metadata(page, found.metas)
        page.json_ld = read_json_ld(found.scripts)
        page.published_at, page.modified_at = find_dates(page.json_ld, metas, text.times)
        lang = _read_lang(tree.root) if tree.root else ""
        page.lang = find_language(lang, content_language, metas.get("content-language", ""), text=page.main_text)
    if found.refused:
        page.bad_links[NOFOLLOW] += len(found.refused.keys() - found.hrefs.keys())
    if found.wishes.nofollow:
        page.bad_links[NOFOLLOW] += len(found.hrefs)
    else:
        add_links(page, found.hrefs, base, anchors)
    return page


def _tidy_title(title: LexborNode) -> str:
    return " ".join(strip_invisible(title.text()).split())[:MAX_TITLE_LENGTH]


def _read_lang(root: LexborNode) -> str:
    attributes = root.attributes
    return attributes.get("lang") or attributes.get("xml:lang") or ""
