"""Which words does the embedded index know that begin so, or that look nearly so?"""

from collections.abc import Sequence

import tantivy
from tantivy import Occur
from tantivy import Query as Tantivy

from crawler.search.analysis import fold, terms_of, title_analyzer
from crawler.search.embedded_reader import Snapshot
from crawler.search.embedded_schema import LONGEST_TITLE_TERM, schema
from crawler.search.spelling import LONGEST_WORD, MUCH_COMMONER, SHORTEST_WORD, best_correction, edits

WORD_FIELDS = ("content", "title")
LONGEST_PREFIX = 100  # characters
MOST_WORDS = 8  # before the one that is completed
MOST_NEIGHBOURS = 2000  # words that begin alike, the commonest, among which a correction is looked for


def complete(snapshot: Snapshot, prefix: str, most: int) -> list[str]:
    typed = " ".join(prefix.split())[:LONGEST_PREFIX]
    if not typed or most < 1:
        return []
    titles = _titles(snapshot, typed, max(most // 3, 1))
    words = _words(snapshot, typed, most)
    # Who types a second word begins a title; the first word alone begins too many of them.
    if " " in typed:
        return list(dict.fromkeys([*titles, *words]))[:most]
    return list(dict.fromkeys([*words[: max(most - len(titles), 1)], *titles]))[:most]


def _words(snapshot: Snapshot, typed: str, most: int) -> list[str]:
    """The last word completed, by words of pages that have all those before it."""
    if not typed[-1].isalnum():
        return []
    head = typed[: typed.rfind(" ") + 1]
    terms = terms_of(typed[len(head) :])
    if not terms:
        return []
    before = [
        (Occur.Must, Tantivy.term_query(schema(), "content", term, "basic")) for term in terms_of(head)[:MOST_WORDS]
    ]
    within = Tantivy.boolean_query(before) if before else None
    found: dict[str, int] = {}
    for name in WORD_FIELDS:
        for word, number in snapshot.searcher.terms_with_prefix(name, terms[-1], within, limit=most):
            found[head + word] = max(number, found.get(head + word, 0))
    return sorted(found, key=lambda text: (-found[text], text))[:most]


def _titles(snapshot: Snapshot, typed: str, most: int) -> list[str]:
    [start] = title_analyzer().analyze(typed)
    known = snapshot.searcher.terms_with_prefix("title_start", start, limit=most)
    return [_title(snapshot, term) for term, _ in known]


def _title(snapshot: Snapshot, term: str) -> str:
    """As its page writes it."""
    query = Tantivy.term_query(schema(), "title_start", term, "basic")
    hits = snapshot.searcher.search(query, limit=1, count=False).hits
    return " ".join(snapshot.read(hits[0][1]).title.split())[:LONGEST_TITLE_TERM] if hits else term


def correct(snapshot: Snapshot, words: Sequence[str]) -> dict[str, str]:
    better = {word: _correct(snapshot, fold(word)) for word in words}
    return {word: other for word, other in better.items() if other}


def _correct(snapshot: Snapshot, term: str) -> str:
    if not SHORTEST_WORD <= len(term) <= LONGEST_WORD:
        return ""
    searcher = snapshot.searcher
    own = _count(searcher, term)
    if own and not _is_beside_commoner(searcher, term, own * MUCH_COMMONER):
        return ""
    known = {near: _count(searcher, near) for near in edits(term)}
    for name in WORD_FIELDS if not own else ():
        for near, number in searcher.terms_with_prefix(name, term[:2], limit=MOST_NEIGHBOURS):
            known[near] = max(number, known.get(near, 0))
    return best_correction(term, own, known)


def _count(searcher: tantivy.Searcher, term: str) -> int:
    return max(searcher.doc_freq(name, term) for name in WORD_FIELDS)


def _is_beside_commoner(searcher: tantivy.Searcher, term: str, least: int) -> bool:
    """Whether more documents than that have any word that is one letter away. If not, none of these words is in so
    many. Most words are spelt right, and this takes a fifth of the time of looking up every one of them.
    """
    if least >= searcher.num_docs:
        return False
    near = Tantivy.fuzzy_term_query(schema(), "content", term, 1, True)
    return bool(searcher.search(near, limit=1).count > least)  # type: ignore[attr-defined]
