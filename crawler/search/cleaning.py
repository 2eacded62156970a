"""Can this document be indexed as it is? Engines ask before they write: what hurts one of them is cut or refused."""

import re
from typing import Any

import msgspec

from crawler.search.document import Document

# Characters. Beyond that a page is data, and a search engine's time and memory are lost on it.
MOST_CONTENT = 1_000_000
LONGEST = {"title": 1_000, "description": 5_000, "headings": 50_000, "anchors": 50_000, "content": MOST_CONTENT}
MOST_KEYWORDS = 100
LONGEST_KEYWORD = 200
LONGEST_ID_BYTES = 512  # Elasticsearch takes no longer one
LONGEST_URL_BYTES = 8192
LARGEST = {"depth": 2**31, "status": 2**31, "fetched_at": 2**63, "published_at": 2**63, "simhash": 2**64}  # exclusive

SURROGATES = re.compile("[\ud800-\udfff]")
NAMES = ("id", "url", "host", "lang", "content_hash", "duplicate_of", "similar_to", "html_key", "crawl")


class Unfit(Exception):
    """No engine can take it; says why."""


def prepare(document: Document) -> Document:
    """The document, or one with its texts cleaned and cut. Raises Unfit."""
    try:
        return _prepare(document)
    except (AttributeError, TypeError) as error:  # nothing checks the types of a Document when it is made
        raise Unfit(f"one of its fields has the wrong type: {error}") from error


def _prepare(document: Document) -> Document:
    if not document.id or len(document.id.encode("utf-8", "replace")) > LONGEST_ID_BYTES:
        raise Unfit(f"its id must have 1 to {LONGEST_ID_BYTES} bytes")
    if len(document.url.encode("utf-8", "replace")) > LONGEST_URL_BYTES:
        raise Unfit(f"its URL has more than {LONGEST_URL_BYTES} bytes")
    for name in NAMES:
        if _clean(getattr(document, name)) != getattr(document, name):
            raise Unfit(f"its {name} contains a zero byte or half a character")
    for name, limit in LARGEST.items():
        if not (-limit if name == "published_at" else 0) <= getattr(document, name) < limit:
            raise Unfit(f"its {name} is {getattr(document, name)}, which is out of range")
    changes: dict[str, Any] = {}
    for name, longest in LONGEST.items():
        text = getattr(document, name)
        cleaned = _clean(text[:longest])
        if cleaned != text:
            changes[name] = cleaned
    keywords = [_clean(word[:LONGEST_KEYWORD]) for word in document.keywords[:MOST_KEYWORDS]]
    if keywords != document.keywords:
        changes["keywords"] = keywords
    return msgspec.structs.replace(document, **changes) if changes else document


def _clean(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", " ")
    if not text.isascii():
        text = SURROGATES.sub("\ufffd", text)
    return text
