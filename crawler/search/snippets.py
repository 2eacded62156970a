"""Which few lines of a page show why it was found? As HTML that is safe wherever a page's own text comes from.

Everything is escaped but the ``<mark>`` around the words that were looked for.
"""

import html
import re
import unicodedata

from crawler.search.document import Document
from crawler.search.highlighting import Highlighter, Match

SNIPPET_LENGTH = 240  # characters of text, marks not counted
# Characters of a text that are looked through, and what part of the words must stand together there for that to be
# enough. Words after the last of these are found, but not shown.
SCANNED = ((8_000, 1.0), (30_000, 0.6), (100_000, 0.0))
LONGEST_WORD_CUT = 30  # a cut looks for a space so far
ELLIPSIS = "…"

# Separators, controls, what turns the direction of everything after it around, and letters that nobody can see. Not the
# two joiners (U+200C, U+200D): Persian and Hindi are spelt with them.
INVISIBLE = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]+"
)


def snippet(document: Document, highlighter: Highlighter) -> str:
    """HTML. Of the text where most of the words stand together, else of the description, else how the text begins."""
    text = _compose(document.content[: SCANNED[-1][0] + SNIPPET_LENGTH])
    for most, enough in SCANNED:
        matches = highlighter.matches(text[: _space_after(text, most)])
        different, start, end = _choose(matches, highlighter.number_of_words)
        if different >= enough * highlighter.number_of_words or most >= len(text):
            break
    if matches:
        return _show(text, matches, start, end)
    fallback = document.description if document.description.strip() else text[: 4 * SNIPPET_LENGTH].lstrip()
    return mark(_cut(fallback, 0, SNIPPET_LENGTH), highlighter)


def mark(text: str, highlighter: Highlighter) -> str:
    """HTML of a short text, such as a title."""
    text = _compose(text)
    pieces, at = [], 0
    for match in highlighter.matches(text):
        pieces += [_escape(text[at : match.start]), f"<mark>{_escape(text[match.start : match.end])}</mark>"]
        at = match.end
    return "".join([*pieces, _escape(text[at:])]).strip()


def plain(text: str) -> str:
    """Not HTML: one line, with nothing in it that a terminal would obey."""
    return INVISIBLE.sub(" ", text).strip()


def _choose(matches: list[Match], words: int) -> tuple[int, int, int]:
    """How many different words are in the best stretch, and where that begins and ends: the one with the most different
    words in it, and among those where they stand closest, or where a single one comes most often.
    """
    best, first = (0, 0, 0, 0), 0
    latest = [-1] * words  # where each of them was seen last
    start = end = 0
    for last, match in enumerate(matches):
        latest[match.word] = match.start
        low = min(match.end - SNIPPET_LENGTH, match.start)
        while matches[first].start < low:
            first += 1
        inside = [place for place in latest if place >= max(low, 0)]
        begin = min(inside) if len(inside) > 1 else matches[first].start
        rank = (len(inside), begin - match.end if len(inside) > 1 else 0, last - first, -first)
        if rank > best or not end:
            best, start, end = rank, begin, match.end
    return best[0], start, end


def _show(text: str, matches: list[Match], start: int, end: int) -> str:
    """From a little before this place, and about as long as a snippet is."""
    spare = max(SNIPPET_LENGTH - (end - start), 0)
    low = _space_before(text, max(start - spare // 3, 0))
    high = _space_after(text, min(low + SNIPPET_LENGTH, len(text)) if end - low <= SNIPPET_LENGTH else end)
    high = max(high, min(end, low + 2 * SNIPPET_LENGTH))
    pieces, at = [ELLIPSIS + " " if low else ""], low
    for match in matches:
        if match.start >= at and match.end <= high:
            pieces += [_escape(text[at : match.start]), f"<mark>{_escape(text[match.start : match.end])}</mark>"]
            at = match.end
    pieces.append(_escape(text[at:high]))
    shown = re.sub(" {2,}", " ", "".join(pieces)).strip()
    return shown + (" " + ELLIPSIS if high < len(text) else "")


def _cut(text: str, start: int, length: int) -> str:
    end = _space_after(text, min(start + length, len(text)))
    return text[start:end] + (" " + ELLIPSIS if end < len(text) else "")


def _space_before(text: str, at: int) -> int:
    """Where a word begins, at or shortly after this place; a letter is never parted from its accents."""
    if at == 0 or text[at - 1].isspace():
        return at
    for place in range(at, min(at + LONGEST_WORD_CUT, len(text))):
        if text[place].isspace():
            return place + 1
    while 0 < at < len(text) and unicodedata.combining(text[at]):
        at -= 1
    return at


def _space_after(text: str, at: int) -> int:
    """Where a word ends, at or shortly before this place."""
    if at >= len(text) or text[at].isspace():
        return min(at, len(text))
    for place in range(at, max(at - LONGEST_WORD_CUT, 0), -1):
        if text[place - 1].isspace():
            return place - 1
    while 0 < at < len(text) and unicodedata.combining(text[at]):
        at += 1
    return at


def _compose(text: str) -> str:
    """As the engines read it: with accents joined to their letters."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _escape(text: str) -> str:
    return html.escape(INVISIBLE.sub(" ", text), quote=True)
