"""Steering, moving, explaining and checking a crawl, on one Redis and on a cluster."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from crawler import settings as project_settings
from crawler.errors import ConfigurationError, OrbweaverError
from crawler.frontier import control, insight
from crawler.frontier.archive import export_crawl, import_crawl
from crawler.frontier.audit import audit
from crawler.frontier.config import FrontierConfig
from crawler.frontier.entry import ID_BYTES, Entry, Known, RequestFields, decode, encode, identity
from crawler.frontier.frontier import Frontier
from crawler.frontier.messages import Link, VisitReport
from crawler.frontier.scope import Scope
from crawler.frontier.seeds import plant, read_seed
from crawler.frontier.workers import beat, leave
from crawler.urls import canonicalise


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 60))


def configure(url: str, crawl: str = "default", **values: Any) -> FrontierConfig:
    settings = Settings()
    settings.setmodule(project_settings)
    settings.setdict({"REDIS_URL": url, "FRONTIER_SEEN_BUCKETS": 64, **values})
    return FrontierConfig.from_settings(settings, crawl)


@contextlib.asynccontextmanager
async def opened(url: str, crawl: str = "default", **values: Any):
    frontier = await Frontier.open(configure(url, crawl, **values))
    try:
        yield frontier
    finally:
        await frontier.close()


async def with_frontier(url: str, work: Callable[[Frontier], Awaitable[Any]], **values: Any) -> Any:
    async with opened(url, **values) as frontier:
        return await work(frontier)


@pytest.fixture(params=["single", "cluster"])
def url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("redis_url" if request.param == "single" else "redis_cluster_url")


async def seed(frontier: Frontier, *urls: str) -> None:
    await plant(frontier, [read_seed(url) for url in urls], Scope.from_config(frontier.config))


async def lease_all(frontier: Frontier, worker: str = "w1") -> list[Any]:
    visits = []
    for partition in range(frontier.keys.partitions):
        visits += (await frontier.lease(worker, 1000, partition=partition)).visits
    return visits


async def make_history(frontier: Frontier) -> None:
    """One URL of every kind: queued, retried, leased, dead, done."""
    await seed(frontier, *(f"https://{name}.example/" for name in ("retry", "dead", "done", "leased")))
    for visit in await lease_all(frontier):
        [entry] = visit.entries
        name = entry[:ID_BYTES]
        report = VisitReport(visit.fence, visit.host, failed=0)
        if visit.host == "retry.example":
            report.retries.append(
                (name, 60_000, encode(Entry(url="https://retry.example/", attempt=1), name, "retry.example"))
            )
        elif visit.host == "dead.example":
            report.dead.append((name, "http_error", "status 404"))
        elif visit.host == "done.example":
            report.pages.append(name)
        else:
            continue
        assert await frontier.ack([report]) == (1, 0)
    number = canonicalise("https://medium.example/a").fingerprint
    request = RequestFields(method="GET", headers={b"X": [b"\xff"]}, meta={"k": 1})
    raw = encode(Entry(url="https://medium.example/a", depth=2, request=request), identity(number), "medium.example")
    await frontier.push([Link("medium.example", "medium", 0.5, number, raw)])
    await seed(frontier, "https://queued.example/")


async def sums(frontier: Frontier) -> tuple[int, ...]:
    status = await frontier.status()
    assert status.balance == 0
    return tuple(status.count(name) for name in ("accepted", "queued", "leased", "done", "dead"))


async def all_keys(frontier: Frontier) -> set[bytes]:
    return {key async for key in frontier.connection.client.scan_iter(count=1000)}


# --- Steering --------------------------------------------------------------------------------


def test_a_paused_crawl_hands_nothing_out(url):
    async def work(frontier: Frontier):
        await seed(frontier, "https://a.example/", "https://b.example/")
        await control.pause(frontier)
        assert (await frontier.status()).state == "paused"
        assert await lease_all(frontier) == []
        await control.drain(frontier)
        assert (await frontier.lease("w", 10, partition=frontier.keys.partitions - 1)).state == "draining"
        await control.resume(frontier)
        assert len(await lease_all(frontier)) == 2

    run(with_frontier(url, work))


def test_a_blocked_host_is_left_alone_in_every_crawl(url):
    async def work(frontier: Frontier):
        async with opened(url, "other") as other:
            for each in (frontier, other):
                await seed(each, "https://a.example/")
            await control.block(frontier, "a.example")
            assert await lease_all(frontier) + await lease_all(other) == []
            [host] = await insight.hosts(other)
            assert (host.host, host.state, host.wait_seconds, host.queued) == (
                "a.example",
                "blocked",
                None,
                {"high": 1},
            )
            assert (await audit(frontier)).findings == []
            await control.unblock(frontier, "a.example")
            [visit] = await lease_all(other)
            assert visit.host == "a.example"
            assert (await insight.describe_hosts(frontier, ["a.example"]))[0].worker_crawl == "other"

    run(with_frontier(url, work))


def test_a_host_can_be_blocked_for_some_time(redis_url):
    async def work(frontier: Frontier):
        await seed(frontier, "https://a.example/")
        await control.block(frontier, "a.example", 0.2)
        [host] = await insight.describe_hosts(frontier, ["a.example"])
        assert host.state == "blocked"
        assert 0 < host.wait_seconds <= 0.2
        deadline = asyncio.get_running_loop().time() + 10
        visits: list[Any] = []
        while not visits and asyncio.get_running_loop().time() < deadline:
            visits = await lease_all(frontier)
        assert visits[0].host == "a.example"

    run(with_frontier(redis_url, work))


def test_hosts_are_named_in_any_form():
    assert control.read_host("Example.COM") == "example.com"
    assert control.read_host("example.com:8080") == "example.com:8080"
    assert control.read_host("http://example.com:80/a") == "example.com"


# --- Purge -----------------------------------------------------------------------------------


def test_purge_removes_one_crawl_and_nothing_else(url):
    async def work(frontier: Frontier):
        async with opened(url, "other") as other:
            await seed(other, "https://leased.example/", "https://x.example/")
            before = await all_keys(frontier)
            await make_history(frontier)
            assert await control.purge(frontier) > 5
            left = {key for key in await all_keys(frontier) - before if b":polite:" not in key}
            assert {key.partition(b"}:")[2] or key for key in left} <= {b"fence"}
            assert await sums(frontier) == (0, 0, 0, 0, 0)
            assert await sums(other) == (2, 2, 0, 0, 0)
            # The lock of the dead worker went with it, so that nobody reclaims what is no longer there.
            assert {visit.host for visit in await lease_all(other)} == {"leased.example", "x.example"}
            await frontier.reclaim()
            assert await sums(frontier) == (0, 0, 0, 0, 0)

    run(with_frontier(url, work, FRONTIER_RATE=0))


def test_purge_refuses_while_a_worker_lives(url):
    async def work(frontier: Frontier):
        await seed(frontier, "https://a.example/")
        await beat(frontier.connection, frontier.keys, "w1", pages=0, holds=0)
        with pytest.raises(OrbweaverError, match="w1"):
            await control.purge(frontier)
        assert await sums(frontier) == (1, 1, 0, 0, 0)
        await leave(frontier.connection, frontier.keys, "w1")
        await control.purge(frontier)

    run(with_frontier(url, work))


@pytest.mark.parametrize("name", ["polite", "visits", "alien"])
def test_a_crawl_cannot_be_named_like_a_key(redis_url, name):
    """Its keys would be mixed up with those of the frontier, and a purge would take both."""

    async def work(frontier: Frontier):
        raise AssertionError("it was opened")

    with pytest.raises(ConfigurationError, match=name):
        run(with_frontier(redis_url, work, crawl=name))


# --- Export and import -----------------------------------------------------------------------


async def make_known(frontier: Frontier, known: Known, delay_ms: int) -> None:
    """One page that waits to be crawled again."""
    await seed(frontier, "https://known.example/")
    [visit] = await lease_all(frontier)
    name = visit.entries[0][:ID_BYTES]
    entry = encode(Entry(url="https://known.example/", known=known), name, visit.host)
    report = VisitReport(visit.fence, visit.host, failed=0, again=[(name, delay_ms, entry, "new")])
    assert await frontier.ack([report]) == (1, 0)


def test_what_is_known_of_a_page_moves_with_it(redis_url, redis_cluster_url):
    known = Known(3, 5000, (1 << 64) - 1, 2, 1, 'W/"\xe9"', "Wed, 21 Oct 2015 07:28:00 GMT")

    async def work(frontier: Frontier):
        await make_known(frontier, known, 0)
        lines = [line async for line in export_crawl(frontier)]
        async with opened(redis_cluster_url, RECRAWL=True) as copy:
            assert (await import_crawl(copy, lines)).queued == 1
            assert await sums(copy) == (1, 1, 0, 0, 0)
            status = await copy.status()
            assert (status.recrawls_waiting, status.retries_waiting, status.count("pages")) == (1, 0, 1)
            assert (await audit(copy)).findings == []
            [visit] = await lease_all(copy)
            assert decode(visit.entries[0], visit.host).known == known
            unknown = [line.replace(b'"waits_in":"again"', b'"waits_in":"seen"') for line in lines]
        async with opened(redis_url, "other") as other:
            with pytest.raises(OrbweaverError, match="waits in 'seen'"):
                await import_crawl(other, unknown)

    run(with_frontier(redis_url, work))


@pytest.mark.parametrize("partitions", [1, 2, 3, 8])
def test_a_crawl_moves_to_another_layout(redis_url, partitions):
    async def work(frontier: Frontier):
        await make_history(frontier)
        lines = [line async for line in export_crawl(frontier)]
        async with opened(redis_url, FRONTIER_NAMESPACE="new", FRONTIER_PARTITIONS=partitions) as copy:
            imported = await import_crawl(copy, lines)
            assert (imported.queued, imported.dead, imported.seen) == (4, 1, 6)
            assert await sums(copy) == (6, 4, 0, 1, 1)
            status = await copy.status()
            assert (status.state, status.retries_waiting, status.dead_reasons) == ("", 1, {"http_error": 1})
            assert (await audit(copy)).findings == []
            scope = Scope.from_config(copy.config)
            found = {
                name: (await insight.why(copy, f"https://{name}.example/", scope)).state
                for name in ("queued", "retry", "leased", "dead", "done")
            }
            assert found == {"queued": "queued", "retry": "retry", "leased": "queued", "dead": "dead", "done": "done"}
            for url in ("https://done.example/", "https://queued.example/", "https://dead.example/"):
                assert (await plant(copy, [read_seed(url)], scope)).duplicates == 1
            found = [decode(raw, visit.host) for visit in await lease_all(copy) for raw in visit.entries]
            entries = {entry.url: entry for entry in found}
            assert entries["https://medium.example/a"].request.headers == {b"X": [b"\xff"]}
            assert entries["https://medium.example/a"].depth == 2
            assert (await import_crawl(copy, lines)).is_new is False

    run(with_frontier(redis_url, work, FRONTIER_PARTITIONS=4))


def test_a_crawl_moves_to_a_cluster(redis_url, redis_cluster_url):
    async def work(frontier: Frontier):
        await make_history(frontier)
        lines = [line async for line in export_crawl(frontier)]
        async with opened(redis_cluster_url) as copy:
            await import_crawl(copy, lines)
            assert await sums(copy) == (6, 4, 0, 1, 1)
            assert (await audit(copy)).findings == []
            back = [line async for line in export_crawl(copy)]
        async with opened(redis_url, "back") as again:
            await import_crawl(again, back)
            assert await sums(again) == (6, 4, 0, 1, 1)

    run(with_frontier(redis_url, work))


def test_an_import_that_broke_off_is_taken_up_again(redis_url):
    async def work(frontier: Frontier):
        await make_history(frontier)
        lines = [line async for line in export_crawl(frontier)]
        async with opened(redis_url, "copy") as copy:
            with pytest.raises(OrbweaverError, match="something is missing"):
                await import_crawl(copy, lines[:-3])
            assert (await copy.status()).state == "paused"
            with pytest.raises(OrbweaverError, match="line 3"):
                await import_crawl(copy, [*lines[:2], b"{]", *lines[3:]])
            await import_crawl(copy, lines)
            assert await sums(copy) == (6, 4, 0, 1, 1)
            assert (await copy.status()).state == ""

    run(with_frontier(redis_url, work))


def test_an_import_never_mixes_two_crawls(redis_url):
    async def work(frontier: Frontier):
        await seed(frontier, "https://a.example/")
        lines = [line async for line in export_crawl(frontier)]
        async with opened(redis_url, "other") as other:
            await seed(other, "https://b.example/")
            with pytest.raises(ConfigurationError, match="not empty"):
                await import_crawl(other, lines)
            assert await sums(other) == (1, 1, 0, 0, 0)
        for broken in ([], [b"\n"], [b"{}\n"], [lines[0].replace(b'"version":', b'"version":9')]):
            async with opened(redis_url, "third") as third:
                with pytest.raises(ConfigurationError):
                    await import_crawl(third, broken)

    run(with_frontier(redis_url, work))


def test_a_crawl_in_motion_is_not_exported(redis_url):
    async def work(frontier: Frontier):
        await seed(frontier, "https://a.example/")
        await beat(frontier.connection, frontier.keys, "w1", pages=0, holds=0)
        with pytest.raises(OrbweaverError, match="pause"):
            async for _ in export_crawl(frontier):
                pass
        await control.pause(frontier)
        assert len([line async for line in export_crawl(frontier)]) == 5

    run(with_frontier(redis_url, work))


# --- Audit -----------------------------------------------------------------------------------


def test_a_sound_crawl_has_no_findings(url):
    async def work(frontier: Frontier):
        await make_history(frontier)
        result = await audit(frontier)
        assert (result.findings, result.is_moving) == ([], False)
        assert result.counted == {"queued": 3, "leased": 1, "dead": 1, "dead:http_error": 1}

    run(with_frontier(url, work))


def test_audit_finds_what_is_broken_and_repairs_it(url):
    async def work(frontier: Frontier):
        await make_history(frontier)
        await seed(frontier, "https://lost.example/", "https://alien.example/", "https://poison.example/")
        client, keys = frontier.connection.client, frontier.keys

        def base(host: str) -> str:
            return keys.base(keys.partition(host))

        await client.zrem(base("lost.example") + "ready:high", "lost.example")
        await client.zadd(base("empty.example") + "ready:low", {"empty.example": 1})
        await client.zadd(base("poison.example") + "q:high:poison.example", {b"no entry at all": 1})
        await client.delete(base("alien.example") + "q:high:alien.example")
        await client.set(base("alien.example") + "q:high:alien.example", "text")
        await client.hincrby(keys.base(0) + "counts", "dead", 7)
        await client.zremrangebyrank(keys.tag(keys.partition("leased.example")) + ":visits", 0, -1)
        await client.sadd(base("queued.example") + "blocked", "high|queued.example")

        result = await audit(frontier)
        kinds = {finding.kind for finding in result.findings}
        assert {
            "lost_host",
            "empty_host",
            "undecodable",
            "wrong_type",
            "miscount",
            "orphan_lease",
            "held_back",
        } <= kinds
        assert not result.is_sound

        repaired = await audit(frontier, repair=True)
        assert repaired.is_sound
        assert {finding.kind for finding in repaired.findings} >= kinds - {"empty_host"}
        await frontier.reclaim()
        again = await audit(frontier)
        assert again.findings == []
        assert (await frontier.status()).balance == 0
        hosts = {visit.host for visit in await lease_all(frontier)}
        assert hosts >= {"lost.example", "poison.example", "leased.example", "queued.example"}

    run(with_frontier(url, work, FRONTIER_RATE=0))


def test_a_lock_without_a_visit_is_released(redis_url):
    async def work(frontier: Frontier):
        await seed(frontier, "https://a.example/1", "https://a.example/2")
        [visit] = await lease_all(frontier)
        client, keys = frontier.connection.client, frontier.keys
        assert len(visit.entries) == 1
        await client.delete(keys.tag(0) + ":visits", keys.base(0) + "leased")
        assert await lease_all(frontier) == []
        kinds = {finding.kind for finding in (await audit(frontier, repair=True)).findings}
        assert kinds == {"stuck_lock", "miscount"}
        assert (await audit(frontier)).findings == []
        assert (await frontier.status()).balance == 0

    run(with_frontier(redis_url, work, FRONTIER_VISIT_PAGES=1))


# --- Looking ---------------------------------------------------------------------------------


def test_the_hosts_with_most_to_do_come_first(url):
    async def work(frontier: Frontier):
        await seed(frontier, *(f"https://h{n}.example/{k}" for n in range(1, 6) for k in range(n)))
        await seed(frontier, '{"url": "https://h3.example/low", "priority": "low"}')
        found = await insight.hosts(frontier, 3)
        assert [(host.host, host.total) for host in found] == [("h5.example", 5), ("h3.example", 4), ("h4.example", 4)]
        assert found[1].queued == {"high": 3, "low": 1}
        assert {host.state for host in found} == {"ready"}
        await lease_all(frontier, "worker-7")
        found = await insight.hosts(frontier, 3)
        assert all(host.state in {"locked", "ready"} for host in found)

    run(with_frontier(url, work, FRONTIER_VISIT_PAGES=1))


def test_why_has_an_answer_for_every_url(url):
    async def work(frontier: Frontier):
        await make_history(frontier)
        scope = Scope.from_config(frontier.config)

        async def ask(text: str) -> insight.Why:
            return await insight.why(frontier, text, scope)

        queued = await ask("HTTPS://Medium.example/a?utm_source=x#y")
        assert (queued.url, queued.state, queued.details["class"], queued.details["depth"]) == (
            "https://medium.example/a",
            "queued",
            "medium",
            2,
        )
        retry = await ask("https://retry.example/")
        assert (retry.state, retry.details["attempt"]) == ("retry", 1)
        assert 50 < retry.details["due_seconds"] <= 60
        leased = await ask("https://leased.example/")
        assert (leased.state, leased.details["worker"]) == ("leased", "w1")
        dead = await ask("https://dead.example/")
        assert (dead.state, dead.reason, dead.details["detail"]) == ("dead", "http_error", "status 404")
        assert "the server answered with an error (status 404)" in dead.message
        assert (await ask("https://done.example/")).state == "done"
        assert (await ask("https://done.example/never")).state == "never_found"
        off = await ask("https://elsewhere.example/")
        assert (off.state, off.reason) == ("out_of_scope", "off_scope")
        assert (await ask("http://127.0.0.1/")).reason == "off_scope"
        bad = await ask("not a url")
        assert (bad.state, bad.reason) == ("refused", "bad_url")

    run(with_frontier(url, work))


@pytest.mark.parametrize(
    ("known", "delay_ms", "message"),
    [
        (Known(1, 1, 1), 3 * 3600_000, "It was fetched once, next in 3 h (with --recrawl)."),
        (Known(7, 1, 1, unchanged=4), 86_400_000, "It was fetched 7 times, unchanged the last 4, next in 24 h"),
        (Known(2, 1, 1), 864_000_000, "It was fetched 2 times, next in 10 days"),
        (Known(2, 1, 1), 0, "It was fetched 2 times, and is due (with --recrawl)."),
    ],
)
def test_why_says_when_a_page_is_fetched_again(url, known, delay_ms, message):
    async def work(frontier: Frontier):
        await make_known(frontier, known, delay_ms)
        answer = await insight.why(frontier, "https://known.example/", Scope.from_config(frontier.config))
        assert answer.state == "recrawl"
        assert answer.message.startswith(message)
        assert answer.details["fetches"] == known.fetches
        if not delay_ms:
            async with opened(url, RECRAWL=True) as worker:
                visits = await lease_all(worker)
                await worker.ack([VisitReport(one.fence, one.host, back=[one.entries[0][:ID_BYTES]]) for one in visits])
            answer = await insight.why(frontier, "https://known.example/", Scope.from_config(frontier.config))
            assert answer.message.startswith("It was fetched 2 times, and is queued again, class high")

    run(with_frontier(url, work))


def test_audit_looks_at_pages_to_be_crawled_again(url):
    async def work(frontier: Frontier):
        await make_known(frontier, Known(1, 1, 1), 60_000)
        assert (await audit(frontier)).findings == []
        await frontier.connection.client.zadd(frontier.keys.base(0) + "again", {b"garbage": 5})
        found = {finding.where: finding.kind for finding in (await audit(frontier)).findings}
        assert found == {"pages to be crawled again": "undecodable", "queued": "miscount", "accepted": "miscount"}
        assert (await audit(frontier, repair=True)).is_sound
        assert (await audit(frontier)).findings == []
        status = await frontier.status()
        assert (status.recrawls_waiting, status.count("dead")) == (1, 1)

    run(with_frontier(url, work))


def test_why_finds_urls_whose_fingerprint_has_special_bytes(redis_url):
    """The fingerprint goes into a pattern, where some bytes have a meaning."""

    async def work(frontier: Frontier):
        special = [
            url
            for url in (f"https://a.example/{number}" for number in range(3000))
            if set(identity(canonicalise(url).fingerprint)) & set(b"*?[]^-\\")
        ][:40]
        await seed(frontier, *special)
        scope = Scope.from_config(frontier.config)
        assert {(await insight.why(frontier, url, scope)).state for url in special} == {"queued"}

    run(with_frontier(redis_url, work))


def test_no_step_lists_all_keys_at_once():
    directory = Path(project_settings.__file__).parent / "frontier"
    for source in [*directory.rglob("*.py"), *directory.rglob("*.lua")]:
        text = source.read_text()
        assert '"KEYS"' not in text, source
        assert "FLUSHALL" not in text, source
        assert "FLUSHDB" not in text, source
