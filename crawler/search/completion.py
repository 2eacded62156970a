"""Which words does a server know that begin so, or look nearly so? Bodies of _search, and how to read the answers."""

import re
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
    most = min(most, MOST_OFFERED)
    last = _last_word(prefix)
    begins: list[dict[str, Any]] = [{"prefix": {"title_key": start}}]
    inner: dict[str, Any] = {
        "titles": {
            "terms": {"field": "title_key", "include": f"{_escape(start)}.*", "size": most},
            "aggs": {"one": {"top_hits": {"size": 1, "_source": {"includes": ["title", "title_*"]}}}},
        }
    }
    if last:
        begins.append({"prefix": {"vocabulary": last}})
        inner["words"] = {"terms": {"field": "vocabulary", "include": f"{_escape(last)}.*", "size": most}}
    return {
        "size": 0,
        "track_total_hits": False,
        "query": {"bool": {"should": begins}},
        "aggs": {"some": {"sampler": {"shard_size": LOOKED_AT}, "aggs": inner}},
    }


def read_completion(prefix: str, most: int, answer: dict[str, Any]) -> list[str]:
    found: dict[str, int] = {}
    typed = " ".join(prefix.split())[:LONGEST_PREFIX]
    head = typed[: typed.rfind(" ") + 1]  # only the last word is completed
    some = answer["aggregations"]["some"]
    for bucket in some.get("words", {}).get("buckets", ()):
        found[head + bucket["key"]] = bucket["doc_count"]
    for bucket in some["titles"]["buckets"]:
        [hit] = bucket["one"]["hits"]["hits"]
        title = next((text for text in hit["_source"].values() if isinstance(text, str)), bucket["key"])
        found[" ".join(title.split())[:TITLE_KEY_CHARACTERS]] = bucket["doc_count"]
    return sorted(found, key=lambda text: (-found[text], text))[:most]


def build_correction(word: str) -> dict[str, Any] | None:
    term = fold(word)
    if not term.isalnum() or not SHORTEST_WORD <= len(term) <= LONGEST_OFFERED_WORD:
        return None
    options = {"suggest_mode": "always", "max_edits": 2, "prefix_length": 1, "size": 10, "sort": "frequency"}
    return {
        "size": 0,
        "track_total_hits": True,
        "query": {"bool": {"should": [{"term": {field: term}} for field in CORRECTED_FIELDS]}},
        "suggest": {field: {"text": term, "term": {"field": field, **options}} for field in CORRECTED_FIELDS},
    }


def read_correction(word: str, answer: dict[str, Any]) -> str:
    known: dict[str, int] = {}
    for field in CORRECTED_FIELDS:
        for entry in answer["suggest"][field]:
            for option in entry["options"]:
                known[option["text"]] = max(option["freq"], known.get(option["text"], 0))
    return best_correction(fold(word), answer["hits"]["total"]["value"], known)


def _last_word(prefix: str) -> str:
    """ "" when something other than a word is being typed."""
    if not prefix or not prefix[-1].isalnum():
        return ""
    words = re.findall(r"[^\W_]+", fold(prefix))
    return str(words[-1])[:LONGEST_OFFERED_WORD] if words else ""


def _escape(text: str) -> str:
    """For Lucene's regular expressions, which know operators that Python's do not."""
    return "".join(mark if mark.isalnum() else f"\\{mark}" for mark in text)
