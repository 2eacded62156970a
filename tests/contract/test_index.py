"""What every engine must do, whatever it is made of. Queries are trees here; text is the grammar's business."""

import asyncio
from collections.abc import Sequence

import pytest

from crawler.errors import BadQuery
from crawler.search.document import Document
from crawler.search.index import Index
from crawler.search.query import AllOf, AnyOf, Filters, Not, Part, Phrase, Query, Word

DAY_MS = 86_400_000
T0 = 1_767_225_600_000  # 2026-01-01


def page(id_: str, **values) -> Document:
    return Document(
        **{"id": id_, "url": f"https://example.org/{id_}", "host": "example.org", "fetched_at": T0, **values}
    )


async def fill(index: Index, *documents: Document) -> None:
    assert await index.write(documents) == []
    await index.refresh()


async def found(index: Index, part: Part | None, **values) -> list[str]:
    hits = await index.search(Query(part, **values))
    assert hits.total >= len(hits.hits)
    return [hit.document.id for hit in hits.hits]


def words(*texts: str) -> AllOf:
    return AllOf(tuple(Word(text) for text in texts))


@pytest.fixture
def searched(open_index):
    """Writes documents, then answers the sorted ids that each query finds."""

    def search(documents: Sequence[Document], *queries: Part | Query | None) -> list[list[str]]:
        async def work() -> list[list[str]]:
            async with open_index() as index:
                await fill(index, *documents)
                asked = [query if isinstance(query, Query) else Query(query) for query in queries]
                return [[hit.document.id for hit in (await index.search(query)).hits] for query in asked]

        return asyncio.run(work())

    return search


# --- Words -----------------------------------------------------------------------------------


def test_an_empty_index_finds_nothing(searched):
    assert searched([], Word("anything"), None, Phrase(("two", "words"))) == [[], [], []]


def test_a_word_is_found_in_every_field(searched):
    fields = {
        "title": "Quartz",
        "description": "quartz",
        "headings": "quartz",
        "content": "QUARTZ.",
        "anchors": "quartz",
    }
    documents = [page(name, **{name: text}) for name, text in fields.items()]
    documents += [page("keywords", keywords=["rare quartz", "stone"]), page("other", content="feldspar")]
    documents += [page("url", url="https://example.org/quartz/page.html")]
    everywhere, *named = searched(
        documents, Word("quartz"), *(Word("quartz", name) for name in [*fields, "keywords", "url"])
    )
    assert sorted(everywhere) == sorted([*fields, "keywords", "url"])
    assert named == [[name] for name in [*fields, "keywords", "url"]]


def test_case_and_accents_do_not_matter(searched):
    documents = [page("a", content="Ein Café in Zürich"), page("b", content="a cafe in Zurich")]
    for ids in searched(
        documents, Word("CAFE"), Word("café"), Word("zürich"), Word("cafe\u0301"), Word("zur", kind="prefix")
    ):
        assert sorted(ids) == ["a", "b"]
    documents = [page("a", content="İstanbul"), page("b", title="istanbul"), page("c", content="ﬁnance Ｆｕｌｌ")]
    plain, capital, begin, ligature, wide = searched(
        documents, Word("istanbul"), Word("İSTANBUL"), Word("İstan", kind="prefix"), Word("ﬁna", kind="prefix"),
        Word("Ｆｕ?l", kind="wildcard"),
    )  # fmt: skip
    assert sorted(plain) == sorted(capital) == sorted(begin) == ["a", "b"]
    assert ligature == wide == ["c"]


def test_stems_are_found_by_the_language_of_the_page(searched):
    documents = [
        page("en", lang="en", content="How to crawl the web"),
        page("de", lang="de", content="Die Häuser der Stadt"),
        page("none", content="They crawled politely"),
    ]
    crawling, houses, capital = searched(documents, Word("crawling"), Word("Haus"), Word("CRAWLS"))
    assert sorted(crawling) == sorted(capital) == ["en", "none"]
    assert houses == ["de"]


