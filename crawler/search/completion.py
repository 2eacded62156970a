"""Which words does a server know that begin so, or look nearly so? Bodies of _search, and how to read the answers."""

import re
from collections.abc import Sequence
from typing import Any

from crawler.search.mapping import LONGEST_OFFERED_WORD, TITLE_KEY_CHARACTERS, fold
from crawler.search.spelling import SHORTEST_WORD, best_correction

LONGEST_PREFIX = 100  # characters
MOST_OFFERED = 50
LOOKED_AT = 10_000  # documents per shard whose words are counted: enough to tell the common ones
CORRECTED_FIELDS = ("content", "title")


def build_completion(prefix: str, most: int) -> dict[str, Any] | None:
    start = fold(prefix)[:LONGEST_PREFIX]
    if not start or most < 1:
        return None
    head, last = _split(prefix)
    is_title: dict[str, Any] = {"prefix": {"title_key": start}}
    asked: dict[str, Any] = {
        "titles": {
            "filter": is_title,
            "aggs": {
                "top": {
                    "terms": {"field": "title_key", "include": f"{_escape(start)}.*", "size": _most_titles(most)},
                    "aggs": {"one": {"top_hits": {"size": 1, "_source": {"includes": ["title", "title_*"]}}}},
                }
            },
        }
    }
    begins = [is_title]
    if last:
        # The last word, by words of pages that have all those before it.
        fits: list[dict[str, Any]] = [{"prefix": {"vocabulary": last}}]
        if head:
            fits.append({"match": {"content": {"query": head, "operator": "and"}}})
        is_word: dict[str, Any] = {"bool": {"filter": fits}}
        size = min(most, MOST_OFFERED)
        asked["words"] = {
            "filter": is_word,
            "aggs": {"top": {"terms": {"field": "vocabulary", "include": f"{_escape(last)}.*", "size": size}}},
        }
        begins.append(is_word)
    return {
        "size": 0,
        "track_total_hits": False,
        "query": {"bool": {"should": begins}},
        "aggs": {"some": {"sampler": {"shard_size": LOOKED_AT}, "aggs": asked}},
    }


def read_completion(prefix: str, most: int, answer: dict[str, Any]) -> list[str]:
    typed = " ".join(prefix.split())[:LONGEST_PREFIX]
    head = typed[: typed.rfind(" ") + 1]
    some = answer["aggregations"]["some"]
    words = [head + bucket["key"] for bucket in _sort(some["words"]["top"]["buckets"])] if "words" in some else []
    titles = [_read_title(bucket) for bucket in _sort(some["titles"]["top"]["buckets"])]
    # Who types a second word begins a title; the first word alone begins too many of them.
    if " " in typed:
        return list(dict.fromkeys([*titles, *words]))[:most]
    return list(dict.fromkeys([*words[: max(most - len(titles), 1)], *titles]))[:most]


def _most_titles(most: int) -> int:
    return min(max(most // 3, 1), MOST_OFFERED)


def _sort(buckets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(buckets, key=lambda bucket: (-bucket["doc_count"], bucket["key"]))


def _read_title(bucket: dict[str, Any]) -> str:
    """As its page writes it."""
    [hit] = bucket["one"]["hits"]["hits"]
    title = next((text for text in hit["_source"].values() if isinstance(text, str)), bucket["key"])
    return " ".join(title.split())[:TITLE_KEY_CHARACTERS]


def build_correction(words: Sequence[str]) -> dict[str, Any] | None:
    terms = list(dict.fromkeys(term for term in map(fold, words) if _can_be_corrected(term)))
    if not terms:
        return None
    options = {"suggest_mode": "always", "max_edits": 2, "prefix_length": 1, "size": 10, "sort": "frequency"}
    return {
        "size": 0,
        "track_total_hits": False,
        "aggs": {"own": {"filters": {"filters": {term: _has_term(term) for term in terms}}}},
        "suggest": {
            f"{field} {term}": {"text": term, "term": {"field": field, **options}}
            for field in CORRECTED_FIELDS
            for term in terms
        },
    }


def read_correction(words: Sequence[str], answer: dict[str, Any]) -> dict[str, str]:
    own = {term: bucket["doc_count"] for term, bucket in answer["aggregations"]["own"]["buckets"].items()}
    better: dict[str, str] = {}
    for word in words:
        term = fold(word)
        known: dict[str, int] = {}
        for field in CORRECTED_FIELDS if term in own else ():
            for entry in answer["suggest"][f"{field} {term}"]:
                for option in entry["options"]:
                    known[option["text"]] = max(option["freq"], known.get(option["text"], 0))
        if other := best_correction(term, own.get(term, 0), known):
            better[word] = other
    return better


def _can_be_corrected(term: str) -> bool:
    return term.isalnum() and SHORTEST_WORD <= len(term) <= LONGEST_OFFERED_WORD


def _has_term(term: str) -> dict[str, Any]:
    return {"bool": {"should": [{"term": {field: term}} for field in CORRECTED_FIELDS]}}


def _split(prefix: str) -> tuple[str, str]:
    """What stands before the word that is being typed, and that word: "" when it is something else."""
    if not prefix or not prefix[-1].isalnum():
        return "", ""
    typed = fold(prefix)[-LONGEST_PREFIX:]
    found = re.search(r"[^\W_]+\Z", typed)
    return (typed[: found.start()].strip(), found[0][:LONGEST_OFFERED_WORD]) if found else ("", "")


def _escape(text: str) -> str:
    """For Lucene's regular expressions, which know operators that Python's do not."""
    return "".join(mark if mark.isalnum() else f"\\{mark}" for mark in text)
