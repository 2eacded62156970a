"""Where in a text do the words of a query stand? In any engine's results, so that no engine's own highlighter is asked.

Texts are folded letter by letter, so that a place in the folded text is the same place in the original.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from crawler.search.analysis import CJK, STEMMERS, fold, language_of, terms_of
from crawler.search.query import AllOf, AnyOf, Not, Part, Phrase, Word
from crawler.search.ranking import DEFAULT_LANGUAGE, fuzzy_distance
from crawler.search.spelling import distance

MOST_MATCHES = 2500  # of one word in one text: by then the best place is known
SHORTEST_STEM = 3
CHANGING = ("e", "i", "y")  # the last letter of so short a stem, where it may be another in other forms: use, using

LETTER = r"[^\W_]"
LETTERS = rf"{LETTER}{{0,40}}"
MOST_JUDGED = 20_000  # words that are remembered, near or not


@dataclass(frozen=True, slots=True)
class Match:
    start: int
    end: int
    word: int  # which of the words of the query


@dataclass(frozen=True, slots=True)
class _Finder:
    """Begins with plain letters where it can: Python finds those a hundred times faster than anything else."""

    pattern: re.Pattern[str]
    accepts: Callable[[str], bool]
    is_part: bool = False  # may stand inside a run of letters


class Highlighter:
    def __init__(self, part: Part | None, language: str = "") -> None:
        code = language_of(language) or DEFAULT_LANGUAGE
        self._language = code if code in STEMMERS else ""
        words = {(word.kind, word.text.lower()): word for word in _positive(part)}
        self.number_of_words = len(words)
        self._finders: list[tuple[int, _Finder]] = []
        fuzzy: list[tuple[int, str]] = []
        for number, word in enumerate(words.values()):
            text = fold_letters(unicodedata.normalize("NFC", word.text))
            term = fold(text) if word.kind == "fuzzy" and not CJK.search(text) else ""
            if term:
                fuzzy.append((number, term))
            else:
                self._finders.append((number, self._finder(word.kind, text)))
        self._near = _NearWords(fuzzy)

    def matches(self, text: str) -> list[Match]:
        """In order; none overlaps another."""
        folded = fold_letters(text)
        found = [match for number, finder in self._finders for match in _matches_of(number, finder, folded)]
        found += self._near.matches(folded)
        found.sort(key=lambda match: (match.start, -match.end, match.word))
        kept: list[Match] = []
        for match in found:
            if not kept or match.start >= kept[-1].end:
                kept.append(match)
        return kept

    def _finder(self, kind: str, text: str) -> _Finder:
        if CJK.search(text):
            return _Finder(re.compile(re.escape(text.strip("*?"))), _anything, is_part=True)
        if kind in ("prefix", "wildcard"):
            return _Finder(_pattern_of(text if kind == "wildcard" else f"{text}*"), _anything)
        if not fold(text):  # several words in one, as some scripts have it
            return _Finder(re.compile(re.escape(text)), _anything)
        language = self._language
        stem = stem_of(text, language)
        head = text[: max(min(len(stem) - 1, len(text)), SHORTEST_STEM)]
        if len(head) == SHORTEST_STEM and head.endswith(CHANGING):
            head = head[:-1]
        is_same: Callable[[str], bool] = lambda found: found == text or stem_of(found, language) == stem  # noqa: E731
        return _Finder(re.compile(f"{re.escape(head)}{LETTERS}"), is_same)


def _pattern_of(wildcard: str) -> re.Pattern[str]:
    """What stands between two stars is taken where it comes first, once and for all: that is as good as any other
    place, and to try them all takes hours of a page that is made for it.
    """
    first, *others = (
        "".join(LETTER if mark == "?" else re.escape(mark) for mark in piece) for piece in wildcard.split("*")
    )
    middle = "".join(f"(?>{LETTERS}?{piece})" for piece in others[:-1])
    last = f"{LETTERS}{others[-1]}" if others else ""
    return re.compile(rf"{first}{middle}{last}(?!{LETTER})")


def _matches_of(number: int, finder: _Finder, folded: str) -> Iterator[Match]:
    left = MOST_MATCHES
    for match in finder.pattern.finditer(folded):
        start = match.start()
        is_whole = finder.is_part or start == 0 or not folded[start - 1].isalnum()
        if is_whole and match.end() > start and finder.accepts(match[0]):
            yield Match(start, _with_accents(folded, match.end()), number)
            left -= 1
            if not left:
                return


def _with_accents(text: str, end: int) -> int:
    """Those that stand by themselves belong to the letter before them."""
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return end


def _anything(found: str) -> bool:
    return True


class _NearWords(dict[str, tuple[int, ...]]):
    """To which of the fuzzy words is a word near? Texts have the same words again and again: each is judged once, and a
    text is gone through once for all of them.
    """

    def __init__(self, fuzzy: Sequence[tuple[int, str]]) -> None:
        super().__init__()
        self._fuzzy = [(number, term, set(term), fuzzy_distance(term)) for number, term in fuzzy]
        shortest = min((len(term) - most for _, term, _, most in self._fuzzy), default=1)
        longest = max((len(term) + most for _, term, _, most in self._fuzzy), default=1)
        self._words = re.compile(f"(?<!{LETTER}){LETTER}{{{max(shortest, 1)},{longest}}}(?!{LETTER})")

    def matches(self, folded: str) -> Iterator[Match]:
        left = MOST_MATCHES * len(self._fuzzy)
        for match in self._words.finditer(folded) if left else ():
            for number in self[match[0]]:
                yield Match(match.start(), _with_accents(folded, match.end()), number)
                left -= 1
                if not left:
                    return

    def __missing__(self, found: str) -> tuple[int, ...]:
        if len(self) >= MOST_JUDGED:
            self.clear()
        letters = set(found)
        # An edit takes away and adds one letter at most: what lacks more of them, or has more of others, needs no
        # closer look, and that is nearly all.
        self[found] = near = tuple(
            number
            for number, term, own, most in self._fuzzy
            if abs(len(term) - len(found)) <= most
            and len(own - letters) <= most
            and len(letters - own) <= most
            and distance(term, found, most) <= most
        )
        return near


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
        plain = fold(plain) or plain  # letters that are no other letter with an accent: ł, ø, ı
        self[letter] = folded = ord(plain) if len(plain) == 1 else letter
        return folded


_FOLDING = _Folding()
ASCII = frozenset(map(chr, range(128)))
FEW_LETTERS = 60


def fold_letters(text: str) -> str:
    """As long as before."""
    if text.isascii():
        return text.lower()
    lowered = text.lower()
    foreign = set(lowered) - ASCII
    if len(lowered) != len(text) or len(foreign) > FEW_LETTERS:
        return text.translate(_FOLDING)
    for letter in foreign:  # a few sorts of quotes and accents: ten times faster than letter by letter
        plain = _FOLDING[ord(letter)]
        if plain != ord(letter):
            lowered = lowered.replace(letter, chr(plain))
    return lowered
