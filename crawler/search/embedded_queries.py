"""How does tantivy say what was asked for?

By query objects, because its own parser silently finds nothing for ``asyn*`` and for ``a AND NOT b``.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import tantivy
from tantivy import FieldType, Occur
from tantivy import Query as Tantivy

from crawler.search.analysis import CJK, STEMMERS, fold, language_of, terms_of
from crawler.search.embedded_forms import FIELD, Forms
from crawler.search.embedded_schema import STEMMED_FIELDS
from crawler.search.query import AllOf, AnyOf, Filters, Not, Part, Phrase, Query, Word
from crawler.search.ranking import (
    FIELD_WEIGHTS,
    MOST_TOGETHER,
    STEM_SHARE,
    TIE_BREAKER,
    TOGETHER_SLOP,
    TOGETHER_WEIGHTS,
    VARIANT_SHARE,
    fuzzy_distance,
)

LATEST_MS = 2**63 - 1


class QueryBuilder:
    """``languages``: those whose stems are looked for, because the index has pages in them."""

    def __init__(self, schema: tantivy.Schema, forms: Forms, languages: Sequence[str]) -> None:
        self._schema = schema
        self._forms = forms
        self._languages = [language for language in languages if language in STEMMERS]

    def build(self, query: Query) -> Tantivy:
        if query.filters.languages:  # of other languages nothing is found anyway
            asked_for = [language_of(code) for code in query.filters.languages]
            return QueryBuilder(self._schema, self._forms, asked_for)._build(query)
        return self._build(query)

    def _build(self, query: Query) -> Tantivy:
        clauses: list[tuple[Occur, Tantivy]] = []
        if query.part is None:
            clauses.append((Occur.Must, _everything()))
        else:
            asked = self._part(query.part)
            if asked is None:  # nothing but punctuation
                return Tantivy.empty_query()
            clauses.append((Occur.Must, asked))
            if query.sort == "relevance":
                clauses += [(Occur.Should, bonus) for bonus in self._together(query.part)]
        clauses += self._filters(query.filters)
        if not query.with_duplicates:
            clauses.append((Occur.MustNot, self._term("duplicate", "1")))
        return Tantivy.boolean_query(clauses)

    # --- The tree ----------------------------------------------------------------------------

    def _part(self, part: Part) -> Tantivy | None:
        match part:
            case Word():
                return self._word(part)
            case Phrase(words, field):
                terms = terms_of(" ".join(words))
                return self._in_fields(lambda name: self._sequence(name, terms), field) if terms else None
            case Not(inner):
                excluded = self._excluded(inner)
                if excluded is None:
                    return None
                return Tantivy.boolean_query([(Occur.Must, _everything()), (Occur.MustNot, excluded)])
            case AnyOf(parts):
                some = [query for query in map(self._part, parts) if query is not None]
                return Tantivy.boolean_query([(Occur.Should, query) for query in some]) if some else None
            case AllOf(parts):
                every = [query for query in map(self._part, parts) if query is not None]
                return Tantivy.boolean_query([(Occur.Must, query) for query in every]) if every else None

    def _excluded(self, part: Part) -> Tantivy | None:
        """Who excludes a word means that word, and not all with its stem."""
        return QueryBuilder(self._schema, self._forms, ())._part(part)

    def _word(self, word: Word) -> Tantivy | None:
        if CJK.search(word.text):  # terms are pairs of neighbours: nothing for a wildcard or a distance to work on
            return self._ideographs(word)
        match word.kind:
            case "exact":
                return self._exact(word)
            case "fuzzy":
                return self._fuzzy(word)
            case "prefix":
                return self._pattern(word, f"{word.text}*")
            case "wildcard":
                return self._pattern(word, word.text)

    def _exact(self, word: Word) -> Tantivy | None:
        terms = terms_of(word.text)
        if not terms:
            return None
        stems = [(language, terms_of(word.text, language)) for language in self._languages]
        options = []
        for name, weight in _weights(word.field):
            options.append(Tantivy.boost_query(self._sequence(name, terms), weight))
            if name in STEMMED_FIELDS:
                for language, stemmed in stems:
                    if len(stemmed) == 1:
                        stem = self._term(f"{name}_{language}", stemmed[0], "freq")
                        options.append(Tantivy.boost_query(stem, weight * STEM_SHARE))
            if name == FIELD and len(terms) == 1:
                for form, share in self._forms.find(terms[0], self._languages):
                    term = self._term(name, form, "freq")
                    options.append(Tantivy.boost_query(term, weight * STEM_SHARE * share))
        return Tantivy.disjunction_max_query(options, TIE_BREAKER)

    def _fuzzy(self, word: Word) -> Tantivy | None:
        term = fold(word.text)
        exact = self._exact(Word(word.text, word.field))
        if not term or exact is None:
            return exact
        distance = fuzzy_distance(term)
        options = [exact]
        for name, weight in _weights(word.field):
            similar = Tantivy.fuzzy_term_query(self._schema, name, term, distance, True)
            options.append(Tantivy.boost_query(similar, weight * VARIANT_SHARE))
        return Tantivy.disjunction_max_query(options, TIE_BREAKER)

    def _pattern(self, word: Word, text: str) -> Tantivy | None:
        regex = _regex_of(text)
        if not regex:
            return Tantivy.empty_query()
        matching = self._in_fields(lambda name: Tantivy.regex_query(self._schema, name, regex), word.field)
        return Tantivy.boost_query(matching, VARIANT_SHARE)

    def _ideographs(self, word: Word) -> Tantivy | None:
        text = word.text.strip("*?")
        if len(text) > 1:
            return self._exact(Word(text, word.field))
        regex = f".?{re.escape(text)}.?"
        return self._in_fields(lambda name: Tantivy.regex_query(self._schema, name, regex), word.field)

    # --- Terms -------------------------------------------------------------------------------

    def _in_fields(self, make: Callable[[str], Tantivy], field: str) -> Tantivy:
        options = [Tantivy.boost_query(make(name), weight) for name, weight in _weights(field)]
        return Tantivy.disjunction_max_query(options, TIE_BREAKER)

    def _sequence(self, field: str, terms: list[str], slop: int = 0) -> Tantivy:
        if len(terms) == 1:  # tantivy panics on a phrase of one word
            return self._term(field, terms[0], "freq")
        return Tantivy.phrase_query(self._schema, field, list(terms), slop)

    def _term(self, field: str, value: str, index_option: str = "basic") -> Tantivy:
        return Tantivy.term_query(self._schema, field, value, index_option)

    def _together(self, part: Part) -> list[Tantivy]:
        """Rewards pages where the words stand side by side, as they were typed."""
        parts = part.parts if isinstance(part, AllOf) else (part,)
        typed = [word.text for word in parts if isinstance(word, Word) and word.kind == "exact" and not word.field]
        terms = terms_of(" ".join(typed[:MOST_TOGETHER]))
        if len(terms) < 2:
            return []
        bonuses = []
        for one, other in pairwise(terms):  # git hooks: githooks
            joined = [self._term(name, one + other, "freq") for name in ("title", "anchors")]
            bonuses.append(Tantivy.boost_query(Tantivy.disjunction_max_query(joined, 0.0), TOGETHER_WEIGHTS["title"]))
        for name, weight in TOGETHER_WEIGHTS.items():
            slop = TOGETHER_SLOP if name == "content" else 1
            options = [Tantivy.phrase_query(self._schema, name, list(terms), slop)]
            if name in STEMMED_FIELDS:
                for language in self._languages:
                    stems = terms_of(" ".join(typed[:MOST_TOGETHER]), language)
                    if len(stems) > 1:
                        options.append(Tantivy.phrase_query(self._schema, f"{name}_{language}", list(stems), slop))
            bonuses.append(Tantivy.boost_query(Tantivy.disjunction_max_query(options, 0.0), weight))
        return bonuses

    # --- Filters -----------------------------------------------------------------------------

    def _filters(self, filters: Filters) -> list[tuple[Occur, Tantivy]]:
        clauses: list[tuple[Occur, Tantivy]] = []
        if filters.hosts:
            clauses.append((Occur.Must, self._among("site", [_host(host) for host in filters.hosts])))
        if filters.not_hosts:
            clauses.append((Occur.MustNot, self._among("site", [_host(host) for host in filters.not_hosts])))
        if filters.languages:
            clauses.append((Occur.Must, self._among("lang", [language_of(code) for code in filters.languages])))
        if filters.crawl:
            clauses.append((Occur.Must, self._among("crawl", [filters.crawl])))
        if filters.after_ms is not None or filters.before_ms is not None:
            first = max(filters.after_ms or 0, 0)
            last = min(LATEST_MS if filters.before_ms is None else filters.before_ms - 1, LATEST_MS)
            if first > last:
                return [(Occur.Must, Tantivy.empty_query())]
            period = Tantivy.range_query(self._schema, "fetched_at", FieldType.Integer, first, last)
            clauses.append((Occur.Must, Tantivy.const_score_query(period, 0.0)))
        return clauses

    def _among(self, field: str, values: list[str]) -> Tantivy:
        return Tantivy.const_score_query(Tantivy.term_set_query(self._schema, field, values), 0.0)


def _weights(field: str) -> list[tuple[str, float]]:
    return [(field, FIELD_WEIGHTS[field])] if field else list(FIELD_WEIGHTS.items())


def _everything() -> Tantivy:
    return Tantivy.const_score_query(Tantivy.all_query(), 1.0)


def _host(host: str) -> str:
    return host.lower().strip(".")


def _regex_of(text: str) -> str:
    """Stars and question marks mean something, everything else itself; "" if a part is no word."""
    parts = []
    for piece in re.split(r"([*?])", text):
        if piece == "*":
            parts.append(".*")
        elif piece == "?":
            parts.append(".")
        elif piece:
            literal = fold(piece)
            if not literal:
                return ""
            parts.append(re.escape(literal))
    return "".join(parts)
