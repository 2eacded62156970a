"""What does XML say that is no page? A feed what its entries say, and any other document its text and its links.

Called for what ``kinds`` knows to be XML. Both are written as HTML, piece by piece, and read by the readers of pages:
so links, anchors, text and headings are those of a page, and so are the limits. A piece cannot spoil the next one.
"""

import re
from collections.abc import Iterable, Sequence

from selectolax.lexbor import LexborHTMLParser

from crawler.parsing.boilerplate import choose_main
from crawler.parsing.charset import to_utf8
from crawler.parsing.dates import read_ms
from crawler.parsing.feeds import ROOTS, Contents, FeedReader, Piece, join
from crawler.parsing.html import MAX_TITLE_LENGTH, OBEY_ALL
from crawler.parsing.language import find_language
from crawler.parsing.links import NOFOLLOW, Found, add_links, find
from crawler.parsing.markup import Event, Kind, TooMuch, escape, find_root, read_attributes, read_events, unescape
from crawler.parsing.metadata import MAX_DESCRIPTION_LENGTH, MAX_KEYWORD_LENGTH, MAX_KEYWORDS
from crawler.parsing.nesting import limit_nesting
from crawler.parsing.page import Page
from crawler.parsing.text import read_text
from crawler.robots.directives import Obedience

_LEADING_ATTRIBUTES = ("href", "xlink:href", "htmlurl", "xmlurl")
_NAMING_ATTRIBUTES = ("title", "text")  # of outlines, as feed readers exchange them
_ADDRESS = re.compile(r"\s*+(https?://[^\s<>\"]++)\s*+", re.IGNORECASE)


def parse_xml(
    body: bytes,
    url: str,
    content_type: str = "",
    x_robots_tag: Sequence[str] = (),
    obey: Obedience = OBEY_ALL,
    *,
    content_language: str = "",
) -> Page:
    """Never raises."""
    utf8, charset = to_utf8(body, content_type)
    contents = _read(utf8, url)
    page = Page(contents.title[:MAX_TITLE_LENGTH].rstrip(), is_cut=contents.is_cut, charset=charset)
    page.keywords = list(dict.fromkeys(word[:MAX_KEYWORD_LENGTH] for word in contents.keywords))[:MAX_KEYWORDS]
    page.published_at = next(filter(None, map(read_ms, contents.published)), 0)
    page.modified_at = next(filter(None, map(read_ms, contents.modified)), 0)
    description = read_text(_read_piece(Piece(contents.description, url), 1, url, page, Found(), obey))
    page.description = " ".join(description.lines)[:MAX_DESCRIPTION_LENGTH].rstrip()
    found = Found()
    pieces = contents.pieces
    text = read_text("".join([_read_piece(piece, len(pieces), url, page, found, obey) for piece in pieces]))
    page.is_cut |= text.is_cut
    page.text, page.main_text, page.headings = str(text), choose_main(text), text.headings
    page.lang = find_language(contents.lang, content_language, text=page.main_text)
    for name, wish in contents.wishes:
        if obey.meta_robots and name in ("robots", obey.agent):
            found.wishes.add(wish)
    if obey.x_robots_tag:
        for value in x_robots_tag:
            found.wishes.add_header(value, obey.agent)
    page.noindex = found.wishes.noindex
    page.bad_links[NOFOLLOW] += len(found.refused.keys() - found.hrefs.keys())
    if found.wishes.nofollow:
        page.bad_links[NOFOLLOW] += len(found.hrefs)
    else:
        add_links(page, found.hrefs, url, text.anchors)
    page.bad_links = +page.bad_links  # without zeros
    return page


def _read(utf8: bytes, url: str) -> Contents:
    text = utf8.decode("utf-8", "replace").replace("\x00", "")
    if find_root(utf8) in ROOTS:
        contents = _read_with(FeedReader(url), text)
        if contents.title or len(contents.pieces) > 1:
            return contents
    return _read_with(_DocumentReader(url), text)  # also what is only called as a feed is


def _read_with(reader: "FeedReader | _DocumentReader", text: str) -> Contents:
    is_cut = False
    try:
        reader.read(read_events(text))
    except TooMuch:
        is_cut = True
    contents = reader.close()
    contents.is_cut |= is_cut
    return contents


def _read_piece(piece: Piece, pieces: int, url: str, page: Page, found: Found, obey: Obedience) -> str:
    """As lexbor writes it again. Its links are added to those that were found."""
    utf8 = piece.markup.encode("utf-8", "replace")
    kept, is_cut = limit_nesting(utf8, pieces=pieces)
    page.is_cut |= is_cut
    body = LexborHTMLParser(kept).body
    if body is None:
        return ""
    nodes = body.css("a[href],area[href],iframe[src]")
    if piece.base != url:
        for node in nodes:
            name = "src" if node.tag == "iframe" else "href"
            if (href := node.attributes[name]) and not href.startswith("#"):
                node.attrs[name] = join(piece.base, href)
    more = find(nodes, obey)
    found.hrefs |= more.hrefs
    found.refused |= more.refused
    return body.html or ""


class _DocumentReader:
    """Any XML, as blocks; but what begins in the middle of a text is a part of its line."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._contents = Contents()
        self._written: list[str] = []
        self._ends: list[str] = []  # of open elements
        self._is_in_line = False
        self._title: list[str] = []
        self._title_depth = 0  # of the element that is the title, while it is open

    def read(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.kind is Kind.START:
                self._start(event)
            elif event.kind is Kind.END:
                self._end()
            else:
                self._add_text(event.text if event.kind is Kind.CDATA else unescape(event.text))

    def close(self) -> Contents:
        self._contents.title = " ".join("".join(self._title).split())
        self._contents.pieces = [Piece("".join(self._written), self._url)]
        return self._contents

    def _start(self, event: Event) -> None:
        start, end = ("", "") if self._is_in_line else ("<div>", "</div>")
        attributes = read_attributes(event.attributes) if event.attributes else {}
        if not self._ends:
            self._contents.lang = attributes.get("xml:lang") or attributes.get("lang", "")
        hrefs = [attributes[name] for name in _LEADING_ATTRIBUTES if name in attributes]
        if hrefs:
            start += "".join(f'<a href="{escape(href)}"></a>' for href in hrefs[1:]) + f'<a href="{escape(hrefs[0])}">'
            start += escape(next((attributes[name] for name in _NAMING_ATTRIBUTES if name in attributes), ""))
            end = f"</a>{end}"
        self._written.append(start)
        self._ends.append(end)
        if not self._title and not self._title_depth and event.text.rpartition(":")[2].lower() == "title":
            self._title_depth = len(self._ends)

    def _end(self) -> None:
        if len(self._ends) == self._title_depth:
            self._title_depth = 0
        end = self._ends.pop()
        self._written.append(end)
        self._is_in_line = self._is_in_line and not end.endswith("</div>")

    def _add_text(self, text: str) -> None:
        if not text.isspace():
            self._is_in_line = True
            if address := _ADDRESS.fullmatch(text):
                self._written.append(f'<a href="{escape(address[1])}"></a>')
        self._written.append(escape(text))
        if self._title_depth:
            self._title.append(text)