def test_stems_are_found_on_pages_of_their_language_only(searched):
    """The German stems of "pointer" and of "Kinder" are other words of English."""
    documents = [
        page("child", lang="de", content="ein Kind"),
        page("kind", lang="en", content="of this kind and no other point"),
        page("none", content="one of the pointers"),
    ]
    assert searched(documents, Word("Kinder"), Word("pointer"), Word("Kinds", "title")) == [["child"], ["none"], []]


def test_a_short_stem_may_lose_its_last_letter(searched):
    documents = [page("use", content="use it"), page("using", content="using it"), page("user", content="the user")]
    [ids] = searched(documents, Word("used"))
    assert sorted(ids) == ["use", "using"]


def test_what_separates_words(searched):
    documents = [
        page("fa", lang="fa", content="می\u200cخواهم کتاب\u200cها را"),
        page("fr", lang="fr", content="Quel été\u202f! Mille: 1\u202f000"),
        page("he", lang="he", content='זה צה"ל'),
        page("en", content="CO₂ of 20 m² ①"),
    ]
    answers = searched(
        documents, Word("خواهم"), Phrase(("کتاب", "ها")), Word("ete"), Phrase(("1", "000")), Phrase(("צה", "ל")),
        Word("co2"), Word("CO₂"), Word("m²"), Word("m"),
    )  # fmt: skip
    assert answers == [["fa"], ["fa"], ["fr"], ["fr"], ["he"], ["en"], ["en"], ["en"], []]


def test_names_with_punctuation_are_words_beside_each_other(searched):
    documents = [page("a", content="Call pandas.read_csv(path) first"), page("b", content="csv, then read it")]
    part, whole, dotted = searched(documents, Word("csv"), Phrase(("read", "csv")), Phrase(("pandas", "read")))
    assert sorted(part) == ["a", "b"]
    assert (whole, dotted) == (["a"], ["a"])


def test_text_without_spaces_is_found(searched):
    documents = [page("ja", lang="ja", content="東京都に住んでいます"), page("zh", lang="zh", title="北京大学")]
    assert searched(documents, Word("東京"), Word("京都"), Word("大学"), Word("東大")) == [["ja"], ["ja"], ["zh"], []]
    assert searched(documents, Word("東"), Phrase(("東",)), Phrase(("大",), "title")) == [["ja"], ["ja"], ["zh"]]


def test_half_width_letters_and_syllables_of_korean_are_found(searched):
    documents = [page("ja", lang="ja", content="ﾃﾞｰﾀのｶﾀｶﾅ"), page("ko", lang="ko", content="책을 읽다")]
    kana, data, book, none = searched(documents, Word("カタカナ"), Word("データ"), Word("책"), Word("글"))
    assert (kana, data, book, none) == (["ja"], ["ja"], ["ko"], [])


def test_all_words_must_match_in_whatever_fields(searched):
    documents = [
        page("a", title="Interactive", content="rebase"),
        page("b", content="rebase"),
        page("c", title="rebase"),
    ]
    assert searched(documents, words("interactive", "rebase"), words("rebase", "absent")) == [["a"], []]


def test_any_of_and_not(searched):
    documents = [page("a", content="red green"), page("b", content="red"), page("c", content="blue")]
    either, neither, only_not, nested = searched(
        documents,
        AnyOf((Word("green"), Word("blue"))),
        AllOf((Word("red"), Not(Word("green")))),
        Not(Word("red")),
        AllOf((AnyOf((Word("red"), Word("blue"))), Not(AnyOf((Word("green"), Word("blue")))))),
    )
    assert sorted(either) == ["a", "c"]
    assert (neither, only_not, nested) == (["b"], ["c"], ["b"])


def test_phrases_keep_their_order(searched):
    documents = [page("a", content="one two three"), page("b", content="two one three"), page("c", title="One-two")]
    everywhere, in_title, backwards, apart, single = searched(
        documents,
        Phrase(("one", "two")), Phrase(("one", "two"), "title"), Phrase(("three", "two")), Phrase(("one", "three")),
        Phrase(("three",)),
    )  # fmt: skip
    assert sorted(everywhere) == ["a", "c"]
    assert (in_title, backwards, apart) == (["c"], [], ["b"])
    assert sorted(single) == ["a", "b"]


