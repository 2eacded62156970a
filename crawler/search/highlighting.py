"""Where in a text do the words of a query stand? In any engine's results, so that no engine's own highlighter is asked.

Texts are folded letter by letter, so that a place in the folded text is the same place in the original.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from crawler.search.analysis import CJK, STEMMERS, fold, language_of, terms_of
from crawler.search.query import AllOf, AnyOf, Not, Part, Phrase, Word
from crawler.search.ranking import DEFAULT_LANGUAGE, fuzzy_distance
from crawler.search.spelling import distance

MOST_MATCHES = 2000  # in one text: by then the best place is known
SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True)
class Match:
    start: int
    end: int
    word: int  # which of the words of the query


class Highlighter:
    def __init__(self, part: Part | None, language: str = "") -> None:
        code = language_of(language) or DEFAULT_LANGUAGE
        self._language = code if code in STEMMERS else ""
        self._accepts: list[Callable[[str], bool] | None] = []  # None: what the pattern finds is right
        patterns = [f"(?P<w{number}>{pattern})" for number, pattern in enumerate(self._patterns(part))]
        # A word begins where no letter or digit is before it.
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    @property
    def number_of_words(self) -> int:
        return len(self._accepts)

    def matches(self, text: str) -> Iterator[Match]:
        if self._pattern is None:
            return
        folded = fold_letters(text)
        for found, match in enumerate(self._pattern.finditer(folded)):
            if found >= MOST_MATCHES * 10:  # the pattern is wider than what is accepted
                return
            number = int((match.lastgroup or "w0")[1:])
            accepts = self._accepts[number]
            if accepts is None or accepts(match[0]):
                yield Match(match.start(), match.end(), number)

    def _patterns(self, part: Part | None) -> Iterator[str]:
        seen = set()
        for word in _positive(part):
            key = (word.kind, word.text.lower())
            if key not in seen:
                seen.add(key)
                pattern, accepts = self._pattern_of(word)
                if pattern:
                    self._accepts.append(accepts)
                    yield pattern

    def _pattern_of(self, word: Word) -> tuple[str, Callable[[str], bool] | None]:
        text = unicodedata.normalize("NFC", word.text)
        if CJK.search(text):
            return re.escape(fold_letters(text.strip("*?"))), None
        if word.kind in ("prefix", "wildcard"):
            pieces = re.split(r"([*?])", text if word.kind == "wildcard" else f"{text}*")
            body = "".join({"*": LETTERS, "?": LETTER}.get(piece) or re.escape(fold_letters(piece)) for piece in pieces)
            return f"{BEGIN}{body}{END}", None
        folded = fold_letters(text)
        term = fold(text)
        if not term:  # several words in one, as some scripts have it
            return f"{BEGIN}{re.escape(folded)}", None
        if word.kind == "fuzzy":
            most = fuzzy_distance(term)
            length = f"[^\\W_]{{{max(len(term) - most, 1)},{len(term) + most}}}"
            return f"{BEGIN}{length}{END}", lambda found: distance(term, found, most) <= most
        language = self._language
        stem = stem_of(folded, language)
        head = re.escape(folded[: max(min(len(stem) - 1, len(folded)), SHORTEST_STEM)])
        return f"{BEGIN}{head}{LETTERS}", lambda found: found == folded or stem_of(found, language) == stem


BEGIN = r"(?<![^\W_])"
END = r"(?![^\W_])"
LETTER = r"[^\W_]"
LETTERS = r"[^\W_]{0,40}"


def _positive(part: Part | None) -> Iterator[Word]:
    match part:
        case Word():
            yield part
        case Phrase(words, field):
            for text in words:
                yield Word(text, field)
        case AllOf(parts) | AnyOf(parts):
            for inner in parts:
                yield from _positive(inner)
        case Not() | None:
            return


@lru_cache(maxsize=20_000)
def stem_of(word: str, language: str) -> str:
    terms = terms_of(word, language) if language else [word]
    return terms[0] if len(terms) == 1 else word


class _Folding(dict[int, int]):
    """A letter → the same without case and accent, if that is one letter."""

    def __missing__(self, letter: int) -> int:
        plain = unicodedata.normalize("NFKD", chr(letter).lower())
        plain = "".join(mark for mark in plain if not unicodedata.combining(mark))
        self[letter] = folded = ord(plain) if len(plain) == 1 else letter
        return folded


_FOLDING = _Folding()


def fold_letters(text: str) -> str:
    """As long as before."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)
