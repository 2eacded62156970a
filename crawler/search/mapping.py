"""How does a document lie in Elasticsearch and OpenSearch?

Each text is sent once. Where the language has a stemmer it goes to ``title_de``, ``content_de`` …, which hold stems and
are copied by the server to ``title``, ``content`` …, which hold words. ``site`` is the host and the domains above it,
``language`` what filters ask for, ``vocabulary`` the words that are offered while somebody types.
"""

import re
import unicodedata
from typing import Any

import msgspec

from crawler.search.analysis import language_of, title_analyzer
from crawler.search.document import Document
from crawler.search.query import FIELDS
from crawler.search.ranking import DEFAULT_LANGUAGE, STEMMED_FIELDS
from crawler.search.sites import list_sites

VERSION = 2  # another mapping, another number: an index of another version is refused

# Snowball's stemmers where there is one, as in the embedded engine; what follows is the servers' own.
STEMMERS = {
    "da": "danish", "de": "german", "el": "greek", "en": "porter2", "es": "spanish", "fi": "finnish", "fr": "french",
    "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sv": "swedish", "tr": "turkish", "ar": "arabic", "bg": "bulgarian", "ca": "catalan",
    "cs": "czech", "eu": "basque", "ga": "irish", "hi": "hindi", "hy": "armenian", "id": "indonesian",
    "lt": "lithuanian", "lv": "latvian",
}  # fmt: skip
PAIRS = {"zh": "cjk", "ja": "cjk", "ko": "cjk"}  # written without spaces: indexed as pairs of characters too

# Marks that the standard tokenizer takes for a part of a word, as in pandas.read_csv, don't, words of Persian, and
# before a French exclamation mark. Here and in the grammar they separate words.
MARKS = (
    "._:,;'\"’‘·․‧＇．＿：，；\u0387\u055f\u05f3\u05f4\u060c\u066c\u202f\u203f\u2040\u2044\u2054\ufe13\ufe33\ufe34\ufe52\ufe55"
    "\xad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff"
) + "".join(map(chr, range(0x2060, 0x2070)))
BREAKERS = [f"\\u{ord(mark):04x}=>\\u0020" for mark in MARKS]
# Accents that stand by themselves, after their letter: the folding filter knows only those that are part of one.
ACCENTS = [f"\\u{mark:04x}=>" for mark in range(0x0300, 0x0370)]
# Digits that it takes for none: CO₂, m², ①.
RAISED = (*"²³¹", *map(chr, range(0x2074, 0x207A)), *map(chr, range(0x2080, 0x208A)), *map(chr, range(0x2460, 0x2474)))
DIGITS = [f"{digit}=>{unicodedata.normalize('NFKC', digit)}" for digit in RAISED]

TITLE_KEY_CHARACTERS = 120
VOCABULARY_CHARACTERS = 20_000  # of a page are looked through for words to offer
VOCABULARY_WORDS = 200
LONGEST_OFFERED_WORD = 40
_WORD = re.compile(r"[^\W_]{2,}")

_NOT_INDEXED = {"type": "keyword", "index": False, "doc_values": False}


def choose_stems(language: str) -> str:
    """The suffix of the fields that hold the stems of this language; "" if it has none."""
    language = language_of(language) or DEFAULT_LANGUAGE
    return language if language in STEMMERS else PAIRS.get(language, "")


