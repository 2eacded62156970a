"""Is every document in the index, once, whatever the server or the way to it does? Real servers behind a bad proxy."""

import asyncio
import ssl
from pathlib import Path

import pytest
import trustme

from crawler.errors import BadQuery, EngineRefused, EngineUnavailable
from crawler.search.bulk import BulkWriter
from crawler.search.document import Document
from crawler.search.query import Filters, Query, Word
from crawler.search.remote import RemoteIndex
from tests.search.conftest import RemoteEngine
from tests.search.engine_proxy import EngineProxy, FailItems, Hang, LoseAnswer, Refuse
from tests.search.engine_server import ask

T0 = 1_767_225_600_000


def page(id_: str, **values) -> Document:
    return Document(**{"id": id_, "url": f"https://example.org/{id_}", "fetched_at": T0, "content": "word", **values})


def pages(number: int, **values) -> list[Document]:
    return [page(f"p{n:04}", **values) for n in range(number)]


def impatient(index: RemoteIndex, seconds: float) -> RemoteIndex:
    config = index._config
    index._writer = BulkWriter(
        index._send_bulk, index._make_if_missing, config.batch_documents, config.batch_bytes, patience_seconds=seconds
    )
    return index


async def read_ids(index: RemoteIndex) -> list[str]:
    await index.refresh()
    return sorted([document.id async for document in index.documents()])


# --- Away, busy, too small -------------------------------------------------------------------


def test_a_server_that_is_away_loses_nothing(remote: RemoteEngine):
    async def work() -> None:
        async with EngineProxy(remote.url) as proxy, remote.open(proxy.url, batch_documents=10) as index:
            assert await index.write(pages(30)) == []
            await proxy.go_away()
            changed = pages(60, title="later", fetched_at=T0 + 1)
            for question in (index.write(changed), index.refresh(), index.search(Query(None)), index.get("p0000")):
                with pytest.raises(EngineUnavailable, match=remote.name):
                    await question
            await proxy.come_back()
            assert await index.write(changed) == []
            assert await read_ids(index) == [document.id for document in changed]
            assert (await index.search(Query(Word("later", "title")))).total == 60

    asyncio.run(work())


def test_it_is_opened_again_after_a_failed_opening(remote: RemoteEngine):
    async def work() -> None:
        async with EngineProxy(remote.url) as proxy:
            await proxy.go_away()
            with pytest.raises(EngineUnavailable):
                async with remote.open(proxy.url):
                    pass
            await proxy.come_back()
            async with remote.open(proxy.url) as index:
                assert await index.write(pages(3)) == []
        assert remote.count() == 3

    asyncio.run(work())


def test_a_busy_server_is_asked_again(remote: RemoteEngine):
    async def work() -> None:
        faults = (Refuse(429, {"error": {"type": "busy", "reason": "full queue"}}), Refuse(429))
        async with EngineProxy(remote.url, faults) as proxy, remote.open(proxy.url) as index:
            assert await index.write(pages(20)) == []
            assert len(proxy.bulks) == 3
        assert remote.count() == 20

    asyncio.run(work())


def test_a_server_that_stays_busy_is_unavailable(remote: RemoteEngine):
    async def work() -> None:
        async with EngineProxy(remote.url, (Refuse(429),) * 100) as proxy, remote.open(proxy.url) as index:
            with pytest.raises(EngineUnavailable, match="20 of 20 documents"):
                await impatient(index, 0.5).write(pages(20))
            proxy.script.clear()
            assert await index.write(pages(20)) == []
        assert remote.count() == 20

    asyncio.run(work())


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_gateway_without_a_server_is_unavailable(remote: RemoteEngine, status):
    async def work() -> None:
        async with EngineProxy(remote.url, (Refuse(status),)) as proxy, remote.open(proxy.url) as index:
            with pytest.raises(EngineUnavailable, match=str(status)):
                await index.write(pages(2))
            assert await index.write(pages(2)) == []
        assert remote.count() == 2

    asyncio.run(work())


def test_no_answer_in_time_is_unavailable(remote: RemoteEngine):
    async def work() -> None:
        async with EngineProxy(remote.url, (Hang(),)) as proxy:
            async with remote.open(proxy.url) as index:
                await index.write([])
            async with remote.open(proxy.url, timeout_seconds=0.5) as index:
                with pytest.raises(EngineUnavailable, match="does not answer"):
                    await index.write(pages(1))

    asyncio.run(work())


def test_an_answer_lost_after_success_does_no_harm(remote: RemoteEngine):
    async def work() -> None:
        async with EngineProxy(remote.url, (LoseAnswer(),)) as proxy, remote.open(proxy.url) as index:
            with pytest.raises(EngineUnavailable):
                await index.write(pages(20))
            assert remote.count() == 20  # it was done
            assert await index.write(pages(20)) == []
        assert remote.count() == 20

    asyncio.run(work())


