"""Which other forms of a word are in the embedded index? Words of its dictionary with the same stem: ``crawled`` for
``crawling``.

Asked for every word of a query. Stems of whole texts could be indexed instead, as those of titles are; but to make them
took more than half of the CPU time that indexing a page takes, and to look at the few words that begin alike takes
less than a millisecond.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import tantivy

from crawler.search.analysis import stem_analyzer

FIELD = "content"
MOST_FORMS = 10  # of a word, the commonest
MOST_LOOKED_AT = 2000  # words that begin alike, the commonest
SHORTEST_BEGINNING = 2  # letters: with fewer, half of the dictionary would have to be looked at
WHOLE_BEGINNING = 3  # of a longer one the last letter may change: happy, happiness
CHANGING = ("e", "i", "y")  # these may in a short one too: use, using
LONGEST_WORD = 30  # letters: what is longer has no forms
# Articles and prepositions that are written as one with a word, and that its stem is without.
PREFIXES = {"ar": ("ال", "بال", "كال", "لل", "و", "ب", "ف")}
_MOST_KEPT = 10_000  # answers


class Form(NamedTuple):
    word: str
    share: float  # of its own BM25: all forms of a word count as if they were equally rare


class Forms:
    """Of the index at one moment."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher
        self._found: dict[tuple[str, str], list[Form]] = {}

    def find(self, term: str, language: str) -> list[Form]:
        """Without the term itself. They mean the same on pages of this language, and on no others: ``Kind`` is a form
        of ``Kinder``, and a word of English.
        """
        if not _is_word(term):
            return []
        asked = (term, language)
        found = self._found.get(asked)
        if found is None:
            if len(self._found) >= _MOST_KEPT:
                self._found.clear()
            found = self._found[asked] = self._find(term, language)
        return found

    def _find(self, term: str, language: str) -> list[Form]:
        counts: dict[str, int] = {}
        [stem] = _stems([term], language)
        for beginning in _beginnings(term, stem, language):
            counts |= self._alike(beginning, stem, language)
        counts.pop(term, None)
        if not counts:
            return []
        documents = self._searcher.num_docs
        together = _rarity(min(sum(counts.values()) + self._searcher.doc_freq(FIELD, term), documents), documents)
        commonest = sorted(counts, key=lambda word: (-counts[word], word))[:MOST_FORMS]
        return [Form(word, together / _rarity(counts[word], documents)) for word in commonest]

    def _alike(self, beginning: str, stem: str, language: str) -> dict[str, int]:
        known = self._searcher.terms_with_prefix(FIELD, beginning, limit=MOST_LOOKED_AT)
        counts = {word: number for word, number in known if _is_word(word)}
        stems = zip(counts, _stems(counts, language), strict=True)
        return {word: counts[word] for word, other in stems if other == stem}


def _is_word(term: str) -> bool:
    return len(term) <= LONGEST_WORD and term.isalpha()


def _stems(words: Iterable[str], language: str) -> list[str]:
    return stem_analyzer(language).analyze(" ".join(words))


def _beginnings(term: str, stem: str, language: str) -> Iterator[str]:
    """What the forms of a word begin with."""
    common = next(at for at in range(len(term), -1, -1) if stem.startswith(term[:at]))
    may_change = common > WHOLE_BEGINNING or term[:common].endswith(CHANGING)
    beginning = term[: common - 1] if may_change else term[:common]
    if len(beginning) >= SHORTEST_BEGINNING:
        yield beginning
    elif len(stem) >= SHORTEST_BEGINNING:
        yield stem
    for prefix in PREFIXES.get(language, ()):
        yield prefix + stem


def _rarity(number: int, documents: int) -> float:
    """As BM25 has it."""
    return math.log(1 + (documents - number + 0.5) / (number + 0.5))