def describe_index(*, with_analysis: bool) -> dict[str, Any]:
    """Settings and mapping. A server without its analysis module (a bare test build) knows no stems and no accents."""
    suffixes = [*STEMMERS, *sorted(set(PAIRS.values()))]
    properties: dict[str, Any] = {field: {"type": "text", "analyzer": "words"} for field in FIELDS}
    for field in STEMMED_FIELDS:
        for suffix in suffixes:
            analyzer = f"stems_{suffix}" if with_analysis else "words"
            properties[f"{field}_{suffix}"] = {"type": "text", "analyzer": analyzer, "copy_to": field}
    properties |= {
        name: {"type": "keyword"} for name in ("id", "host", "lang", "language", "crawl", "content_hash", "simhash")
    }
    properties |= {name: {"type": "keyword"} for name in ("site", "duplicate_of", "similar_to", "vocabulary")}
    properties |= {name: {"type": "long"} for name in ("depth", "status", "fetched_at", "published_at")}
    properties |= {"title_key": {"type": "keyword"}, "html_key": _NOT_INDEXED}
    return {
        "settings": {
            "index": {
                "number_of_shards": 1,
                "auto_expand_replicas": "0-1",
                # Else a page that was deleted and is fetched again at once would lose against its own tombstone.
                "gc_deletes": "0ms",
            },
            "analysis": _describe_analysis() if with_analysis else _describe_bare_analysis(),
        },
        "mappings": {
            "dynamic": "strict",
            "_meta": {"orbweaver": VERSION, "analysis": "full" if with_analysis else "bare"},
            # What is made of other fields is searched, not kept.
            "_source": {"excludes": ["site", "language", "vocabulary", "title_key"]},
            "properties": properties,
        },
    }


def _describe_analysis() -> dict[str, Any]:
    base = {"type": "custom", "char_filter": ["letters"], "tokenizer": "standard"}
    analyzers: dict[str, Any] = {"words": {**base, "filter": ["lowercase", "asciifolding"]}}
    filters: dict[str, Any] = {}
    for language, stemmer in STEMMERS.items():
        filters[f"stemmer_{language}"] = {"type": "stemmer", "language": stemmer}
        # Stemmers know the accents of their language: these are folded after, not before.
        analyzers[f"stems_{language}"] = {**base, "filter": ["lowercase", f"stemmer_{language}", "asciifolding"]}
    analyzers["stems_cjk"] = {**base, "filter": ["cjk_width", "lowercase", "cjk_bigram"]}
    letters = {"type": "mapping", "mappings": BREAKERS + ACCENTS + DIGITS}
    return {"analyzer": analyzers, "filter": filters, "char_filter": {"letters": letters}}


def _describe_bare_analysis() -> dict[str, Any]:
    return {"analyzer": {"words": {"type": "custom", "tokenizer": "standard", "filter": ["lowercase"]}}}


def make_source(document: Document) -> dict[str, Any]:
    """What is sent to the server; empty fields are left out, so that ``exists`` means something."""
    source = {name: value for name, value in msgspec.structs.asdict(document).items() if value or value == 0}
    if document.simhash:
        source["simhash"] = str(document.simhash)  # 64 bits unsigned are more than a long
    else:
        del source["simhash"]
    suffix = choose_stems(document.lang)
    if suffix:
        for field in STEMMED_FIELDS:
            if field in source:
                source[f"{field}_{suffix}"] = source.pop(field)
    if language := language_of(document.lang):
        source["language"] = language
    source["site"] = list_sites(document.host)
    title_key = fold(document.title)[:TITLE_KEY_CHARACTERS]
    if title_key:
        source["title_key"] = title_key
    source["vocabulary"] = list_words(document)
    return source


def read_source(source: dict[str, Any]) -> Document:
    suffix = choose_stems(source.get("lang", ""))
    values = dict(source)
    for field in STEMMED_FIELDS if suffix else ():
        if (text := values.pop(f"{field}_{suffix}", None)) is not None:
            values[field] = text
    values["simhash"] = int(values.get("simhash", 0))
    return msgspec.convert(values, Document)


def list_words(document: Document) -> list[str]:
    text = f"{document.title} {document.headings} {document.content[:VOCABULARY_CHARACTERS]}"
    words = (word for word in _WORD.findall(fold(text)) if len(word) <= LONGEST_OFFERED_WORD)
    return list(dict.fromkeys(words))[:VOCABULARY_WORDS]


def fold(text: str) -> str:
    """As the analyser folds: lower case, and no accents of Latin letters. Those of others make other letters."""
    if not text.isascii():
        text = "".join(title_analyzer().analyze(unicodedata.normalize("NFC", text).replace("\u0130", "I")))
    return " ".join(text.lower().split())
