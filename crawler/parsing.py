"""What does a page say? Its title, where it leads, and what it asks of crawlers.

Called for every page, so it is built for speed: lexbor parses, one selector finds everything in page order, and links
become canonical URLs without a Request being made of them. Nothing that a server sends may stop it.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import ada_url
from selectolax.lexbor import LexborHTMLParser, LexborNode
from w3lib.encoding import resolve_encoding

from crawler.errors import BadUrl
from crawler.robots.directives import Directives, Obedience
from crawler.urls import Url, canonicalise

MAX_LINKS = 10_000  # of one page; a page with more is a trap or a data file, and the rest is counted as dropped
MAX_TITLE_LENGTH = 1000
TOO_MANY_LINKS = "too_many_links"  # the drop reasons
NOFOLLOW = "nofollow"
OBEY_ALL = Obedience()

# Lexbor looks through all open elements at every tag: 20,000 nested ones take it seven seconds. Browsers stop at 512.
MAX_NESTING = 512
_FEW_TAGS = 2000  # so few cost at most a tenth of a second, however they are nested


@dataclass(slots=True)
class Page:
    title: str = ""
    links: list[Url] = field(default_factory=list)  # each once, in page order, without those not to be followed
    bad_links: Counter[str] = field(default_factory=Counter)  # by the reason for dropping them
    is_cut: bool = False  # nested beyond reason, and read only up to there
    noindex: bool = False  # it asks not to be kept
    canonical: Url | None = None  # it says that it is a copy of this other page


def parse_page(
    body: bytes, url: str, content_type: str = "", x_robots_tag: Sequence[str] = (), obey: Obedience = OBEY_ALL
) -> Page:
    """``url`` is the page's own, ``content_type`` and ``x_robots_tag`` are values of its headers. Never raises."""
    text = _to_unicode(body, content_type)
    kept = _cut_nesting(text)
    tree = LexborHTMLParser(kept)
    title = tree.css_first("title:not(svg title)")
    page = Page(_tidy_title(title) if title else "", is_cut=kept is not text)
    found = _find(tree.css(_INTERESTING), obey)
    if x_robots_tag and obey.x_robots_tag:
        for value in x_robots_tag:
            found.wishes.add_header(value, obey.agent)
    page.noindex = found.wishes.noindex
    base = _join_base(url, found.base)
    if found.canonicals:
        page.canonical = _find_other(found.canonicals, base, url)
    hrefs = list(found.hrefs)
    if found.refused:
        page.bad_links[NOFOLLOW] += len(found.refused.keys() - found.hrefs.keys())
    if found.wishes.nofollow:
        page.bad_links[NOFOLLOW] += len(hrefs)
    else:
        _add_links(page, hrefs, base)
    return page


# --- Links -----------------------------------------------------------------------------------

_INTERESTING = "a[href],area[href],iframe[src],frame[src],base[href],meta[name],head>link[rel~=canonical i][href]"
_HTML_SPACE = " \t\n\r\f"
_NOWHERE = re.compile(r"#|(?:javascript|mailto|tel|data|sms|about|blob):", re.IGNORECASE)
_NOT_VOUCHED_FOR = frozenset({"nofollow", "ugc", "sponsored"})


@dataclass(slots=True)
class _Found:
    base: str = ""
    hrefs: dict[str, None] = field(default_factory=dict)  # each text once, because menus repeat
    refused: dict[str, None] = field(default_factory=dict)
    canonicals: list[str] = field(default_factory=list)
    wishes: Directives = field(default_factory=Directives)


def _find(nodes: Iterable[LexborNode], obey: Obedience) -> _Found:
    found = _Found()
    hrefs = found.hrefs
    follows_vouched = obey.nofollow
    for node in nodes:
        attributes = node.attributes
        tag = node.tag
        into = hrefs
        if tag == "a" or tag == "area":
            rel = attributes.get("rel")
            if rel and follows_vouched and not _NOT_VOUCHED_FOR.isdisjoint(rel.lower().split()):
                into = found.refused
            href = attributes["href"]
        elif tag == "meta":
            if obey.meta_robots and (attributes["name"] or "").strip().lower() in ("robots", obey.agent):
                found.wishes.add(attributes.get("content") or "")
            continue
        elif tag == "base":
            found.base = found.base or attributes["href"] or ""
            continue
        elif tag == "link":
            if obey.canonical:
                found.canonicals.append((attributes["href"] or "").strip(_HTML_SPACE))
            continue
        else:
            href = attributes["src"]
        href = href.strip(_HTML_SPACE) if href else ""
        if href and not _NOWHERE.match(href):
            into[href] = None
    return found


def _find_other(hrefs: list[str], base: str, url: str) -> Url | None:
    """The page that this one is a copy of. One that names itself is none, and one that names two means nothing."""
    try:
        [other] = {canonicalise(href, base) for href in hrefs if href}
        return None if other.text == url or other == canonicalise(url) else other
    except (BadUrl, ValueError):
        return None


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