def test_fuzzy_words(searched):
    documents = [page("a", content="asynchronous"), page("b", content="cart"), page("c", content="unrelated")]
    two, one, too_far = searched(
        documents, Word("asyncronuos", kind="fuzzy"), Word("cat", kind="fuzzy"), Word("xyz", kind="fuzzy")
    )
    assert (two, one, too_far) == (["a"], ["b"], [])


def test_accents_that_stand_by_themselves_are_no_letters(searched):
    documents = [page("a", content="naïve"), page("b", content="unrelated words of other pages")]
    assert searched(documents, Word("nai\u0308ce", kind="fuzzy"), Word("nai\u0308", kind="prefix")) == [["a"], ["a"]]


def test_a_word_of_two_letters_has_none_that_are_nearly_so(searched):
    documents = [page("one", content="c"), page("two", content="x is by"), page("three", content="go")]
    assert searched(documents, Word("C", kind="fuzzy"), Word("go", kind="fuzzy"), Word("q", kind="fuzzy")) == [
        ["one"], ["three"], [],
    ]  # fmt: skip


def test_wildcards(searched):
    documents = [page("a", title="asyncio"), page("b", content="Asynchronous"), page("c", content="wold wild")]
    prefix, one, many, leading, in_field = searched(
        documents,
        Word("Async", kind="prefix"), Word("w?ld", kind="wildcard"), Word("a*s", kind="wildcard"),
        Word("*chronous", kind="wildcard"), Word("asyn", "title", "prefix"),
    )  # fmt: skip
    assert sorted(prefix) == ["a", "b"]
    assert (one, many, leading, in_field) == (["c"], ["b"], ["b"], ["a"])


def test_what_a_wildcard_says_besides_stars_is_plain_text(searched):
    documents = [page("a", content="alpha")]
    assert searched(documents, Word("a(.*", kind="wildcard"), Word("[a-z]*", kind="wildcard")) == [[], []]


# --- Filters, order, pages -------------------------------------------------------------------


def test_a_host_means_those_below_it_too(searched):
    hosts = {"a": "python.org", "b": "docs.python.org", "c": "notpython.org", "d": "python.org.evil.example"}
    documents = [page(id_, host=host, content="word") for id_, host in hosts.items()]
    within, below, without, both = searched(
        documents,
        Query(Word("word"), Filters(hosts=("python.org",))),
        Query(None, Filters(hosts=("docs.python.org", "notpython.org"))),
        Query(Word("word"), Filters(not_hosts=("python.org",))),
        Query(None, Filters(hosts=("python.org",), not_hosts=("docs.python.org",))),
    )
    assert sorted(within) == ["a", "b"]
    assert sorted(below) == ["b", "c"]
    assert sorted(without) == ["c", "d"]
    assert both == ["a"]


def test_a_port_is_part_of_a_host_when_it_is_named(searched):
    hosts = {"a": "localhost:8080", "b": "localhost:9090", "c": "docs.localhost:8080", "d": "localhost"}
    documents = [page(id_, host=host) for id_, host in hosts.items()]
    one, every = searched(
        documents, Query(None, Filters(hosts=("localhost:8080",))), Query(None, Filters(hosts=("localhost",)))
    )
    assert sorted(one) == ["a", "c"]
    assert sorted(every) == ["a", "b", "c", "d"]


def test_languages_crawls_and_dates(searched):
    documents = [
        page("a", lang="de", crawl="one", fetched_at=T0),
        page("b", lang="en", crawl="two", fetched_at=T0 + DAY_MS),
        page("c", lang="fr", crawl="two", fetched_at=T0 + 2 * DAY_MS),
    ]
    languages, crawl, after, before, between = searched(
        documents,
        Query(None, Filters(languages=("de", "fr"))),
        Query(None, Filters(crawl="two")),
        Query(None, Filters(after_ms=T0 + DAY_MS)),
        Query(None, Filters(before_ms=T0 + DAY_MS)),
        Query(None, Filters(after_ms=T0 + 1, before_ms=T0 + 2 * DAY_MS)),
    )
    assert (sorted(languages), sorted(crawl), sorted(after)) == (["a", "c"], ["b", "c"], ["b", "c"])
    assert (before, between) == (["a"], ["b"])


