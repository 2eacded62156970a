"""What is answered to somebody who searches? For the command, the HTTP server and programs, on any engine."""

import asyncio
import re
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from crawler.search.grammar import parse
from crawler.search.highlighting import Highlighter
from crawler.search.index import Hit, Index
from crawler.search.query import AllOf, AnyOf, Filters, Part, Query, Word
from crawler.search.snippets import mark, plain, snippet

FEW_RESULTS = 5  # with so many or fewer, another spelling is looked for
MOST_CORRECTED = 8  # words of a search
MOST_SUGGESTIONS = 50
FEW_CHARACTERS = 50_000  # of the texts of all results; more take too long to hold up the event loop for
SAFE_SCHEMES = ("http", "https")


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """``url`` and ``title`` are text, to be escaped by whoever shows them; ``snippet`` and ``title_html`` are HTML."""

    url: str
    title: str
    snippet: str
    score: float
    title_html: str
    id: str
    host: str
    lang: str
    fetched_at: int
    crawl: str
    html_key: str


class Results(msgspec.Struct, frozen=True, kw_only=True):
    total_results: int
    page: int
    per_page: int
    results: list[Result]
    took_ms: float
    is_total_exact: bool = True
    suggestion: str = ""  # what may have been meant, as text to search for


async def search(
    index: Index,
    text: str,
    page: int = 1,
    per_page: int = 10,
    *,
    filters: Filters | None = None,
    sort: str = "",
    with_duplicates: bool = False,
) -> Results:
    """Raises BadQuery with a message for whoever typed it."""
    started = time.perf_counter()
    query = parse(text, page=page, per_page=per_page, filters=filters, sort=sort)
    if with_duplicates:
        query = Query(query.part, query.filters, query.sort, page, per_page, True)
    hits = await index.search(query)
    suggestion = await _suggestion(index, text, query.part) if hits.total <= FEW_RESULTS else ""
    if sum(len(hit.document.content) for hit in hits.hits) <= FEW_CHARACTERS:
        results = _show(hits.hits, query.part)
    else:
        results = await asyncio.to_thread(_show, hits.hits, query.part)
    return Results(
        total_results=hits.total,
        page=page,
        per_page=per_page,
        results=results,
        took_ms=round((time.perf_counter() - started) * 1000, 3),
        is_total_exact=hits.is_total_exact,
        suggestion=suggestion,
    )


async def suggest(index: Index, prefix: str, most: int = 10) -> list[str]:
    """Words and titles that begin so."""
    return [plain(text) for text in await index.complete(plain(prefix), max(0, min(most, MOST_SUGGESTIONS)))]


def _show(hits: Sequence[Hit], part: Part | None) -> list[Result]:
    highlighters = {language: Highlighter(part, language) for language in {hit.document.lang for hit in hits}}
    return [_result(hit, highlighters[hit.document.lang]) for hit in hits]


def _result(hit: Hit, highlighter: Highlighter) -> Result:
    document = hit.document
    title = plain(document.title) or plain(document.url)
    return Result(
        url=_safe_url(document.url),
        title=title,
        title_html=mark(title, highlighter),
        snippet=snippet(document, highlighter),
        score=hit.score,
        id=document.id,
        host=document.host,
        lang=document.lang,
        fetched_at=document.fetched_at,
        crawl=document.crawl,
        html_key=document.html_key,
    )


def _safe_url(url: str) -> str:
    """A link that is followed must not run a script; nor may it look like several lines."""
    try:
        return plain(url) if urlsplit(url).scheme in SAFE_SCHEMES else ""
    except ValueError:
        return ""


async def _suggestion(index: Index, text: str, part: Part | None) -> str:
    """The text with other words in the places of those that hardly occur; "" if there are none."""
    words = _plain_words(part)[:MOST_CORRECTED]
    better = await index.correct(words) if words else {}
    suggestion, is_changed = plain(text), False
    for word, other in better.items():
        suggestion, number = re.subn(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", other, suggestion, count=1)
        is_changed = is_changed or bool(number)
    return suggestion if is_changed else ""


def _plain_words(part: Part | None) -> list[str]:
    match part:
        case Word(text=text, kind="exact"):
            return [text]
        case AllOf(parts) | AnyOf(parts):
            return [text for inner in parts for text in _plain_words(inner)]
        case _:
            return []
