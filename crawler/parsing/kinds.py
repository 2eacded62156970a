"""Which reader fits a response? By its Content-Type; where that says nothing, by how the body begins."""

import re
from collections.abc import Sequence

from crawler.parsing.html import OBEY_ALL, parse_page
from crawler.parsing.markup import find_root
from crawler.parsing.page import Page
from crawler.parsing.pdf import parse_pdf
from crawler.parsing.plain import parse_plain
from crawler.parsing.xml import parse_xml
from crawler.robots.directives import Obedience

_UNTOLD = ("", "application/octet-stream", "binary/octet-stream")
_XML_TYPE = re.compile(r"(?:text|application)/(?:xml|[a-z0-9.-]+\+xml)(?<!/xhtml\+xml)")
_MAY_BE_XML = re.compile(rb"[\s\x00\xef\xbb\xbf\xfe\xff]*+<\x00?(?:[?rRfF]|!\x00?-)")  # quickly no, for most pages
# In XML any element can be closed where it begins: <script src="x"/>. To a reader of HTML that is a script without end.
_CLOSED = re.compile(
    rb"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)[\s/])([A-Za-z][^\s/<>]*+)"
    rb"""((?:[^<>"'/]|"[^"<]*+"|'[^'<]*+'|/(?!>))*+)/>"""
)
_FEEDS = ("rss", "rdf", "feed")  # which browsers knew by these names, whatever the server called them


def find_kind(body: bytes, content_type: str) -> str:
    """html, xml, plain or pdf. A page in XHTML is html, whatever the server calls it."""
    media = _read_media(content_type)
    if media == "text/html" and not _MAY_BE_XML.match(body):
        return "html"
    if media == "application/pdf" or (media in _UNTOLD and body[:1024].lstrip().startswith(b"%PDF-")):
        return "pdf"
    if media == "text/plain":
        return "plain"
    root = find_root(body)
    is_xml = root in _FEEDS or (root != "html" and _XML_TYPE.fullmatch(media))
    return "xml" if is_xml else "html"


def parse(
    body: bytes,
    url: str,
    content_type: str = "",
    x_robots_tag: Sequence[str] = (),
    obey: Obedience = OBEY_ALL,
    *,
    content_language: str = "",
) -> Page:
    """Never raises. A PDF blocks for as long as its reading takes: ask ``find_kind`` first, and use a thread for it."""
    kind = find_kind(body, content_type)
    if kind == "pdf":
        return parse_pdf(body, x_robots_tag, obey, content_language=content_language)
    if kind == "plain":
        return parse_plain(body, content_type, x_robots_tag, obey, content_language=content_language)
    if kind == "html" and _read_media(content_type).endswith("xml"):
        body = _CLOSED.sub(rb"<\1\2></\1>", body)
    read = parse_xml if kind == "xml" else parse_page
    return read(body, url, content_type, x_robots_tag, obey, content_language=content_language)


def _read_media(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
