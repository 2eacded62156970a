"""What does somebody mean who types this? Text becomes a Query, or BadQuery says what to change.

::

    list comprehension      pages with both words, or words of the same stem
    "list comprehension"    side by side, exactly so
    -draft  NOT draft       without this word; in front of a phrase or a group too. --amend is the word amend
    title:git url:"2026/01" in this field: title description keywords headings content anchors url
    asynchronus~            words that are nearly so
    asyn*  w?ld             any letters, any one letter; two letters at least must be there, and one word may begin with
                            a *. A ? at the end is none
    red OR green            either; binds its neighbours: a red OR green is a (red OR green)
    (red green) OR blue     groups
    site:python.org         this host and those below; -site: without them. site:localhost:8080 this port only
    lang:de crawl:ID after:2026-01 before:2026-02-01 sort:newest

Everything else is words: what is unbalanced is closed at the end, what is no letter or digit separates words.
"""

import re
import unicodedata
from collections.abc import Iterable

from crawler.errors import BadQuery
from crawler.search.query import FIELDS, AllOf, AnyOf, Filters, Not, Part, Phrase, Query, Word
from crawler.search.restrictions import RESTRICTIONS, Restrictions, combine

LONGEST_QUERY = 2000  # characters
MOST_TERMS = 64  # words, in phrases or not
MOST_WILDCARDS = 8
MOST_IN_A_WORD = 10  # wildcards: engines refuse some of the words that have more
MOST_LEADING_STARS = 1  # it is compared with every word of the index: a second of CPU time for a million of them
MOST_FUZZY = 8
DEEPEST_GROUP = 8
FEWEST_LETTERS = 2  # beside a wildcard
LONGEST_WORD = 100  # characters; engines index no longer ones
MOST_PER_PAGE = 100

BREAKS = "\xad\u200b"  # soft hyphen and zero-width space: copied from a page; the parser leaves them out too
# A token: quote, bracket, or anything up to one of these or a space.
TOKEN = re.compile(r'(?P<space>\s+)|(?P<quote>")|(?P<open>\()|(?P<close>\))|(?P<chunk>[^\s"()]+)')
NAMED = re.compile(r"(-?)([a-z]+):(.*)", re.DOTALL)
SCHEME = re.compile(r"-?https?://", re.IGNORECASE)  # a URL is indexed without it
FUZZY = re.compile(r"~[0-9]?\Z")


def parse(text: str, *, page: int = 1, per_page: int = 10, filters: Filters | None = None, sort: str = "") -> Query:
    """``filters`` and ``sort`` were given beside the text. Filters in the text can only narrow those."""
    if not 1 <= per_page <= MOST_PER_PAGE:
        raise BadQuery(f"{per_page} results a page were asked for; 1 to {MOST_PER_PAGE} are possible")
    parser = _Parser(text)
    if sort:
        parser.restrictions.add("sort", sort)
    part = parser.read()
    own = parser.restrictions.filters()
    both = combine(filters, own) if filters is not None else own
    if part is None and not parser.everything and both == Filters():
        raise BadQuery("there is nothing to look for: give at least one word of letters or digits")
    query = Query(part, both, parser.restrictions.sort, page, per_page)
    query.count_before()
    return query


