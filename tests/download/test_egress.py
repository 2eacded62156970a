"""Does anything ever connect to an address that it should not? The judge is a listening socket's own count."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import CannotResolveHostError, UnsupportedURLSchemeError

from crawler.download.errors import AddressRefused
from crawler.frontier.reasons import Dead, Drop
from crawler.urls import canonicalise
from tests.crawls import SpiderProcess
from tests.download.downloads import download, make_crawler, open_handler, run
from tests.download.hostile import PAGE, HostileServer, bomb
from tests.download.spiders import RebindingHandler
from tests.download.test_hostile import ENDS, MOST_BYTES
from tests.fleet import CRAWL, Fleet
from tests.test_addresses import REFUSED_SPELLINGS
from tests.web import Answer, Host, Site, WebServer

REFUSALS = (AddressRefused, UnsupportedURLSchemeError, CannotResolveHostError)


def test_no_spelling_of_a_refused_address_reaches_a_socket():
    """Straight to the handler: nothing before it has had a look."""

    async def work(port: int) -> dict[str, BaseException | None]:
        ends: dict[str, BaseException | None] = {}
        async with open_handler(make_crawler(ALLOW_PRIVATE=False)) as handler:
            for host in REFUSED_SPELLINGS:
                try:
                    await handler.download_request(Request(f"http://{host}:{port}/", meta={"download_timeout": 5}))
                    ends[host] = None
                except (ValueError, *REFUSALS) as error:
                    ends[host] = error
        return ends

    with HostileServer(address="0.0.0.0") as server:
        ends = run(lambda: work(server.port))
        assert server.accepted == 0
    assert len(ends) >= 60
    assert [host for host, error in ends.items() if error is None] == []
    assert sum(isinstance(error, AddressRefused) for error in ends.values()) > 60


def test_a_proxy_at_a_private_address_has_to_be_named():
    request = Request("http://somewhere.example/", meta={"download_timeout": 5})
    with HostileServer() as server:
        for proxy in (f"http://127.0.0.1:{server.port}", f"localhost:{server.port}"):
            request.meta["proxy"] = proxy
            with pytest.raises(AddressRefused):
                download(request, ALLOW_PRIVATE=False)
        assert server.accepted == 0
        assert download(request, ALLOW_PRIVATE=False, ALLOW_ADDRESSES=["localhost"]).body == PAGE
        assert server.accepted == 1
        for host in ("10.0.0.1", "[::ffff:a9fe:a9fe]", "metadata.google.internal"):
            through = Request(f"http://{host}/", meta=dict(request.meta))
            with pytest.raises(AddressRefused):
                download(through, ALLOW_PRIVATE=False, ALLOW_ADDRESSES=["localhost"])
        assert server.accepted == 1


def test_an_ipv6_address_is_connected_to_when_it_is_allowed():
    async def work() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            writer.close()

        server = await asyncio.start_server(serve, "::1", 0)
        url = f"http://[0:0::1]:{server.sockets[0].getsockname()[1]}/"
        for allowed in ([], ["::1"]):
            async with open_handler(make_crawler(ALLOW_PRIVATE=False, ALLOW_ADDRESSES=allowed)) as handler:
                if allowed:
                    response = await handler.download_request(Request(url))
                    assert (response.body, str(response.ip_address)) == (b"ok", "::1")
                else:
                    with pytest.raises(AddressRefused):
                        await handler.download_request(Request(url))
        server.close()

    run(work)


def test_only_what_is_allowed_is_connected_to():
    with HostileServer() as server, HostileServer(address="127.0.0.2", port=server.port) as other:
        allowed: dict[str, Any] = {"ALLOW_PRIVATE": False, "ALLOW_ADDRESSES": ["127.0.0.2/32", "localhost"]}
        assert download(other.url("/", "127.0.0.2"), **allowed).body == PAGE
        assert download(server.url("/", "localhost"), **allowed).body == PAGE
        assert (server.accepted, other.accepted) == (1, 1)
        with pytest.raises(AddressRefused):
            download(server.url("/", "127.0.0.1"), **allowed)
        assert server.accepted == 1


def test_a_name_that_rebinds_between_two_requests_is_not_followed():
    RebindingHandler.asked.clear()
    crawler = make_crawler(
        ALLOW_PRIVATE=False, ALLOW_ADDRESSES=["127.0.0.2"], DNS_CACHE_SECONDS=0, DOWNLOAD_KEEP_ALIVE_SECONDS=0
    )

    async def work(url: str) -> None:
        handler = RebindingHandler.from_crawler(crawler)
        assert (await handler.download_request(Request(url))).body == PAGE
        with pytest.raises(AddressRefused, match=r"rebind\.example is at 127\.0\.0\.1"):
            await handler.download_request(Request(url))
        await handler.close()

    with HostileServer() as trap, HostileServer(address="127.0.0.2", port=trap.port) as public:
        run(lambda: work(public.url("/", "rebind.example")))
        assert (public.accepted, trap.accepted) == (1, 0)


# --- In a crawl ------------------------------------------------------------------------------


def crawl(redis_url: str, directory: Path, seeds: list[str], spider: str, **settings: Any) -> tuple[Any, SpiderProcess]:
    own = {
        "REDIS_URL": redis_url,
        "FRONTIER_CRAWL": CRAWL,
        "ALLOW_PRIVATE": False,
        "FOLLOW_HOSTS": "all",
        "MAX_DEPTH": -1,
        "RETRY_DELAYS": [],
        **settings,
    }
    with SpiderProcess(spider, directory, {"seeds": " ".join(seeds)}, **own) as worker:
        assert worker.wait(60) == 0, worker.log[-3000:]
    return Fleet(redis_url, directory).check_sum(), worker


def test_redirects_and_links_of_a_crawl_lead_nowhere_private(redis_url: str, tmp_path: Path):
    with HostileServer() as trap:
        private = [
            trap.url("/"),
            trap.url("/", "0x7f.1"),
            trap.url("/", "2130706433"),
            trap.url("/", "localhost"),
            trap.url("/", "[::ffff:127.0.0.1]"),
            trap.url("/", "127.0.0.3"),
            "http://169.254.169.254/latest/meta-data/",
            "http://metadata.google.internal/",
            "http://[fd00:ec2::254]/",
            f"//127.1:{trap.port}/",
        ]
        others = [
            "file:///etc/passwd",
            "ftp://127.0.0.1/",
            "data:text/html,x",
            "javascript:0",
            "gopher://127.0.0.1:70/",
        ]
        host = Host(pages=1)
        links = "".join(f'<a href="/to/{number}">x</a>' for number in range(len(private + others)))
        links += "".join(f'<a href="{url}">x</a>' for url in private + others)
        host.answers["/"] = [Answer(headers={"Content-Type": "text/html"}, body=f"<html><body>{links}</body></html>")]
        for number, url in enumerate(private + others):
            host.answers[f"/to/{number}"] = [Answer(status=302, headers={"Location": url}, body="")]
        with WebServer(Site({"127.0.0.2": host}), tmp_path) as web:
            seeds = [web.url("127.0.0.2")]
            spider = "crawler.spiders.broad:BroadSpider"
            status, worker = crawl(redis_url, tmp_path, seeds, spider, ALLOW_ADDRESSES=["127.0.0.2"])
            fetched = {hit.path for hit in web.pages()}
        assert trap.accepted == 0, worker.log
    assert fetched == {"/", *(f"/to/{number}" for number in range(len(private + others)))}
    assert status.count("pages") == 1
    assert status.dead_reasons == {Dead.PRIVATE_ADDRESS: len(private), Dead.BAD_REDIRECT: len(others)}
    # The links of the page, several of them one address spelt differently, and the targets of the redirects.
    linked = {canonicalise(url, "http://example.org/").text for url in private}
    assert status.drops[Drop.PRIVATE_ADDRESS] == len(linked) + len(private)


def test_a_name_that_rebinds_during_a_crawl_is_dead_as_private(redis_url: str, tmp_path: Path):
    page = Answer(headers={"Content-Type": "text/html"}, body='<html><a href="/a">a</a> <a href="/b">b</a></html>')
    site = Site({"127.0.0.2": Host(pages=1, answers={"/": [page], "/a": [page], "/b": [page]})})
    with WebServer(site, tmp_path) as web, HostileServer(port=web.port) as trap:
        status, worker = crawl(
            redis_url,
            tmp_path,
            [f"http://rebind.example:{web.port}/"],
            "crawler.spiders.broad:BroadSpider",
            ALLOW_ADDRESSES=["127.0.0.2"],
            DOWNLOAD_HANDLERS={"http": "tests.download.spiders.RebindingHandler"},
            DNS_CACHE_SECONDS=0,
            DOWNLOAD_KEEP_ALIVE_SECONDS=0,
            ROBOTSTXT_OBEY=False,
        )
        assert trap.accepted == 0, worker.log
    assert status.count("pages") == 1
    assert status.dead_reasons == {Dead.PRIVATE_ADDRESS: 2}


def test_a_worker_on_a_hostile_web_records_every_reason_and_does_not_grow(redis_url: str, tmp_path: Path):
    for kind in ("gzip", "br", "zstd"):
        bomb(kind)  # takes longer than the worker waits
    with HostileServer() as server:
        status, worker = crawl(
            redis_url,
            tmp_path,
            [server.url(path) for path, *_ in ENDS] + [server.url("/good")],
            "tests.download.spiders:Measured",
            ALLOW_PRIVATE=True,
            ROBOTSTXT_OBEY=False,
            DOWNLOAD_MAXSIZE=1_000_000,
            DOWNLOAD_FIRST_BYTE_SECONDS=2,
            DOWNLOAD_SLOW_SECONDS=2,
            DOWNLOAD_TIMEOUT=6,
        )
    assert status.count("pages") == 1
    assert status.dead_reasons == Counter(reason for *_, reason in ENDS)
    grown_bytes = next(one["grown_bytes"] for one in worker.records() if "grown_bytes" in one)
    assert grown_bytes < MOST_BYTES
    assert "Unclosed" not in worker.log
