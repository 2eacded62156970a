"""What does a plain text say? All of it; its first line serves as the title."""

from collections.abc import Sequence

from crawler.parsing.charset import to_utf8
from crawler.parsing.language import find_language
from crawler.parsing.page import Page
from crawler.parsing.text import MAX_TEXT_LENGTH
from crawler.robots.directives import Directives, Obedience

MAX_FIRST_LINE_LENGTH = 200


def parse_plain(
    body: bytes,
    content_type: str = "",
    x_robots_tag: Sequence[str] = (),
    obey: Obedience | None = None,
    *,
    content_language: str = "",
) -> Page:
    """Never raises. There are no links: browsers show none either."""
    utf8, charset = to_utf8(body, content_type)
    page = build_text_page(utf8.decode("utf-8", "replace"), content_language)
    page.charset = charset
    page.noindex = is_noindex(x_robots_tag, obey or Obedience())
    return page


def build_text_page(text: str, content_language: str = "") -> Page:
    """Lines stay lines, without the spaces in which a plain text is laid out."""
    is_cut = len(text) > MAX_TEXT_LENGTH
    lines = (" ".join(line.split()) for line in text[:MAX_TEXT_LENGTH].replace("\x00", " ").splitlines())
    kept = "\n".join(filter(None, lines))
    title = kept[:MAX_FIRST_LINE_LENGTH].partition("\n")[0]
    lang = find_language(content_language, text=kept)
    return Page(title=title, text=kept, main_text=kept, lang=lang, is_cut=is_cut)


def is_noindex(x_robots_tag: Sequence[str], obey: Obedience) -> bool:
    wishes = Directives()
    if obey.x_robots_tag:
        for value in x_robots_tag:
            wishes.add_header(value, obey.agent)
    return wishes.noindex
