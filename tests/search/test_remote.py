"""What is special to an index on a server: its mapping, its alias, its batches, and what it is asked for."""

import asyncio
import logging
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from crawler.errors import BadQuery, EngineRefused
from crawler.search import mapping
from crawler.search.bulk import describe
from crawler.search.document import Document
from crawler.search.dsl import build_search
from crawler.search.grammar import parse
from crawler.search.mapping import choose_stems, make_source, read_source
from crawler.search.query import AllOf, AnyOf, Not, Phrase, Query, Word
from crawler.search.searching import search, suggest
from tests.search.conftest import RemoteEngine
from tests.search.engine_proxy import EngineProxy
from tests.search.engine_server import ask
from tests.search.pages import SEARCHES

T0 = 1_767_225_600_000


def page(id_: str, **values) -> Document:
    return Document(**{"id": id_, "url": f"https://example.org/{id_}", "fetched_at": T0, **values})


# --- The index and its alias -----------------------------------------------------------------


def test_many_workers_open_a_new_index_at_once(remote: RemoteEngine):
    async def work() -> None:
        async def start(number: int) -> None:
            async with remote.open() as index:
                await index.write([page(f"p{number}")])

        await asyncio.gather(*(start(number) for number in range(8)))

    asyncio.run(work())
    assert remote.count() == 8
    assert len(ask(remote.url, "GET", f"/{remote.name}/_alias")) == 1


def test_an_index_of_another_version_is_refused(remote: RemoteEngine, monkeypatch):
    async def work() -> None:
        async with remote.open():
            pass
        monkeypatch.setattr("crawler.search.remote.VERSION", mapping.VERSION + 1)
        with pytest.raises(EngineRefused, match=f"has version {mapping.VERSION}, and .*--rebuild"):
            async with remote.open():
                pass

    asyncio.run(work())


def test_an_index_of_somebody_else_is_refused(remote: RemoteEngine):
    async def work() -> None:
        ask(remote.url, "PUT", f"/{remote.name}", {})
        try:
            with pytest.raises(EngineRefused, match="not made by us"):
                async with remote.open():
                    pass
        finally:
            ask(remote.url, "DELETE", f"/{remote.name}")

    asyncio.run(work())


def test_an_index_that_was_deleted_is_made_anew_with_its_mapping(remote: RemoteEngine):
    async def work() -> None:
        async with remote.open() as index:
            await index.write([page("a")])
            ask(remote.url, "DELETE", f"/{remote.name}-000001")
            assert await index.write([page("b"), page("c")]) == []
        [made] = ask(remote.url, "GET", f"/{remote.name}/_mapping").values()
        assert made["mappings"]["_meta"]["orbweaver"] == mapping.VERSION
        assert made["mappings"]["dynamic"] == "strict"

    asyncio.run(work())
    assert remote.count() == 2


def test_clearing_never_leaves_a_moment_without_an_index(remote: RemoteEngine):
    async def work() -> None:
        async with remote.open() as index, remote.open() as other:
            done = asyncio.Event()

            async def keep_writing() -> None:
                number = 0
                while not done.is_set():
                    assert await other.write([page(f"w{number}", content="word")]) == []
                    await other.search(Query(Word("word")))
                    number += 1

            writing = asyncio.create_task(keep_writing())
            for _ in range(3):
                await index.clear()
            done.set()
            await writing
        [name] = ask(remote.url, "GET", f"/{remote.name}/_mapping")
        assert name.startswith(f"{remote.name}-")

    asyncio.run(work())


def test_a_page_that_was_deleted_can_be_written_again(remote: RemoteEngine):
    async def work() -> None:
        async with remote.open() as index:
            await index.write([page("a", title="one")])
            await index.delete(["a"])
            await index.refresh()
            assert await index.get("a") is None
            # Its tombstone has a higher version for the blink of an eye.
            async with asyncio.timeout(10):
                while await index.get("a") is None:
                    await index.write([page("a", title="one")])
        assert remote.count() == 1

    asyncio.run(work())


def test_a_server_of_the_other_kind_is_refused(opensearch_url):
    async def work() -> None:
        with pytest.raises(EngineRefused, match=r"no Elasticsearch.*opensearch"):
            async with RemoteEngine("elasticsearch", opensearch_url, "never-made").open():
                pass

    asyncio.run(work())


def test_a_server_without_analysis_says_so(elasticsearch_url, caplog):
    async def work() -> str:
        engine = RemoteEngine("elasticsearch", elasticsearch_url, "bare-or-not")
        async with engine.open():
            [made] = ask(elasticsearch_url, "GET", "/bare-or-not/_mapping").items()
            ask(elasticsearch_url, "DELETE", f"/{made[0]}")
            return str(made[1]["mappings"]["_meta"]["analysis"])

    with caplog.at_level(logging.WARNING, "crawler.search.remote"):
        kind = asyncio.run(work())
    assert ("no analysis module" in caplog.text) == (kind == "bare")


# --- Batches ---------------------------------------------------------------------------------


def test_bulks_are_cut_by_count_and_by_bytes(remote: RemoteEngine):
    async def work() -> None:
        async with EngineProxy(remote.url) as proxy:
            async with remote.open(proxy.url, batch_documents=10) as index:
                await index.write([page(f"p{n}") for n in range(25)])
                assert [count for count, _ in proxy.bulks] == [10, 10, 5]
            proxy.bulks.clear()
            async with remote.open(proxy.url, batch_bytes=50_000) as index:
                await index.write([page(f"q{n}", content="word " * 2000) for n in range(12)])
                assert all(size <= 50_000 for _, size in proxy.bulks)
                assert len(proxy.bulks) >= 3
                await index.write([page("large", content="word " * 20_000)])
        assert remote.count() == 38

    asyncio.run(work())


