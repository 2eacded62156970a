"""Is every failure kept, told in one form, and found again?"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from crawler.frontier.failures import Failure, failures
from tests.fleet import Fleet
from tests.frontier.frontiers import Crawl, ids, links, report
from tests.web import Answer, Site, WebServer, loopback


@pytest.mark.parametrize(
    ("reason", "detail", "error", "code"),
    [
        ("dns", "CannotResolveHostError: x: [Errno -2] Name or service not known", "DNS_RESOLUTION_FAILED", "NXDOMAIN"),
        ("dns", "CannotResolveHostError: x: [Errno -5] No address", "DNS_RESOLUTION_FAILED", "NODATA"),
        ("dns", "CannotResolveHostError: x: [Errno -3] Temporary failure", "DNS_RESOLUTION_FAILED", "SERVFAIL"),
        ("dns", "CannotResolveHostError: x: [Errno -99] What", "DNS_RESOLUTION_FAILED", "FAILED"),
        ("dns", "CannotResolveHostError: x: no answer from DNS in 5 s", "DNS_RESOLUTION_FAILED", "TIMEOUT"),
        ("http_error", "503", "HTTP_ERROR", "503"),
        ("timeout", "DownloadTimeoutError: took too long", "TIMEOUT", "DownloadTimeoutError"),
        ("crashed", "", "CRASHED", ""),
    ],
)
def test_a_failure_as_a_record(reason: str, detail: str, error: str, code: str) -> None:
    record = Failure("http://a.example/", reason, detail, 1736937000.5).as_record()
    assert record == {
        "url": "http://a.example/", "error": error, "code": code, "timestamp": "2025-01-15T10:30:00.500Z",
    }  # fmt: skip


def test_failures_are_found_by_their_reason(open_crawl: Callable[..., Crawl]) -> None:
    crawl = open_crawl(partitions=0)
    crawl.push(*links("a", 2), *links("b", 1))
    for visit in crawl.lease():
        dead = [(name, "timeout" if visit.host == "a" else "tls", "X: y") for name in ids(visit)]
        crawl.ack(report(visit, dead=dead))

    async def find(reason: str = "") -> list[Failure]:
        return [failure async for failure in failures(crawl.frontier, reason)]

    assert {failure.url.split("/")[2] for failure in crawl.run(find("timeout"))} == {"a"}
    assert [failure.url.split("/")[2] for failure in crawl.run(find("tls"))] == ["b"]
    assert len(crawl.run(find())) == 3
    assert crawl.run(find("dns")) == []


def test_what_is_no_entry_is_a_failure_without_a_url(open_crawl_on_one: Callable[..., Crawl]) -> None:
    crawl = open_crawl_on_one()
    crawl.push(*links("a", 1))
    crawl.run(crawl.redis.zadd(crawl.base() + "q:medium:a", {b"x": 0}))
    crawl.run(crawl.redis.hincrby(crawl.base() + "counts", "queued", 1))
    crawl.run(crawl.redis.hincrby(crawl.base() + "counts", "accepted", 1))
    crawl.finish()

    async def find() -> list[Failure]:
        return [failure async for failure in failures(crawl.frontier)]

    [failure] = crawl.run(find())
    assert (failure.url, failure.reason) == ("", "poisoned")


def test_failures_reach_the_event_log_and_the_command(redis_url: str, tmp_path: Path) -> None:
    site = Site.trees(hosts=1, pages=3)
    site.hosts[loopback(1)].answers["/p/1"] = [Answer(404, body="no\x1b[31m")]
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, FOLLOW_HOSTS="all") as fleet:
        fleet.seed([*web.seeds(), "http://no-such-host.invalid/"])
        fleet.start(1)
        fleet.wait(60)
        [log] = [worker.log for worker in fleet.workers]
        assert "no-such-host.invalid/>: CannotResolveHostError: " in log
        assert "Traceback" not in log
        status = fleet.check_sum()
        assert status.dead_reasons == {"http_error": 1, "dns": 1}
        told = {event["url"]: event for event in fleet.events() if event["kind"] == "url_failed"}
        assert told["http://no-such-host.invalid/"]["error"] == "DNS_RESOLUTION_FAILED"
        assert told[web.url(loopback(1), "/p/1")]["code"] == "404"
        kinds = [event["kind"] for event in fleet.events()]
        assert kinds.index("finished") > max(at for at, kind in enumerate(kinds) if kind == "url_failed")
        lines = fleet.command("frontier", "failures", "--json").stdout.splitlines()
        assert {json.loads(line)["url"] for line in lines} == set(told)
        [line] = fleet.command("frontier", "failures", "dns", "--json").stdout.splitlines()
        assert {"url", "error", "code", "timestamp"} <= json.loads(line).keys()
        shown = fleet.command("frontier", "failures", "--top", "1").stdout
        assert "the last 1 of 2" in shown
        refused = fleet.command("frontier", "failures", "bad-luck")
        assert refused.returncode != 0
        assert "'bad-luck' is no reason of a failure" in refused.stderr