def test_a_bulk_that_is_too_large_is_halved(remote: RemoteEngine):
    async def work() -> None:
        largest = 20_000
        documents = [*pages(40, content="word " * 300), page("huge", content="word " * 10_000)]
        async with EngineProxy(remote.url, most_bytes=largest) as proxy, remote.open(proxy.url) as index:
            [poison] = await index.write(documents)
            assert poison.document.id == "huge"
            assert "413" in poison.error
            assert sum(count for count, size in proxy.bulks if size <= largest) == 40
        assert remote.count() == 40

    asyncio.run(work())


# --- Parts of a bulk -------------------------------------------------------------------------


def test_only_the_parts_that_failed_are_sent_again(remote: RemoteEngine):
    async def work() -> None:
        fails_first = FailItems(lambda id_: 429 if id_ < "p0005" else None)
        then_fewer = FailItems(lambda id_: 503 if id_ < "p0002" else None, "unavailable_shards_exception")
        async with EngineProxy(remote.url, (fails_first, then_fewer)) as proxy, remote.open(proxy.url) as index:
            assert await index.write(pages(20)) == []
            assert [count for count, _ in proxy.bulks] == [20, 5, 2]
            assert await read_ids(index) == [document.id for document in pages(20)]

    asyncio.run(work())


def test_parts_that_keep_failing_are_counted_and_can_be_offered_again(remote: RemoteEngine):
    async def work() -> None:
        fault = FailItems(lambda id_: 429 if id_ in ("p0003", "p0007") else None)
        async with EngineProxy(remote.url, (fault,) * 100) as proxy, remote.open(proxy.url) as index:
            with pytest.raises(EngineUnavailable, match=r"2 of 20 documents.*rejected_execution"):
                await impatient(index, 0.5).write(pages(20))
            assert remote.count() == 18
            proxy.script.clear()
            assert await index.write(pages(20)) == []
        assert remote.count() == 20

    asyncio.run(work())


def test_a_block_is_not_the_fault_of_the_documents(remote: RemoteEngine):
    async def work() -> None:
        async with remote.open() as index:
            await index.write(pages(1))
            ask(remote.url, "PUT", f"/{remote.name}/_settings", {"index.blocks.write": True})
            with pytest.raises(EngineUnavailable, match="block"):
                await impatient(index, 0.3).write(pages(5))
            ask(remote.url, "PUT", f"/{remote.name}/_settings", {"index.blocks.write": False})
            assert await index.write(pages(5)) == []
        assert remote.count() == 5

    asyncio.run(work())


def test_poison_among_good_ones_is_set_aside_alone(remote: RemoteEngine):
    async def work() -> None:
        # More than Lucene takes as one term.
        bad = [page("bad1", crawl="x" * 40_000), page("bad2", crawl="y" * 40_000)]
        good = pages(20)
        async with remote.open(batch_documents=7) as index:
            poison = await index.write([*good[:9], bad[0], *good[9:], bad[1]])
            assert [one.document for one in poison] == bad
            assert all("400" in one.error and "crawl" in one.error for one in poison)
            assert await read_ids(index) == [document.id for document in good]

    asyncio.run(work())


def test_poison_and_busy_parts_in_one_bulk(remote: RemoteEngine):
    async def work() -> None:
        bad = page("p9999", crawl="x" * 40_000)
        fault = FailItems(lambda id_: 429 if id_ < "p0002" else None)
        async with EngineProxy(remote.url, (fault,)) as proxy, remote.open(proxy.url) as index:
            poison = await index.write([bad, *pages(6)])
            assert [one.document for one in poison] == [bad]
            assert [count for count, _ in proxy.bulks] == [7, 2]
        assert remote.count() == 6

    asyncio.run(work())


# --- Late and at once ------------------------------------------------------------------------


def test_a_late_write_is_as_good_as_done_and_changes_nothing(remote: RemoteEngine):
    async def work() -> None:
        async with remote.open() as slow, remote.open() as fast:
            assert await fast.write([page("a", title="new", fetched_at=T0 + 5)]) == []
            assert await slow.write([page("a", title="old", fetched_at=T0), page("b")]) == []
            found = await slow.get("a")
            assert found is not None
            assert found.title == "new"
        assert remote.count() == 2

    asyncio.run(work())


def test_many_writers_of_the_same_pages_leave_the_newest_once(remote: RemoteEngine):
    async def work() -> None:
        async def write(version: int) -> None:
            async with remote.open(batch_documents=16) as index:
                assert await index.write(pages(50, title=f"version{version}", fetched_at=T0 + version)) == []

        await asyncio.gather(*(write(version) for version in range(6)))
        async with remote.open() as index:
            await index.refresh()
            titles = [document.title async for document in index.documents()]
            assert titles == ["version5"] * 50

    asyncio.run(work())


# --- Cleared meanwhile -----------------------------------------------------------------------

# What OpenSearch 3 answers to a search that meets an index at the moment in which it is closed.
CLOSED = Refuse(
    400,
    {
        "error": {
            "type": "search_phase_execution_exception", "reason": "all shards failed", "phase": "query",
            "failed_shards": [{"shard": 0, "reason": {
                "type": "query_shard_exception", "reason": "failed to create query: this Analyzer is closed",
                "caused_by": {"type": "already_closed_exception", "reason": "this Analyzer is closed"},
            }}],
        },
        "status": 400,
    },
)  # fmt: skip


