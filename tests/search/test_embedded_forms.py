"""Words of one stem: found in the dictionary of the index, and counted as if they were one word."""

import pytest

from crawler.search.document import Document
from crawler.search.embedded_forms import MOST_FORMS, Forms
from crawler.search.embedded_reader import Reader
from crawler.search.grammar import parse
from crawler.search.query import Query, Word
from tests.search.pages import page, with_index


def forms_of(path, word: str, language: str, *documents: Document) -> dict[str, float]:
    async def work(index) -> dict[str, float]:
        searcher = Reader(index._files).snapshot().searcher
        return dict(Forms(searcher).find(word, language))

    return with_index(path, work, *documents)


def found(path, word: str, *documents: Document) -> list[str]:
    async def work(index) -> list[str]:
        return [hit.document.id for hit in (await index.search(Query(Word(word)))).hits]

    return with_index(path, work, *documents)


@pytest.mark.parametrize(
    ("language", "word", "text", "expected"),
    [
        ("en", "crawling", "crawl crawls crawled crawling crawler craw", {"crawl", "crawls", "crawled"}),
        ("en", "happy", "happiness happy happen", {"happiness"}),
        ("en", "try", "tries tried trying try tree", {"tries", "tried", "trying"}),
        ("en", "use", "uses using user us", {"uses", "using"}),
        ("en", "tries", "try trie tree", {"try"}),
        ("en", "run", "runs running ruin rung", {"runs", "running"}),
        ("de", "haus", "Häuser Hauses Haus Hausse", {"hauser", "hauses"}),
        ("fr", "continuer", "continu continué continuation contenu", {"continu", "continue", "continuation"}),
        ("ru", "книга", "книги книгу книгами книжный", {"книги", "книгу", "книгами"}),
        ("ar", "كتاب", "الكتاب بالكتاب وكتاب كاتب", {"الكتاب", "بالكتاب", "وكتاب"}),
        ("ar", "الكتاب", "كتاب", {"كتاب"}),
    ],
)
def test_forms_of_a_word(tmp_path, language, word, text, expected):
    assert set(forms_of(tmp_path, word, language, page("a", lang=language, content=text))) == expected


def test_forms_are_found_on_pages_of_their_language_only(tmp_path):
    """As on servers, where each language has its own stems: the German stem of "pointer" and of "Kinder" is another
    word in English.
    """
    documents = [
        page("child", lang="de", content="ein Kind"),
        page("kind", lang="en", content="of this kind"),
        page("none", content="pointers of no known language"),
        page("point", lang="en", content="no point in it"),
        page("pt", lang="de-AT", content="Point"),
    ]
    assert found(tmp_path, "Kinder", *documents) == ["child"]
    assert sorted(found(tmp_path, "pointer")) == ["none", "pt"]


def test_languages_without_stems_take_no_place_of_others(tmp_path):
    """Only the commonest languages are looked at."""
    documents = [
        page(f"{code}{n}", lang=code, content="x") for code in ("zh", "ja", "ko", "th", "pl", "cs") for n in "ab"
    ]
    assert found(tmp_path, "Haus", page("de", lang="de", content="Häuser"), *documents) == ["de"]


@pytest.mark.parametrize("word", ["2026", "a1", "", "x" * 31, "北京", "½"])
def test_what_is_no_word_has_no_forms(tmp_path, word):
    assert forms_of(tmp_path, word, "en", page("a", content=f"2026s a1s {'x' * 31}s 北京大学 ½")) == {}


def test_words_that_cannot_be_cut_again_do_not_disturb_the_others(tmp_path):
    """Accents folded, one letter becomes several signs; and some words are longer than any in a language."""
    text = f"crawls crawl½s crawl{'s' * 200} crawlﬃ"
    assert set(forms_of(tmp_path, "crawl", "en", page("a", content=text))) == {"crawls"}


def test_the_commonest_forms_are_asked_for(tmp_path):
    """A language may have hundreds."""
    text = "talon taloa taloon talossa talosta talolla talolta talolle talona taloksi talotta talomme talonne"
    documents = [page("all", lang="fi", content=text)]
    documents += [page(f"p{n}", lang="fi", content="talossa talosta") for n in range(3)]
    forms = forms_of(tmp_path, "talo", "fi", *documents)
    assert len(forms) <= MOST_FORMS
    assert {"talossa", "talosta"} <= set(forms)


def test_a_rare_form_does_not_count_for_more_than_a_common_word(tmp_path):
    """One page says "crawls"; by that alone BM25 would put it before the pages that say what was asked for."""
    common = [page(f"p{n}", content=f"crawling page number {n}") for n in range(40)]
    rest = [page(f"o{n}", content=f"other page number {n}") for n in range(40)]
    order = found(tmp_path, "crawling", page("rare", content="crawls page number x"), *common, *rest)
    assert "rare" not in order
    forms = forms_of(tmp_path, "crawling", "en")
    assert 0 < forms["crawls"] < 0.3


def test_who_excludes_a_word_keeps_its_other_forms(tmp_path):
    async def work(index) -> list[str]:
        return [hit.document.id for hit in (await index.search(parse("page -crawls"))).hits]

    documents = [page("a", content="page crawls"), page("b", content="page crawled")]
    assert with_index(tmp_path, work, *documents) == ["b"]