def test_order(searched):
    documents = [page(f"p{n}", content="word " * (n + 1), fetched_at=T0 + (n * 7 % 5) * DAY_MS) for n in range(5)]
    newest, oldest = searched(documents, Query(Word("word"), sort="newest"), Query(Word("word"), sort="oldest"))
    times = {document.id: document.fetched_at for document in documents}
    assert newest == sorted(times, key=lambda id_: -times[id_])
    assert oldest == newest[::-1]


def test_a_title_counts_more_than_text(searched):
    documents = [
        page("text", title="Something else", content="rebase " + "and other words of a page " * 5),
        page("title", title="git rebase", content="words of a page " * 30),
        page("anchor", title="A page", anchors="rebase", content="words of a page " * 30),
    ]
    [ids] = searched(documents, Word("rebase"))
    assert ids[0] == "title"
    assert sorted(ids) == ["anchor", "text", "title"]


def test_words_that_stand_together_come_first(searched):
    documents = [
        page("apart", content="list of things. " + "filler words here. " * 20 + "comprehension of text."),
        page("together", content="filler words here. " * 20 + "a list comprehension of things, text."),
    ]
    [ids] = searched(documents, words("list", "comprehension"))
    assert ids == ["together", "apart"]


def test_what_is_not_there_does_not_count_for_the_rank(searched):
    documents = [page("other", content="unrelated"), *(page(f"w{n}", content="word of a page") for n in range(20))]
    [ids] = searched(documents, AnyOf((Word("page"), Not(Word("page")))))
    assert "other" not in ids


def test_scores_fall(open_index):
    async def work() -> None:
        async with open_index() as index:
            await fill(index, *(page(f"p{n}", content="word " * n + "other " * 20) for n in range(1, 9)))
            scores = [hit.score for hit in (await index.search(Query(Word("word")))).hits]
            assert scores == sorted(scores, reverse=True)
            assert min(scores) > 0

    asyncio.run(work())


def test_pages_of_results_cover_everything_once(open_index):
    async def work() -> None:
        async with open_index() as index:
            await fill(index, *(page(f"p{n}", content="same text") for n in range(25)))
            for order in ("relevance", "newest", "oldest"):  # all are equal, by score and by date
                seen: list[str] = []
                for number in (1, 2, 3, 4):
                    hits = await index.search(Query(Word("text"), sort=order, page=number, per_page=10))
                    assert hits.total == 25
                    seen += [hit.document.id for hit in hits.hits]
                assert len(seen) == len(set(seen)) == 25
            for number, per_page in ((10**9, 10), (0, 10), (1, 0), (1, 10**9)):
                with pytest.raises(BadQuery, match=f"page {number} of {per_page}"):
                    await index.search(Query(Word("text"), page=number, per_page=per_page))

    asyncio.run(work())


def test_copies_are_left_out_unless_asked_for(searched):
    documents = [page("a", content="word"), page("b", content="word", duplicate_of="a")]
    assert searched(documents, Word("word"), None) == [["a"], ["a"]]


def test_copies_can_be_asked_for(searched):
    documents = [page("a", content="word"), page("b", content="word", duplicate_of="a")]
    [ids] = searched(documents, Query(Word("word"), with_duplicates=True))
    assert sorted(ids) == ["a", "b"]


# --- Writing ---------------------------------------------------------------------------------


def test_a_document_comes_back_as_it_was(open_index):
    full = Document(
        id="0123456789abcdef", url="https://example.org/ä?q=1", title="T <b>", description="d", keywords=["k", "l m"],
        headings="h", content="c\n\nd 𝄞", anchors="a", host="example.org", lang="en", depth=3, status=203,
        fetched_at=T0, published_at=T0 - 5, content_hash="f" * 64, simhash=2**64 - 1, duplicate_of="x", similar_to="y",
        html_key="pages/2026-01-01/0123456789abcdef.html.gz", crawl="c1",
    )  # fmt: skip

    async def work() -> None:
        async with open_index() as index:
            await fill(index, full)
            assert await index.get(full.id) == full
            assert await index.get("absent") is None

    asyncio.run(work())