def test_a_search_that_meets_a_closing_index_is_asked_again(remote: RemoteEngine):
    async def work() -> None:
        async with EngineProxy(remote.url) as proxy, remote.open(proxy.url) as index:
            await index.write(pages(3))
            await index.refresh()
            await index.search(Query(None))  # knows the languages from here on
            proxy.search_script += [CLOSED, CLOSED]
            assert (await index.search(Query(Word("word")))).total == 3
            proxy.search_script += [CLOSED] * 10
            with pytest.raises(EngineUnavailable, match=r"being cleared.*this Analyzer is closed"):
                await index.search(Query(Word("word")))

    asyncio.run(work())


def test_what_the_server_calls_a_bad_query_is_told_at_once(remote: RemoteEngine):
    async def work() -> None:
        async with EngineProxy(remote.url) as proxy, remote.open(proxy.url) as index:
            await index.search(Query(None))
            proxy.searches = 0
            with pytest.raises(BadQuery, match="cannot answer this search"):
                await index.search(Query(None, Filters(after_ms=10**30)))
            assert proxy.searches == 1

    asyncio.run(work())


def test_many_clear_it_at_once_and_leave_one_index(remote: RemoteEngine):
    async def work() -> None:
        async with remote.open() as one, remote.open() as two, remote.open() as three:
            for _ in range(3):
                await asyncio.gather(one.clear(), two.clear(), three.clear())
            assert await one.write(pages(2)) == []

    asyncio.run(work())
    assert remote.count() == 2
    assert len(ask(remote.url, "GET", f"/{remote.name}*/_mapping")) == 1


# --- Who may ---------------------------------------------------------------------------------


def test_a_wrong_password_is_refused_and_not_repeated(remote: RemoteEngine):
    async def work() -> None:
        async with EngineProxy(remote.url, password="right horse") as proxy:
            good = proxy.url.replace("//", "//crawler:right%20horse@")
            wrong = proxy.url.replace("//", "//crawler:wr0ng-horse@")
            async with remote.open(good) as index:
                assert await index.write(pages(1)) == []
            with pytest.raises(EngineRefused, match=r"401.*password in INDEX_URL") as refusal:
                async with remote.open(wrong):
                    pass
            assert "wr0ng" not in str(refusal.value)
            assert "wr0ng" not in repr(remote.config(wrong))

    asyncio.run(work())


def test_rights_that_are_taken_away_are_told_from_poison(remote: RemoteEngine):
    async def work() -> None:
        fault = FailItems(lambda _: 403, "security_exception")
        async with EngineProxy(remote.url, (fault,)) as proxy, remote.open(proxy.url) as index:
            with pytest.raises(EngineRefused, match="security_exception"):
                await index.write(pages(2))

    asyncio.run(work())


def test_tls_with_an_authority_of_ones_own(remote: RemoteEngine, tmp_path: Path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    async def work() -> None:
        proxy = EngineProxy(remote.url)
        proxy.tls = context
        async with proxy:
            async with remote.open(proxy.url, ca_file=tmp_path / "ca.pem") as index:
                assert await index.write(pages(1)) == []
            with pytest.raises(EngineRefused, match=r"not trusted.*CERTIFICATE_VERIFY_FAILED.*INDEX_CA_FILE"):
                async with remote.open(proxy.url):
                    pass

    asyncio.run(work())


def test_a_certificate_of_somebody_else_is_refused(remote: RemoteEngine, tmp_path: Path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("other.example", "127.0.0.2").configure_cert(context)

    async def work() -> None:
        proxy = EngineProxy(remote.url)
        proxy.tls = context
        async with proxy:
            with pytest.raises(EngineRefused, match=r"not trusted.*IP address mismatch.*check the host"):
                async with remote.open(proxy.url, ca_file=tmp_path / "ca.pem"):
                    pass

    asyncio.run(work())


def test_tls_that_cannot_be_is_told(remote: RemoteEngine, tmp_path: Path):
    (tmp_path / "rubbish.pem").write_text("rubbish")

    async def refusal(url: str, ca_file: Path | None = None) -> str:
        with pytest.raises(EngineRefused) as refused:
            async with remote.open(url, ca_file=ca_file):
                pass
        return str(refused.value)

    async def work() -> None:
        async with EngineProxy(remote.url) as proxy:
            encrypted = proxy.url.replace("http:", "https:")
            assert "by http?" in await refusal(encrypted)
            for name in ("absent.pem", "rubbish.pem", ""):
                assert f"INDEX_CA_FILE is {tmp_path / name}, which" in await refusal(encrypted, tmp_path / name)
            assert "not reached by https" in await refusal(proxy.url, tmp_path / "rubbish.pem")

    asyncio.run(work())


def test_why_a_server_does_not_answer_is_told(remote: RemoteEngine):
    async def work() -> None:
        with pytest.raises(EngineUnavailable, match=r"does not answer.*Connect call failed") as trouble:
            async with remote.open("http://crawler:s3cret@127.0.0.1:1"):
                pass
        assert "s3cret" not in str(trouble.value)

    asyncio.run(work())