class _Parser:
    def __init__(self, text: str) -> None:
        if len(text) > LONGEST_QUERY:
            raise BadQuery(f"the search has {len(text)} characters; {LONGEST_QUERY} are the most")
        # Control characters and halves of surrogate pairs separate words. Where a word may be broken is no part of it.
        self._text = "".join(
            " " if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in text if letter not in BREAKS
        )
        self._at = 0
        self._terms = self._wildcards = self._leading_stars = self._fuzzy = 0
        self.restrictions = Restrictions()
        self.everything = False

    def read(self) -> Part | None:
        return self._group(0)

    def _group(self, depth: int) -> Part | None:
        """Up to its closing bracket, or to the end."""
        if depth > DEEPEST_GROUP:
            raise BadQuery(f"there are more than {DEEPEST_GROUP} brackets inside each other")
        alternatives: list[list[Part]] = []  # all must match; of each, any
        joins = negate = False
        calls = 0  # brackets as in print(x), which mean no group
        after_word = False
        while (match := TOKEN.match(self._text, self._at)) is not None:
            self._at = match.end()
            part: Part | None = None
            touches, after_word = after_word, False
            match match.lastgroup:
                case "space":
                    continue
                case "quote":
                    part = self._phrase("")
                case "open":
                    if touches:
                        calls += 1
                        continue
                    part = self._group(depth + 1)
                case "close":
                    if calls:
                        calls -= 1
                    elif depth:
                        break
                    continue
                case "chunk":
                    chunk = match[0]
                    if chunk in ("OR", "AND", "NOT"):
                        joins, negate = (joins or (chunk == "OR" and bool(alternatives)), negate or chunk == "NOT")
                        continue
                    if chunk == "-" and self._text[self._at : self._at + 1] in ('"', "("):
                        negate = True
                        continue
                    after_word = True
                    part = self._chunk(chunk, depth)
            if part is None:
                continue
            if negate:
                part = Not(part)
            if joins:
                alternatives[-1].append(part)
            else:
                alternatives.append([part])
            joins = negate = False
        return _all_of(parts[0] if len(parts) == 1 else AnyOf(tuple(parts)) for parts in alternatives)

    def _chunk(self, chunk: str, depth: int) -> Part | None:
        named = NAMED.fullmatch(chunk)
        if named is not None and named[2] in RESTRICTIONS:
            value = named[3] or self._quoted()
            if depth:
                raise BadQuery(f"{named[2]}: holds for the whole search, so that it cannot stand in brackets")
            self.restrictions.add(named[2], value, is_negated=bool(named[1]))
            return None
        if named is not None and named[2] in FIELDS:
            part = self._words(named[3], named[2]) if named[3] else self._phrase(named[2], opens=True)
            return Not(part) if part is not None and named[1] else part
        if chunk.startswith("-") and not chunk.startswith("--"):
            part = self._words(chunk, "")
            return Not(part) if part is not None else None
        return self._words(chunk, "")

    def _quoted(self) -> str:
        if self._text[self._at : self._at + 1] != '"':
            return ""
        self._at += 1
        return self._until_quote().strip()

    def _phrase(self, field: str, opens: bool = False) -> Part | None:
        if opens:  # title:"…": the quote is still to come
            if self._text[self._at : self._at + 1] != '"':
                raise BadQuery(
                    f'{field}: needs a word or a phrase, without a space before it: {field}:word, {field}:"a b"'
                )
            self._at += 1
        words = _pieces(_without_scheme(self._until_quote()))
        self._count(len(words))
        return Phrase(tuple(words), field) if words else None

    def _until_quote(self) -> str:
        end = self._text.find('"', self._at)
        end = len(self._text) if end < 0 else end  # an open quote ends with the text
        inner, self._at = self._text[self._at : end], end + 1
        return inner

    def _words(self, chunk: str, field: str) -> Part | None:
        fuzzy = FUZZY.search(chunk)
        chunk = (chunk[: fuzzy.start()] if fuzzy else chunk).rstrip("?")
        if not fuzzy and ("*" in chunk or "?" in chunk):
            return self._wild(chunk, field)
        pieces = _pieces(_without_scheme(chunk))
        self._count(len(pieces))
        if not pieces:
            return None
        if fuzzy:
            self._fuzzy += len(pieces)
            if self._fuzzy > MOST_FUZZY:
                raise BadQuery(f"the search has more than {MOST_FUZZY} words with a ~")
            return _all_of(Word(piece, field, "fuzzy") for piece in pieces)
        return Word(pieces[0], field) if len(pieces) == 1 else Phrase(tuple(pieces), field)

    def _wild(self, chunk: str, field: str) -> Part | None:
        parts: list[Part] = []
        pieces = _pieces(chunk, "*?")
        self._count(len(pieces))
        for piece in pieces:
            piece = re.sub(r"\*[*?]*\*|\*\?+|\?+\*", "*", piece)
            letters = piece.replace("*", "").replace("?", "")
            if not letters:
                self.everything = True
                continue
            if len(letters) == len(piece):
                parts.append(Word(piece, field))
                continue
            if len(letters) < FEWEST_LETTERS:
                raise BadQuery(f"{piece} matches too much: give {FEWEST_LETTERS} letters or more beside the wildcard")
            if len(piece) - len(letters) > MOST_IN_A_WORD:
                raise BadQuery(f"{piece[:20]}… has more than {MOST_IN_A_WORD} wildcards")
            self._wildcards += 1
            if self._wildcards > MOST_WILDCARDS:
                raise BadQuery(f"the search has more than {MOST_WILDCARDS} words with wildcards")
            self._leading_stars += piece.startswith("*")
            if self._leading_stars > MOST_LEADING_STARS:
                raise BadQuery("one word of a search may begin with a *, and no more: it takes long to look for")
            is_prefix = piece.endswith("*") and len(letters) == len(piece) - 1
            parts.append(Word(letters, field, "prefix") if is_prefix else Word(piece, field, "wildcard"))
        return _all_of(parts)

    def _count(self, words: int) -> None:
        self._terms += words
        if self._terms > MOST_TERMS:
            raise BadQuery(f"the search has more than {MOST_TERMS} words")


def _all_of(parts: Iterable[Part]) -> Part | None:
    every = tuple(parts)
    return (every[0] if len(every) == 1 else AllOf(every)) if every else None


def _without_scheme(text: str) -> str:
    return SCHEME.sub("", text, count=1) if SCHEME.match(text) else text


def _pieces(text: str, others: str = "") -> list[str]:
    """Runs of letters and digits, and of ``others``. Marks belong to the letter before them."""
    found = "".join(
        letter if letter.isalnum() or letter in others or unicodedata.category(letter)[0] == "M" else " "
        for letter in text
    ).split()
    for piece in found:
        if len(piece) > LONGEST_WORD:
            raise BadQuery(f"{piece[:20]}… has {len(piece)} letters; words have {LONGEST_WORD} at most")
    return [piece for piece in found if any(letter.isalnum() or letter in others for letter in piece)]