def test_a_late_write_never_overwrites_a_newer_page(open_index):
    old, new = page("a", title="old", fetched_at=T0), page("a", title="new", fetched_at=T0 + 1)

    async def work() -> None:
        async with open_index() as index:
            await fill(index, new)
            await fill(index, old)
            assert (await index.get("a")) == new
            assert await found(index, Word("old")) == []
            await fill(index, page("a", title="newest", fetched_at=T0 + 2))
            assert await found(index, Word("newest")) == ["a"]
            assert await found(index, Word("new")) == []

    asyncio.run(work())


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_nor_does_it_within_one_batch(open_index, order):
    async def work() -> None:
        async with open_index() as index:
            await fill(index, *(page("a", title=f"version{n}", fetched_at=T0 + n) for n in order))
            hits = await index.search(Query(None))
            assert [hit.document.title for hit in hits.hits] == ["version3"]
            assert hits.total == 1

    asyncio.run(work())


def test_writing_again_changes_nothing(open_index):
    async def work() -> None:
        async with open_index() as index:
            documents = [page(f"p{n}", content="word") for n in range(5)]
            await fill(index, *documents)
            await fill(index, *documents)
            assert (await index.search(Query(Word("word")))).total == 5
            assert (await index.stats()).documents == 5

    asyncio.run(work())


def test_poison_is_answered_and_the_rest_is_written(open_index):
    async def work() -> None:
        async with open_index() as index:
            bad = [page(""), page("x" * 600), page("late", fetched_at=2**63)]
            poison = await index.write([page("a", content="word"), *bad, page("b", content="word")])
            assert [one.document for one in poison] == bad
            assert all(one.error for one in poison)
            await index.refresh()
            assert sorted(await found(index, Word("word"))) == ["a", "b"]

    asyncio.run(work())


def test_what_no_engine_can_hold_is_cleaned_or_cut(open_index):
    async def work() -> None:
        async with open_index() as index:
            dirty = page("a", title="lone \ud800 surrogate", content="zero \0 byte")
            large = page("b", content="begin " + "word " * 1_000_000 + "end")
            endless = page("c", content="begin " + "x" * 100_000)
            await fill(index, dirty, large, endless)
            assert sorted(await found(index, Word("begin"))) == ["b", "c"]
            assert await found(index, words("surrogate", "byte")) == ["a"]
            kept = await index.get("b")
            assert kept is not None
            assert 100_000 < len(kept.content) <= 1_000_000
            assert await found(index, Word("end")) == []

    asyncio.run(work())


def test_no_documents_are_no_work(open_index):
    async def work() -> None:
        async with open_index() as index:
            assert await index.write([]) == []
            await index.delete([])

    asyncio.run(work())


def test_deleted_documents_are_gone(open_index):
    async def work() -> None:
        async with open_index() as index:
            await fill(index, page("a", content="word"), page("b", content="word"))
            await index.delete(["a", "absent"])
            await index.refresh()
            assert await found(index, Word("word")) == ["b"]
            assert await index.get("a") is None

    asyncio.run(work())


def test_what_was_written_is_there_when_it_is_opened_again(open_index):
    async def work() -> None:
        async with open_index() as index:
            await fill(index, page("a", content="word"))
        async with open_index() as index:
            assert await found(index, Word("word")) == ["a"]

    asyncio.run(work())


def test_one_writes_while_another_searches(open_index):
    async def work() -> None:
        async with open_index() as writer, open_index() as reader:
            assert await found(reader, Word("word")) == []
            for n in range(3):
                await fill(writer, page(f"p{n}", content="word"))
                await reader.refresh()
                assert len(await found(reader, Word("word"))) == n + 1

    asyncio.run(work())


def test_all_documents_can_be_read(open_index):
    async def work() -> None:
        async with open_index() as index:
            written = [page(f"p{n}", content=f"word{n}", duplicate_of="p0" if n % 2 else "") for n in range(57)]
            await fill(index, *written)
            read = [document async for document in index.documents()]
            assert sorted(read, key=lambda document: document.id) == sorted(written, key=lambda document: document.id)

    asyncio.run(work())


