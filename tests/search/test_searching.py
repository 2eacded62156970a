"""What is answered to somebody who searches?"""

import json

import msgspec
import pytest

from crawler.errors import BadQuery
from crawler.search.query import Filters
from crawler.search.searching import search, suggest
from tests.search.pages import T0, page, with_index


def test_the_shape_of_an_answer(tmp_path):
    document = page("a", title="Example Page", content="some words", lang="en", crawl="c1", html_key="pages/x.html.gz")
    results = with_index(tmp_path, lambda index: search(index, "words"), document)
    answer = json.loads(msgspec.json.encode(results))
    assert (answer["total_results"], answer["page"], answer["per_page"]) == (1, 1, 10)
    [result] = answer["results"]
    assert result.pop("score") > 0
    assert result == {
        "url": "https://example.org/a", "title": "Example Page", "title_html": "Example Page",
        "snippet": "some <mark>words</mark>", "id": "a", "host": "example.org", "lang": "en", "fetched_at": T0,
        "crawl": "c1", "html_key": "pages/x.html.gz",
    }  # fmt: skip
    assert answer["took_ms"] >= 0
    assert answer["suggestion"] == ""


def test_pages_and_filters_beside_the_text(tmp_path):
    documents = [page(f"p{n}", content="word", lang="de" if n % 2 else "en", fetched_at=T0 + n) for n in range(25)]

    async def work(index):
        third = await search(index, "word", page=3)
        assert (third.total_results, len(third.results), third.page) == (25, 5, 3)
        german = await search(index, "word", filters=Filters(languages=("de",)), sort="newest", per_page=3)
        assert (german.total_results, [result.id for result in german.results]) == (12, ["p23", "p21", "p19"])
        assert (await search(index, '"word', sort="oldest")).results[0].id == "p0"
        assert (await search(index, "word", page=4)).results == []

    with_index(tmp_path, work, *documents)


def test_a_page_is_found_by_its_url(tmp_path):
    documents = [page("a/b.html"), page("b.html")]
    for text in ("https://example.org/a/b.html", "url:https://example.org/a/b.html", '"https://example.org/a/b.html"'):
        results = with_index(tmp_path, lambda index, text=text: search(index, text), *documents).results
        assert [result.id for result in results] == ["a/b.html"]


@pytest.mark.parametrize("text", ["", "x" * 5000, "site:", "ab* " * 9])
def test_bad_searches_raise(tmp_path, text):
    with pytest.raises(BadQuery):
        with_index(tmp_path, lambda index: search(index, text))


def test_did_you_mean(tmp_path):
    documents = [page(f"p{n}", content="asynchronous generator") for n in range(20)]

    async def work(index):
        assert (await search(index, "asynchronuos genrator -site:b.org")).suggestion == (
            "asynchronous generator -site:b.org"
        )
        assert (await search(index, "asynchronous absent")).suggestion == ""
        assert (await search(index, "generator")).suggestion == ""

    with_index(tmp_path, work, *documents)


def test_hostile_pages_come_out_harmless(tmp_path):
    attack = "<script>alert('x')</script>"
    documents = [
        page("a", title=f"word {attack} \x1b[2J", content=f"word {attack}", description=attack),
        page("b", url="javascript:alert(1)//word", title="word"),
        page("c", url="https://example.org/\x1b[31m/\u202eword", title=""),
    ]
    results = with_index(tmp_path, lambda index: search(index, "word"), *documents).results
    assert {result.id for result in results} == {"a", "b", "c"}
    for result in results:
        for text in (result.title_html, result.snippet):
            assert "<" not in text.replace("<mark>", "").replace("</mark>", "")
        assert result.url == "" or result.url.startswith("https://example.org/")
        assert not any(letter < " " or letter in "\x7f\u202e" for letter in result.url + result.title + result.snippet)


def test_suggestions_as_you_type(tmp_path):
    documents = [page("a", title="List comprehensions \x1b[2J", content="lists listing"), page("b", content="listing")]

    async def work(index):
        assert await suggest(index, "list") == ["listing", "list", "lists", "List comprehensions [2J"]
        assert await suggest(index, "list compr") == ["List comprehensions [2J"]
        assert await suggest(index, "") == []
        assert await suggest(index, "list", most=-5) == []
        assert await suggest(index, "\0\ud800 " * 1000) == []

    with_index(tmp_path, work, *documents)
