"""Can this document be indexed as it is?"""

import pytest

from crawler.search.cleaning import LONGEST, MOST_KEYWORDS, Unfit, prepare
from tests.search.pages import page


def test_an_ordinary_document_is_not_touched():
    document = page("a", title="Tïtle", content="text", keywords=["k"], simhash=2**64 - 1)
    assert prepare(document) is document


def test_texts_are_cut_and_cleaned():
    dirty = page(
        "a", keywords=["k" * 999] * 999, **{name: "\ud83d\0" + "x" * (most + 5) for name, most in LONGEST.items()}
    )
    clean = prepare(dirty)
    for name, most in LONGEST.items():
        text = getattr(clean, name)
        assert len(text) == most
        assert text.startswith("\ufffd x")
        text.encode()
    assert len(clean.keywords) == MOST_KEYWORDS


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"id_": ""}, "id"), ({"id_": "é" * 300}, "id"), ({"id_": "\ud800"}, "id"),
        ({"id_": "a", "url": "x" * 9000}, "URL"),
        ({"id_": "a", "fetched_at": -1}, "fetched_at"), ({"id_": "a", "simhash": 2**64}, "simhash"),
        ({"id_": "a", "title": None}, "type"), ({"id_": "a", "keywords": [1]}, "type"), ({"id_": 1}, "type"),
        ({"id_": "a", "host": "a\0b"}, "host"), ({"id_": "a", "crawl": "\udfff"}, "crawl"),
    ],
)  # fmt: skip
def test_what_no_engine_takes_is_named(values, named):
    with pytest.raises(Unfit, match=named):
        prepare(page(**values))
