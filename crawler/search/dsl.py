"""How is a query asked in the language of Elasticsearch and OpenSearch? A tree of query.py in, the body of _search out.

A word may be several tokens to the server (``read_csv``, text without spaces): these must stand side by side, so words
are asked for as phrases, which for one token cost nothing more.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from crawler.errors import BadQuery
from crawler.search.analysis import CJK, fold, language_of
from crawler.search.query import AllOf, AnyOf, Filters, Not, Part, Phrase, Query, Word
from crawler.search.ranking import (
    FIELD_WEIGHTS,
    JOINED,
    MOST_TOGETHER,
    STEM_SHARE,
    STEMMED_FIELDS,
    TIE_BREAKER,
    TOGETHER_SLOP,
    TOGETHER_WEIGHTS,
    VARIANT_SHARE,
    fuzzy_distance,
    weigh,
)

Clause = dict[str, Any]

BM25_SCALE = 2.2  # of tantivy's scores to Lucene's: constant scores must be in the same proportion to them
PAIRED = "cjk"  # the suffix of the fields that hold pairs of characters

TOTAL_LIMIT = 100_000  # hits are counted up to here; beyond, the total is a lower bound
MOST_WORDS = 100
MOST_OPEN_WORDS = 16  # wildcards, prefixes and fuzzy words: each may stand for thousands
EXPANSIONS = 100  # words that a fuzzy one may stand for
MOST_CLAUSES = 900  # servers refuse a query of 1024


def build_search(query: Query, languages: Sequence[str], timeout_seconds: float) -> dict[str, Any]:
    """``languages``: suffixes of the stem fields that are worth asking."""
    return {
        "query": build_query(query, languages),
        "from": query.count_before(),
        "size": query.per_page,
        "sort": build_sort(query.sort),
        "track_total_hits": TOTAL_LIMIT,
        "timeout": f"{max(1, int(timeout_seconds * 1000))}ms",
    }


def build_query(query: Query, languages: Sequence[str]) -> Clause:
    words = list(list_words(query.part)) if query.part else []
    open_words = sum(isinstance(word, Word) and word.kind != "exact" for word in words)
    if len(words) > MOST_WORDS:
        raise BadQuery(f"{len(words)} words were asked for; {MOST_WORDS} is the most")
    if open_words > MOST_OPEN_WORDS:
        raise BadQuery(f"{open_words} wildcards and fuzzy words were asked for; {MOST_OPEN_WORDS} is the most")
    languages = languages[: _count_affordable_languages(len(words))]
    asked = build_part(query.part, languages) if query.part else {"match_all": {}}
    together = _ask_together(query.part, languages) if query.part and query.sort == "relevance" else []
    kept, left_out = build_filters(query.filters)
    if not query.with_duplicates:
        left_out.append({"exists": {"field": "duplicate_of"}})
    return {"bool": {"must": [asked], "should": together, "filter": kept, "must_not": left_out}}


def _count_affordable_languages(words: int) -> int:
    """Each word is looked for in every field, and in the stems of every language: the commonest ones stay."""
    fixed = words * (len(FIELD_WEIGHTS) + 2) + len(TOGETHER_WEIGHTS)
    each = (words + 1) * len(STEMMED_FIELDS)
    return max(0, (MOST_CLAUSES - fixed) // each)


def build_sort(order: str) -> list[Clause]:
    """The id last: pages of results then neither repeat nor leave out one of equal rank."""
    if order == "relevance":
        return [{"_score": "desc"}, {"id": "asc"}]
    return [{"fetched_at": "desc" if order == "newest" else "asc"}, {"id": "asc"}]


def build_filters(filters: Filters) -> tuple[list[Clause], list[Clause]]:
    """What must hold, and what must not. None of it counts for the rank."""
    kept: list[Clause] = []
    if filters.hosts:
        kept.append({"terms": {"site": [host.lower().strip(".") for host in filters.hosts]}})
    if filters.languages:
        kept.append({"terms": {"language": [language_of(code) for code in filters.languages]}})
    if filters.crawl:
        kept.append({"term": {"crawl": filters.crawl}})
    bounds = {"gte": filters.after_ms, "lt": filters.before_ms}
    bounds = {name: bound for name, bound in bounds.items() if bound is not None}
    if bounds:
        kept.append({"range": {"fetched_at": bounds}})
    left_out: list[Clause] = []
    if filters.not_hosts:
        left_out.append({"terms": {"site": [host.lower().strip(".") for host in filters.not_hosts]}})
    return kept, left_out


def list_words(part: Part) -> Iterator[Word | Phrase]:
    match part:
        case Not(inner):
            yield from list_words(inner)
        case AnyOf(parts) | AllOf(parts):
            for each in parts:
                yield from list_words(each)
        case _:
            yield part


def build_part(part: Part, languages: Sequence[str]) -> Clause:
    match part:
        case Word():
            return build_word(part, languages)
        case Phrase():
            return _ask_phrase(" ".join(part.words), weigh(part.field))
        case Not(inner):
            # Who excludes a word means that word, and not all with its stem.
            return {"bool": {"must_not": [build_part(inner, ())]}}
        case AnyOf(parts):
            asked = [build_part(each, languages) for each in parts]
            return {"bool": {"should": asked, "minimum_should_match": 1}}
        case AllOf(parts):
            return {"bool": {"must": [build_part(each, languages) for each in parts]}}


def build_word(word: Word, languages: Sequence[str]) -> Clause:
    fields = weigh(word.field)
    if CJK.search(word.text):
        # Characters are terms: there is nothing for a wildcard or a distance to work on.
        return _ask_ideographs(word.text.strip("*?"), fields, languages)
    match word.kind:
        case "exact":
            return _ask_exactly(word.text, fields, languages)
        case "fuzzy":
            exact, term = _ask_exactly(word.text, fields, languages), fold(word.text)
            if not term:  # it is several to the engines: each would be looked for by itself, and near to everything
                return exact
            similar: Clause = {
                "query": term, "operator": "and", "fuzziness": fuzzy_distance(term), "max_expansions": EXPANSIONS,
            }  # fmt: skip
            variants = _ask_each("match", fields, similar)
            return _best_of([exact, *variants])
        case "prefix":
            return _ask_pattern(f"{word.text}*", fields)
        case "wildcard":
            return _ask_pattern(word.text, fields)


def _ask_pattern(text: str, fields: dict[str, float]) -> Clause:
    """Terms are in lower case and without accents, and servers do not fold patterns."""
    pieces = [fold(piece) if piece not in "*?" else piece for piece in re.split(r"([*?])", text) if piece]
    if not all(pieces):  # a part of it is no word
        return {"match_none": {}}
    return _best_of(_ask_each("wildcard", fields, {"value": "".join(pieces)}))


def _ask_exactly(text: str, fields: dict[str, float], languages: Sequence[str]) -> Clause:
    stems = {
        f"{name}_{language}": weight * STEM_SHARE
        for name, weight in fields.items()
        if name in STEMMED_FIELDS
        for language in languages
    }
    return _ask_phrase(text, fields | stems)


def _ask_ideographs(text: str, fields: dict[str, float], languages: Sequence[str]) -> Clause:
    if len(text) > 1 or PAIRED not in languages:
        return _ask_exactly(text, fields, languages)
    # Kana and syllables of Korean are no terms by themselves, but parts of pairs.
    pairs = {f"{name}_{PAIRED}": weight for name, weight in fields.items() if name in STEMMED_FIELDS}
    among = _ask_each("regexp", pairs, {"value": f".?{re.escape(text)}.?"}, 1.0)
    return _best_of([_ask_exactly(text, fields, languages), *among])


def _ask_phrase(text: str, fields: dict[str, float]) -> Clause:
    weighed = [f"{name}^{weight:g}" for name, weight in fields.items()]
    return {"multi_match": {"query": text, "type": "phrase", "fields": weighed, "tie_breaker": TIE_BREAKER}}


def _ask_each(kind: str, fields: dict[str, float], options: Clause, share: float = VARIANT_SHARE) -> list[Clause]:
    """Of words that only resemble what was asked for: each field gives a constant score, as in the embedded engine."""
    return [
        {"constant_score": {"filter": {kind: {name: options}}, "boost": weight * share / BM25_SCALE}}
        for name, weight in fields.items()
    ]


def _best_of(clauses: list[Clause]) -> Clause:
    return {"dis_max": {"queries": clauses, "tie_breaker": TIE_BREAKER}}


def _ask_together(part: Part, languages: Sequence[str]) -> list[Clause]:
    """Rewards pages where the words stand side by side, as they were typed."""
    parts = part.parts if isinstance(part, AllOf) else (part,)
    words = [each.text for each in parts if isinstance(each, Word) and each.kind == "exact" and not each.field]
    if len(words) < 2:
        return []
    text = " ".join(words[:MOST_TOGETHER])
    bonuses: list[Clause] = []
    for one, other in pairwise(words[:MOST_TOGETHER]):  # git hooks: githooks
        joined = {"query": one + other, "fields": list(JOINED), "boost": TOGETHER_WEIGHTS["title"]}
        bonuses.append({"multi_match": joined})
    for name, weight in TOGETHER_WEIGHTS.items():
        slop = TOGETHER_SLOP if name == "content" else 1
        fields = [name, *(f"{name}_{language}" for language in languages)]
        phrase = {"query": text, "type": "phrase", "fields": fields, "slop": slop, "boost": weight}
        bonuses.append({"multi_match": phrase})
    return bonuses