def test_optimising_loses_nothing(open_index):
    async def work() -> None:
        async with open_index() as index:
            for n in range(4):
                await fill(index, page(f"p{n}", content="word"), page("again", content="word", fetched_at=T0 + n))
            await index.optimise()
            await index.refresh()
            assert sorted(await found(index, Word("word"))) == ["again", "p0", "p1", "p2", "p3"]
            await fill(index, page("after", content="word"))
            assert len(await found(index, Word("word"))) == 6

    asyncio.run(work())


def test_stats_and_clearing(open_index):
    async def work() -> None:
        async with open_index() as index:
            await fill(index, page("a"), page("b"))
            stats = await index.stats()
            assert stats.documents == 2
            assert stats.bytes > 0
            assert any(letter.isdigit() for letter in stats.engine)
            await index.clear()
            await index.refresh()
            assert (await index.stats()).documents == 0
            await fill(index, page("c", content="word"))
            assert await found(index, Word("word")) == ["c"]

    asyncio.run(work())


# --- Words as you type -----------------------------------------------------------------------


def test_completions_are_the_commonest_words_and_titles(open_index):
    async def work() -> None:
        async with open_index() as index:
            await fill(
                index,
                *(page(f"c{n}", content="comprehension") for n in range(3)),
                *(page(f"d{n}", content="compressed") for n in range(2)),
                page("t", title="Compiling Python", content="other"),
            )
            answers = await index.complete("Compr", 5)
            assert answers == ["comprehension", "compressed"]
            assert "Compiling Python" in await index.complete("compi", 5)
            assert len(await index.complete("comp", 1)) == 1
            assert await index.complete("zz", 5) == []
            assert await index.complete("", 5) == []

    asyncio.run(work())


def test_completions_and_corrections_keep_what_is_no_accent(open_index):
    async def work() -> None:
        async with open_index() as index:
            await fill(index, *(page(f"p{n}", title=f"What’s {n}", content="поисковый 서울특별시") for n in range(20)))
            assert await index.complete("поиск", 5) == ["поисковый"]
            assert await index.complete("What's 1", 1) == ["What’s 1"]
            assert await index.correct(["поисквый", "поисковый"]) == {"поисквый": "поисковый"}

    asyncio.run(work())


def test_misspelt_words_are_corrected_to_common_ones(open_index):
    async def work() -> None:
        async with open_index() as index:
            await fill(index, *(page(f"p{n}", content="asynchronous generator") for n in range(20)))
            assert await index.correct(["asynchronuos", "Genrator", "generator", "xylophone", ""]) == {
                "asynchronuos": "asynchronous", "Genrator": "generator",
            }  # fmt: skip
            assert await index.correct([]) == {}

    asyncio.run(work())


def test_a_word_of_the_index_is_put_aside_for_one_that_is_much_commoner_and_a_letter_away(open_index):
    async def work() -> None:
        async with open_index() as index:
            await fill(
                index,
                *(page(f"p{n}", content="receive generated") for n in range(30)),
                page("typo", content="recieve generator"),
            )
            assert await index.correct(["recieve", "generator", "receive"]) == {"recieve": "receive"}

    asyncio.run(work())


def test_a_field_that_is_none_is_told(open_index):
    async def work() -> None:
        async with open_index() as index:
            for part in (Word("x", "nosuch"), Phrase(("x", "y"), "nosuch"), Not(Word("x", "nosuch", "fuzzy"))):
                with pytest.raises(BadQuery, match=r"'nosuch'.*title"):
                    await index.search(Query(part))

    asyncio.run(work())


def test_words_that_no_page_has_change_nothing_but_what_they_must(searched):
    documents = [page("a", title="red green", content="blue"), page("b", content="green")]
    absent = Word("absent")
    either, both, without, nothing, phrase = searched(
        documents,
        AnyOf((absent, Word("green"))),
        AllOf((absent, Word("green"))),
        AllOf((Word("green"), Not(absent))),
        AnyOf((absent, AllOf((Word("red"), absent)))),
        Phrase(("green", "absent")),
    )
    assert sorted(either) == sorted(without) == ["a", "b"]
    assert (both, nothing, phrase) == ([], [], [])
