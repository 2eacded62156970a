"""Which language is a page in? As it says; if it does not, by its letters and its commonest words.

Detection takes 0.1 ms, and is asked for only where nothing is declared. Two letters (ISO 639-1), or "".
"""

import re
from collections import Counter
from functools import lru_cache

from crawler.parsing.languages import CODES, LETTERS, OTHER_CODES, SCRIPTS, WORDS

_DETECT_CHARACTERS = 4000
_FEWEST_LETTERS = 20
_FEWEST_HITS = 4  # common words, of the language that has most
_TAG = re.compile(r"\s*([A-Za-z]{2,3})(?![A-Za-z])")
_WORD = re.compile(r"[^\W\d_]+")
_FOREIGN = re.compile(r"[^\x00-\u036f\u2000-\u2fff\W\d_]")  # letters of other scripts than the Latin one


def find_language(*declared: str, text: str = "") -> str:
    """``declared`` are values of ``lang`` and ``Content-Language`` in the order in which they count."""
    for value in declared:
        if value and (code := read_code(value)):
            return code
    return detect_language(text)


@lru_cache(maxsize=256)
def read_code(value: str) -> str:
    """``en`` of ``en-US``; "" of several languages, and of what is none."""
    found = _TAG.match(value[:40])
    if found is None or "," in value:
        return ""
    code = found[1].lower()
    return code if code in CODES else OTHER_CODES.get(code, "")


def detect_language(text: str) -> str:
    # From the middle: a page begins with its menu.
    if len(text) > 2 * _DETECT_CHARACTERS:
        text = text[len(text) // 3 :]
    text = text[:_DETECT_CHARACTERS].lower()
    if not text.isascii():
        foreign = _FOREIGN.findall(text)
        if len(foreign) >= _FEWEST_LETTERS and len(foreign) * 3 > sum(map(str.isalpha, text)):
            return _detect_by_script(foreign, text)
    return _detect_by_words(text)


def _detect_by_script(letters: list[str], text: str) -> str:
    counts = Counter[str]()
    for letter, times in Counter(letters).items():
        for first, last, language in SCRIPTS:
            if first <= letter <= last:
                counts[language] += times
                break
    if not counts:
        return ""
    if counts["ja"] * 10 > counts["zh"]:  # Chinese has no kana, and Japanese no text without them
        counts["ja"] += counts.pop("zh", 0)
    language = counts.most_common(1)[0][0]
    present = set(letters)
    for only, other in LETTERS.get(language, ()):
        if len(present.intersection(only)) * 2 >= len(only):
            return other
    # Russian and Bulgarian differ in words more than in letters.
    return _detect_by_words(text) or language if language == "ru" and not present.intersection("ыэё") else language


def _detect_by_words(text: str) -> str:
    hits = Counter[str]()
    for word, times in Counter(_WORD.findall(text)).items():
        for language in WORDS.get(word, ()):
            hits[language] += times
    [(best, most), (_, second)] = [*hits.most_common(2), ("", 0), ("", 0)][:2]
    return best if most >= _FEWEST_HITS and most > second else ""
