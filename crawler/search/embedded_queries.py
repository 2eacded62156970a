"""How does tantivy say what was asked for?

By query objects, because its own parser silently finds nothing for ``asyn*`` and for ``a AND NOT b``. A field whose
dictionary has not got a word is not asked for it: to look that up costs a fraction of what tantivy spends on a clause.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import tantivy
from tantivy import FieldType, Occur
from tantivy import Query as Tantivy

from crawler.search.analysis import CJK, STEMMERS, fold, language_of, terms_of
from crawler.search.embedded_forms import FIELD, Form, Forms
from crawler.search.embedded_schema import STEMMED_FIELDS, schema
from crawler.search.query import AllOf, AnyOf, Filters, Not, Part, Phrase, Query, Word
from crawler.search.ranking import (
    DEFAULT_LANGUAGE,
    JOINED,
    MOST_TOGETHER,
    STEM_SHARE,
    TIE_BREAKER,
    TOGETHER_SLOP,
    TOGETHER_WEIGHTS,
    VARIANT_SHARE,
    fuzzy_distance,
    weigh,
)

MOST_STEM_LANGUAGES = 6  # each adds terms to every word of a query
LATEST_MS = 2**63 - 1
NOTHING = Tantivy.empty_query()


class QueryBuilder:
    """``languages``: of the pages of the index, the commonest first."""

    def __init__(self, searcher: tantivy.Searcher, forms: Forms, languages: Sequence[str]) -> None:
        self._searcher = searcher
        self._forms = forms
        self._pages = languages
        stemmed = dict.fromkeys(language or DEFAULT_LANGUAGE for language in languages)
        self._languages = [language for language in stemmed if language in STEMMERS][:MOST_STEM_LANGUAGES]

    def build(self, query: Query) -> Tantivy:
        if query.filters.languages:  # of other languages nothing is found anyway
            asked_for = [language_of(code) for code in query.filters.languages]
            return QueryBuilder(self._searcher, self._forms, asked_for)._build(query)
        return self._build(query)

    def _build(self, query: Query) -> Tantivy:
        clauses: list[tuple[Occur, Tantivy]] = []
        if query.part is None:
            clauses.append((Occur.Must, _everything()))
        else:
            asked = self._part(query.part)
            if asked is None or asked is NOTHING:  # nothing but punctuation, or a word that no page has
                return NOTHING
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
            case Phrase((letter,), field) if len(letter) == 1 and CJK.search(letter):
                return self._ideographs(Word(letter, field))
            case Phrase(words, field):
                terms = terms_of(" ".join(words))
                return _best_of(self._sequences(field, terms)) if terms else None
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
                if NOTHING in every:
                    return NOTHING
                return Tantivy.boolean_query([(Occur.Must, query) for query in every]) if every else None

    def _excluded(self, part: Part) -> Tantivy | None:
        """Who excludes a word means that word, and not all with its stem."""
        return QueryBuilder(self._searcher, self._forms, ())._part(part)

    def _word(self, word: Word) -> Tantivy | None:
        if CJK.search(word.text):  # terms are pairs of neighbours: nothing for a wildcard or a distance to work on
            return self._ideographs(word)
        match word.kind:
            case "exact":
                return self._exact(word)
            case "fuzzy":
                return self._fuzzy(word)
            case "prefix":
                return self._prefix(word)
            case "wildcard":
                return self._wildcard(word)

    def _exact(self, word: Word) -> Tantivy | None:
        terms = terms_of(word.text)
        if not terms:
            return None
        options = self._sequences(word.field, terms)
        stems = [(language, terms_of(word.text, language)) for language in self._languages]
        for name, weight in weigh(word.field).items():
            for language, stemmed in stems if name in STEMMED_FIELDS else ():
                field = f"{name}_{language}"
                if len(stemmed) == 1 and self._knows(field, stemmed):
                    options.append(Tantivy.boost_query(self._term(field, stemmed[0], "freq"), weight * STEM_SHARE))
            for language in self._languages if name == FIELD and len(terms) == 1 else ():
                if forms := self._forms.find(terms[0], language):
                    options.append(Tantivy.boost_query(self._among_forms(forms, language), weight * STEM_SHARE))
        return _best_of(options)

    def _among_forms(self, forms: list[Form], language: str) -> Tantivy:
        """On pages of this language: on others the word may be another that is written alike."""
        asked = _best_of([Tantivy.boost_query(self._term(FIELD, form, "freq"), share) for form, share in forms])
        own = ["", language] if language == DEFAULT_LANGUAGE else [language]
        if all(other in own for other in self._pages):
            return asked
        return Tantivy.boolean_query([(Occur.Must, asked), (Occur.Must, self._among("lang", own))])

    def _fuzzy(self, word: Word) -> Tantivy | None:
        term = fold(word.text)
        exact = self._exact(Word(word.text, word.field))
        if not term or exact is None:
            return exact
        distance = fuzzy_distance(term)
        options = [exact]
        for name, weight in weigh(word.field).items():
            similar = Tantivy.fuzzy_term_query(schema(), name, term, distance, True)
            options.append(Tantivy.boost_query(similar, weight * VARIANT_SHARE))
        return _best_of(options)

    def _prefix(self, word: Word) -> Tantivy:
        start = fold(word.text)
        if not start:
            return NOTHING
        # Nearly so, by no letter: five times faster than a regular expression, which is compiled for each field.
        return self._variants(
            word.field, lambda name: Tantivy.fuzzy_term_query(schema(), name, start, 0, True, prefix=True)
        )

    def _wildcard(self, word: Word) -> Tantivy:
        regex = _regex_of(word.text)
        if not regex:
            return NOTHING
        return self._variants(word.field, lambda name: Tantivy.regex_query(schema(), name, regex))

    def _ideographs(self, word: Word) -> Tantivy | None:
        text = word.text.strip("*?")
        if len(text) > 1:
            return self._exact(Word(text, word.field))
        regex = f".?{re.escape(text)}.?"
        return self._variants(word.field, lambda name: Tantivy.regex_query(schema(), name, regex), 1.0)

    # --- Terms -------------------------------------------------------------------------------

    def _variants(self, field: str, make: Callable[[str], Tantivy], share: float = VARIANT_SHARE) -> Tantivy:
        return _best_of([Tantivy.boost_query(make(name), weight * share) for name, weight in weigh(field).items()])

    def _sequences(self, field: str, terms: list[str]) -> list[Tantivy]:
        """The terms side by side, in each field that has them all."""
        known = [(name, weight) for name, weight in weigh(field).items() if self._knows(name, terms)]
        if len(terms) == 1:  # tantivy panics on a phrase of one word
            return [Tantivy.boost_query(self._term(name, terms[0], "freq"), weight) for name, weight in known]
        return [Tantivy.boost_query(self._phrase(name, terms), weight) for name, weight in known]

    def _knows(self, field: str, terms: list[str]) -> bool:
        return all(self._searcher.doc_freq(field, term) for term in terms)

    def _phrase(self, field: str, terms: list[str], slop: int = 0) -> Tantivy:
        return Tantivy.phrase_query(schema(), field, list(terms), slop)

    def _term(self, field: str, value: str, index_option: str = "basic") -> Tantivy:
        return Tantivy.term_query(schema(), field, value, index_option)

    def _together(self, part: Part) -> list[Tantivy]:
        """Rewards pages where the words stand side by side, as they were typed."""
        parts = part.parts if isinstance(part, AllOf) else (part,)
        typed = [word.text for word in parts if isinstance(word, Word) and word.kind == "exact" and not word.field]
        text = " ".join(typed[:MOST_TOGETHER])
        terms = terms_of(text)
        if len(terms) < 2:
            return []
        bonuses = []
        for one, other in pairwise(terms):  # git hooks: githooks
            joined = [self._term(name, one + other, "freq") for name in JOINED if self._knows(name, [one + other])]
            bonuses.append((joined, TOGETHER_WEIGHTS["title"]))
        in_language = [(language, terms_of(text, language)) for language in self._languages]
        for name, weight in TOGETHER_WEIGHTS.items():
            slop = TOGETHER_SLOP if name == "content" else 1
            options = [(name, terms)]
            if name in STEMMED_FIELDS:
                options += [(f"{name}_{language}", stems) for language, stems in in_language if len(stems) > 1]
            asked = [self._phrase(field, every, slop) for field, every in options if self._knows(field, every)]
            bonuses.append((asked, weight))
        return [Tantivy.boost_query(_best_of(options, 0.0), weight) for options, weight in bonuses if options]

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
                return [(Occur.Must, NOTHING)]
            period = Tantivy.range_query(schema(), "fetched_at", FieldType.Integer, first, last)
            clauses.append((Occur.Must, Tantivy.const_score_query(period, 0.0)))
        return clauses

    def _among(self, field: str, values: list[str]) -> Tantivy:
        return Tantivy.const_score_query(Tantivy.term_set_query(schema(), field, values), 0.0)


def _best_of(options: list[Tantivy], tie_breaker: float = TIE_BREAKER) -> Tantivy:
    if not options:
        return NOTHING
    return options[0] if len(options) == 1 else Tantivy.disjunction_max_query(options, tie_breaker)


def _everything() -> Tantivy:
    return Tantivy.const_score_query(Tantivy.all_query(), 0.0)


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
