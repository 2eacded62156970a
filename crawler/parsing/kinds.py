"""Which reader fits a response? By its Content-Type; where that says nothing, by how the body begins."""

from collections.abc import Sequence

from crawler.parsing.html import OBEY_ALL, parse_page
from crawler.parsing.page import Page
from crawler.parsing.pdf import parse_pdf
from crawler.parsing.plain import parse_plain
from crawler.robots.directives import Obedience

_UNTOLD = ("", "application/octet-stream", "binary/octet-stream")


def find_kind(body: bytes, content_type: str) -> str:
    """html, plain or pdf. Feeds and other XML are read as HTML: what they have of titles and links is found so."""
    media = content_type.partition(";")[0].strip().lower()
    if media == "application/pdf" or (media in _UNTOLD and body[:1024].lstrip().startswith(b"%PDF-")):
        return "pdf"
    return "plain" if media == "text/plain" else "html"


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
    return parse_page(body, url, content_type, x_robots_tag, obey, content_language=content_language)
