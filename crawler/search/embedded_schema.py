"""What does tantivy keep of a document? Any change raises SCHEMA_VERSION: an index of another version is refused."""

from functools import cache
from urllib.parse import unquote

import msgspec
import tantivy
import xxhash

from crawler.search.analysis import STEMMERS, language_of, plain_analyzer, separate, stem_analyzer, title_analyzer
from crawler.search.document import Document
from crawler.search.query import FIELDS
from crawler.search.ranking import DEFAULT_LANGUAGE
from crawler.search.sites import list_sites

SCHEMA_VERSION = 3
# Short ones: their stems are indexed, and can be asked to stand together. Of the content see ``embedded_forms.py``.
STEMMED_FIELDS = ("title", "headings", "anchors")
LONGEST_TITLE_TERM = 100  # characters; what is typed is shorter

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Document).decode


@cache
def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in ("id", "lang", "crawl", "site", "duplicate"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("title_start", tokenizer_name="title", index_option="basic")
    builder.add_unsigned_field("key", fast=True)  # a hash of the id: fast to read, and spread evenly
    builder.add_integer_field("fetched_at", fast=True)
    for name in FIELDS:
        builder.add_text_field(name, tokenizer_name="plain", index_option="position")
    for name in STEMMED_FIELDS:
        for language in STEMMERS:
            builder.add_text_field(f"{name}_{language}", tokenizer_name=f"stem_{language}", index_option="position")
    builder.add_bytes_field("source", stored=True)
    return builder.build()


def register(index: tantivy.Index) -> None:
    index.register_tokenizer("plain", plain_analyzer())
    index.register_tokenizer("title", title_analyzer())
    for language in STEMMERS:
        index.register_tokenizer(f"stem_{language}", stem_analyzer(language))


def key_of(id_: str) -> int:
    return xxhash.xxh3_64_intdigest(id_.encode())


def encode(document: Document) -> tantivy.Document:
    row = tantivy.Document()
    row.add_text("id", document.id)
    row.add_unsigned("key", key_of(document.id))
    row.add_integer("fetched_at", document.fetched_at)
    language = language_of(document.lang)
    row.add_text("lang", language)
    row.add_text("crawl", document.crawl)
    for site in list_sites(document.host):
        row.add_text("site", site)
    if document.duplicate_of:
        row.add_text("duplicate", "1")
    row.add_text("title_start", " ".join(document.title.split())[:LONGEST_TITLE_TERM])
    plain = ("title", "description", "headings", "content", "anchors")
    texts = {name: separate(getattr(document, name)) for name in plain}
    texts["url"] = separate(unquote(document.url.partition("://")[2]))
    for name, text in texts.items():
        if text:
            row.add_text(name, text)
    for keyword in document.keywords:
        row.add_text("keywords", separate(keyword))
    stemmer = language or DEFAULT_LANGUAGE
    if stemmer in STEMMERS:
        for name in STEMMED_FIELDS:
            if texts[name]:
                row.add_text(f"{name}_{stemmer}", texts[name])
    row.add_bytes("source", _encode(document))
    return row


def decode(row: tantivy.Document) -> Document:
    source = row.get_first("source")
    return _decode(bytes(source) if source is not None else b"")
