"""What does a page say? Its title, and where it leads.

Called for every page, so it is built for speed: lexbor parses, one selector finds everything in page order, and links
become canonical URLs without a Request being made of them. Nothing that a server sends may stop it.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import ada_url
from selectolax.lexbor import LexborHTMLParser, LexborNode
from w3lib.encoding import resolve_encoding

from crawler.errors import BadUrl
from crawler.urls import Url, canonicalise

MAX_LINKS = 10_000  # of one page; a page with more is a trap or a data file, and the rest is counted as dropped
MAX_TITLE_LENGTH = 1000
TOO_MANY_LINKS = "too_many_links"  # the drop reason

# Lexbor looks through all open elements at every tag: 20,000 nested ones take it seven seconds. Browsers stop at 512.
MAX_NESTING = 512
_FEW_TAGS = 2000  # so few cost at most a tenth of a second, however they are nested


@dataclass(slots=True)
class Page:
    title: str = ""
    links: list[Url] = field(default_factory=list)  # each once, in page order, without those not to be followed
    bad_links: Counter[str] = field(default_factory=Counter)  # by the reason for dropping them
    is_cut: bool = False  # nested beyond reason, and read only up to there


def parse_page(body: bytes, url: str, content_type: str = "") -> Page:
    """``url`` is the page's own, ``content_type`` the header's value. Never raises."""
    text = _to_unicode(body, content_type)
    kept = _cut_nesting(text)
    tree = LexborHTMLParser(kept)
    title = tree.css_first("title:not(svg title)")
    page = Page(_tidy_title(title) if title else "", is_cut=kept is not text)
    base, hrefs = _find_hrefs(tree.css(_INTERESTING))
    _add_links(page, hrefs, _join_base(url, base))
    return page


# --- Links -----------------------------------------------------------------------------------

_INTERESTING = "a[href],area[href],iframe[src],frame[src],base[href],meta[name]"
_HTML_SPACE = " \t\n\r\f"
_NOWHERE = re.compile(r"#|(?:javascript|mailto|tel|data|sms|about|blob):", re.IGNORECASE)


def _find_hrefs(nodes: Iterable[LexborNode]) -> tuple[str, list[str]]:
    """The base, and what is to be followed; each text once, because menus repeat."""
    base = ""
    hrefs: dict[str, None] = {}
    for node in nodes:
        attributes = node.attributes
        tag = node.tag
        if tag == "a" or tag == "area":
            rel = attributes.get("rel")
            if rel and "nofollow" in rel.lower().split():
                continue
            href = attributes["href"]
        elif tag == "base":
            base = base or attributes["href"] or ""
            continue
        elif tag == "meta":
            if _forbids_links(attributes):
                return "", []
            continue
        else:
            href = attributes["src"]
        href = href.strip(_HTML_SPACE) if href else ""
        if href and not _NOWHERE.match(href):
            hrefs[href] = None
    return base, list(hrefs)


def _forbids_links(meta: dict[str, str | None]) -> bool:
    if (meta["name"] or "").strip().lower() != "robots":
        return False
    words = re.split(r"[\s,]+", (meta.get("content") or "").lower())
    return "nofollow" in words or "none" in words


def _join_base(url: str, base: str) -> str:
    if not base:
        return url
    try:
        joined: str = ada_url.join_url(url, base)
    except ValueError:
        return url
    return joined if joined.startswith(("http://", "https://")) else url


def _add_links(page: Page, hrefs: list[str], base: str) -> None:
    links: dict[Url, None] = {}
    for position, href in enumerate(hrefs):
        if len(links) == MAX_LINKS:
            page.bad_links[TOO_MANY_LINKS] += len(hrefs) - position
            break
        try:
            links[canonicalise(href, base)] = None
        except BadUrl as error:
            page.bad_links[error.reason] += 1
    page.links = list(links)


def _tidy_title(title: LexborNode) -> str:
    return " ".join(title.text().split())[:MAX_TITLE_LENGTH]


# --- Nesting ---------------------------------------------------------------------------------

# As the HTML standard reads them: an end tag in a comment or in an attribute's value ends nothing.
_SPACE = rb"[ \t\n\f\r/]"
_VALUE = rb"""(?:"[^"]*+"|'[^']*+'|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+)"""
_ATTRIBUTE = rb"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+" + _VALUE + rb"?+)?+"
_TAG = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<[!?][^>]*+|<(/?)([A-Za-z][^ \t\n\f\r/>]*+)(?:"
    + _SPACE
    + rb"++|"
    + _ATTRIBUTE
    + rb")*+",
    re.DOTALL,
)
# Elements that hold nothing, or end where the next of their kind begins.
_DO_NOT_NEST = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"a p li dt dd option tr td th thead tbody tfoot".split()
)


def _cut_nesting(text: bytes) -> bytes:
    """The text up to where it is nested too deep. An end tag that does not fit counts for nothing, so that no less is
    counted than lexbor will hold open; markup that is merely untidy stays far below the limit."""
    if text.count(b"<") <= _FEW_TAGS:
        return text
    open_tags: list[bytes] = []
    for tag in _TAG.finditer(text):
        name = (tag[2] or b"").lower()
        if not name or name in _DO_NOT_NEST:
            continue
        if not tag[1]:
            open_tags.append(name)
            if len(open_tags) > MAX_NESTING:
                return text[: tag.start()]
        elif open_tags and open_tags[-1] == name:
            open_tags.pop()
    return text


# --- Characters ------------------------------------------------------------------------------

_HEADER_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_META_CHARSET = re.compile(rb"""<(?:meta|\?xml)\s[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_META_WITHIN = 1024  # where the HTML standard stops to look
# The encodings of the web, and no others: Python's codecs also hold some that take quadratic time, or that yield text
# which no parser accepts (utf-7, unicode_escape, punycode, …), and a page may name any of them.
_WEB_CODEC_NAMES = """
    utf-8 utf-16-le utf-16-be utf-16 big5hkscs big5 euc_jp cp932 iso2022_jp cp949 gb18030 cp866 koi8-r koi8-u
    mac-roman mac-cyrillic cp874 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258
    iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15
    iso8859-16
"""
_WEB_CODECS = frozenset(codecs.lookup(name).name for name in _WEB_CODEC_NAMES.split())


def _to_unicode(body: bytes, content_type: str) -> bytes:
    """As UTF-8. Order of the Encoding standard: byte-order mark, header, the page itself; then UTF-8. Lexbor replaces
    what is not valid UTF-8."""
    if body.startswith(codecs.BOM_UTF8):
        return body[len(codecs.BOM_UTF8) :]
    codec = None
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        codec = "utf-16"
    elif header := _HEADER_CHARSET.search(content_type):
        codec = _find_codec(header[1])
    if codec is None and (meta := _META_CHARSET.search(body, 0, _META_WITHIN)):
        codec = _find_codec(meta[1].decode("ascii", "replace"))
        if codec and codec.startswith("utf-16"):  # in a page whose tags can be read as ASCII
            codec = "utf-8"
    if codec is None or codec == "utf-8":
        return body
    return body.decode(codec, "replace").encode()


@lru_cache(maxsize=256)
def _find_codec(label: str) -> str | None:
    try:
        name = resolve_encoding(label)
    except ValueError:  # a null character
        return None
    return name if name in _WEB_CODECS else None