# --- Documents -------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["", "en", "de", "de-AT", "nb", "ja", "zh-Hant", "xx", "he"])
def test_a_source_is_read_back_as_it_was_written(lang):
    document = page("a", lang=lang, title="t", headings="h", content="c", anchors="x", simhash=2**64 - 1, depth=0)
    assert read_source(make_source(document)) == document
    assert read_source(make_source(page("b", lang=lang))) == page("b", lang=lang)


def test_languages_with_stems():
    assert [choose_stems(lang) for lang in ("", "de", "de-AT", "nb", "ko", "xx")] == ["en", "de", "de", "no", "cjk", ""]


# --- Questions -------------------------------------------------------------------------------


def test_questions_beyond_the_limits_are_refused():
    for query in (
        Query(None, page=1001, per_page=10),
        Query(None, page=0),
        Query(AnyOf(tuple(Word(f"w{n}") for n in range(500)))),
        Query(AllOf(tuple(Word(f"a{n}", kind="wildcard") for n in range(1000)))),
        Query(Word("x", "simhash")),
    ):
        with pytest.raises(BadQuery):
            build_search(query, ["en"], 1.0)


def test_the_longest_question_that_is_allowed_is_answered(remote: RemoteEngine):
    languages = ["en", "de", "fr", "es", "it", "ru", "ja", "sv", "nl", "pt"]

    async def work() -> None:
        async with remote.open() as index:
            await index.write([page(lang, lang=lang, content="word other") for lang in languages])
            await index.refresh()
            many = tuple(Word(f"w{n}") for n in range(99))
            assert (await index.search(Query(AnyOf((Word("word"), *many))))).total == 10
            fuzzy = tuple(Word(f"wor{n:03}", kind="fuzzy") for n in range(15))
            assert (await index.search(Query(AnyOf((Word("wordd", kind="fuzzy"), *fuzzy))))).total == 10
            assert (await index.search(Query(AllOf((Word("other"), Not(Word("w*d", kind="wildcard"))))))).total == 0

    asyncio.run(work())


def test_a_large_total_is_said_to_be_a_lower_bound(remote: RemoteEngine, monkeypatch):
    monkeypatch.setattr("crawler.search.dsl.TOTAL_LIMIT", 5)

    async def work() -> None:
        async with remote.open() as index:
            await index.write([page(f"p{n}", content="word") for n in range(20)])
            await index.refresh()
            hits = await index.search(Query(Word("word"), per_page=3))
            assert (hits.total, hits.is_total_exact, len(hits.hits)) == (5, False, 3)
            hits = await index.search(Query(Phrase(("never", "there"))))
            assert (hits.total, hits.is_total_exact) == (0, True)

    asyncio.run(work())


def test_searching_as_a_person_does(remote: RemoteEngine):
    async def work() -> None:
        async with remote.open() as index:
            await index.write(
                [page(f"p{n}", host="docs.example.org", content="An asynchronous generator") for n in range(20)]
                + [page("best", title="Asynchronous generators (PEP 525)", content="asynchronous", host="a.example")]
            )
            await index.refresh()
            results = await search(index, "asynchronous generators -site:docs.example.org")
            assert [result.id for result in results.results] == ["best"]
            results = await search(index, '"asynchronous generator" site:example.org', per_page=5)
            assert (results.total_results, len(results.results)) == (20, 5)
            assert "<mark>" in results.results[0].snippet
            assert (await search(index, "asynchronuos generator")).suggestion == "asynchronous generator"
            assert await suggest(index, "asynchronous gen", 3) == [
                "Asynchronous generators (PEP 525)", "asynchronous generator", "asynchronous generators",
            ]  # fmt: skip
            assert await suggest(index, 'a.*|"(', 3) == []

    asyncio.run(work())


def test_what_people_see_of_it_has_no_password():
    config = replace(RemoteEngine("opensearch", "http://u:s3cret@127.0.0.1:1", "pages").config(), timeout_seconds=1)
    assert "s3cret" not in config.url + repr(config) + str(config)


def test_what_a_server_says_is_one_line_that_no_terminal_obeys():
    assert describe({"error": {"type": "x", "reason": "a\n\x1b[2J\u202eb"}}) == "x: a [2J b"
    assert describe("gone\x9b1m\r\n") == "gone 1m"


@given(queries=SEARCHES)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_is_answered(remote: RemoteEngine, queries: list[str]):
    """Nothing but BadQuery by the grammar: what the server calls a bad query would be ours."""

    async def work() -> None:
        async with remote.open() as index:
            for text in queries:
                try:
                    query = parse(text)
                except BadQuery:
                    continue
                assert (await index.search(query)).total >= 0
                await suggest(index, text)
                await search(index, text)

    asyncio.run(work())


@pytest.mark.parametrize(
    "text", ["*o*r* " + "w*o*r* " * 7, "wrods~ " * 8, "(((((((a OR b) c) OR d) e) OR f) g)", "a OR " * 63 + "a",
             "-a " * 64, '"' + "a " * 64, "ab" * 40 + "*", "*" + "a?" * 9 + "a", "東" * 90, "か " * 64, "😀 é~ " * 8],
)  # fmt: skip
def test_the_dearest_searches_are_answered(remote: RemoteEngine, text: str):
    async def work() -> None:
        async with remote.open() as index:
            languages = [*mapping.STEMMERS, "ja", "ja"]  # that is the commonest, and the first to be asked
            await index.write([page(f"p{n}", content="some words", lang=code) for n, code in enumerate(languages)])
            await index.refresh()
            assert (await index.search(parse(text))).total >= 0

    asyncio.run(work())
