"""Where does a page lead, what does it ask of crawlers, and what do its meta elements say? One selector finds all of
it in page order, and links become canonical URLs without a Request being made of them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import ada_url
from selectolax.lexbor import LexborNode

from crawler.errors import BadUrl
from crawler.parsing.page import Page
from crawler.robots.directives import Directives, Obedience
from crawler.urls import Url, canonicalise

MAX_LINKS = 10_000  # of one page; a page with more is a trap or a data file, and the rest is counted as dropped
TOO_MANY_LINKS = "too_many_links"  # the drop reasons
NOFOLLOW = "nofollow"
MAX_METAS = 300  # of one page; real ones have some dozens

INTERESTING = (
    "a[href],area[href],iframe[src],frame[src],base[href],meta[content],head>link[rel~=canonical i][href],"
    "script[type^='application/ld+json' i]"
)
HTML_SPACE = " \t\n\r\f"
_NOWHERE = re.compile(r"#|(?:javascript|mailto|tel|data|sms|about|blob):", re.IGNORECASE)
# As browsers read it: seconds, something between, and the address, in quotes or not.
_REFRESH = re.compile(
    r"""\s*+[\d.]++(?:\s*+[;,]|\s)\s*+(?:url\s*+=\s*+)?+(?:"([^"]*+)|'([^']*+)|(\S.*+))""", re.IGNORECASE | re.DOTALL
)
_NOT_VOUCHED_FOR = frozenset({"nofollow", "ugc", "sponsored"})


@dataclass(slots=True)
class Found:
    base: str | None = None  # of the first that there is, even if it is empty
    hrefs: dict[str, None] = field(default_factory=dict)  # each text once, because menus repeat
    refused: dict[str, None] = field(default_factory=dict)
    canonicals: list[str] = field(default_factory=list)
    wishes: Directives = field(default_factory=Directives)
    metas: list[tuple[str, str]] = field(default_factory=list)  # what they are called, in lower case, and what they say
    scripts: list[LexborNode] = field(default_factory=list)  # with JSON-LD in them


def find(nodes: Iterable[LexborNode], obey: Obedience) -> Found:
    found = Found()
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
            href = attributes.get("href") or attributes.get("xlink:href")  # of a drawing, which the selector finds too
        elif tag == "meta":
            _add_meta(found, attributes, obey)
            continue
        elif tag == "base":
            if found.base is None:
                found.base = attributes.get("href") or ""
            continue
        elif tag == "link":
            if obey.canonical:
                found.canonicals.append((attributes["href"] or "").strip(HTML_SPACE))
            continue
        elif tag == "script":
            found.scripts.append(node)
            continue
        else:
            href = attributes["src"]
        href = href.strip(HTML_SPACE) if href else ""
        if href and not _NOWHERE.match(href):
            into[href] = None
    return found


def _add_meta(found: Found, attributes: Mapping[str, str | None], obey: Obedience) -> None:
    content = attributes["content"]
    if not content:
        return
    name = (attributes.get("name") or "").strip().lower()
    if obey.meta_robots and name and name in ("robots", obey.agent):
        found.wishes.add(content)
    if len(found.metas) < MAX_METAS:
        # RDFa says property where HTML says name, microdata itemprop, and what could be a header http-equiv.
        if (attributes.get("http-equiv") or "").strip().lower() == "refresh" and (to := _REFRESH.match(content)):
            href = (to[1] or to[2] or to[3] or "").strip(HTML_SPACE)
            if href and not _NOWHERE.match(href):
                found.hrefs[href] = None
        for called in (name, *(attributes.get(key) for key in ("property", "itemprop", "http-equiv"))):
            if called:
                found.metas.append((called.strip().lower(), content))


def find_other(hrefs: list[str], base: str, url: str) -> Url | None:
    """The page that this one is a copy of. One that names itself is none, and one that names two means nothing."""
    try:
        [other] = {canonicalise(href, base) for href in hrefs if href}
        return None if other.text == url or other == canonicalise(url) else other
    except (BadUrl, ValueError):
        return None


def join_base(url: str, base: str | None) -> str:
    if not base:
        return url
    try:
        joined: str = ada_url.join_url(url, base)
    except ValueError:
        return url
    return joined if joined.startswith(("http://", "https://")) else url


def add_links(page: Page, hrefs: Iterable[str], base: str, anchors: Mapping[str, str]) -> None:
    """``anchors`` are the texts of links by their href. A link that is there more than once has its first text."""
    links: dict[Url, str] = {}
    hrefs = list(hrefs)
    for position, href in enumerate(hrefs):
        if len(links) == MAX_LINKS:
            page.bad_links[TOO_MANY_LINKS] += len(hrefs) - position
            break
        try:
            link = canonicalise(href, base)
        except BadUrl as error:
            page.bad_links[error.reason] += 1
            continue
        links[link] = links.get(link) or anchors.get(href, "")
    page.links = list(links)
    page.anchors = list(links.values())
