"""Does a download look to Scrapy as one of its own would, and to the server as the request said?"""

import asyncio
import gzip
import ipaddress
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import brotli
import pytest
from aiohttp import web
from backports import zstd
from scrapy import Request, signals
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.exceptions import StopDownload, UnsupportedURLSchemeError
from scrapy.http import FormRequest, HtmlResponse, JsonResponse, Response, TextResponse
from scrapy.http import Request as ScrapyRequest

from crawler.download.errors import TooLarge
from crawler.render.handler import RenderHandler
from tests.download.downloads import download, make_crawler, open_handler, run

HTML = "<!doctype html><meta charset=utf-8><title>Grüße</title>".encode()


class Site:
    """An honest server in a thread of its own, which says what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self._ready: Future[tuple[asyncio.AbstractEventLoop, int]] = Future()
        self._done = asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._loop, self.port = self._ready.result(10)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
        self._ready.set_result((asyncio.get_running_loop(), port))
        await self._done.wait()
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        assert request.transport is not None
        self.asked.append(
            {
                "method": request.method,
                "target": request.raw_path,
                "headers": [(name.decode(), value) for name, value in request.raw_headers],
                "body": body,
                "from": request.transport.get_extra_info("peername"),
            }
        )
        kind = request.path.strip("/")
        if kind in ENCODERS:
            encoding, encode = ENCODERS[kind]
            headers = {"Content-Encoding": encoding, "Content-Type": "text/html", "X-Two": "1"}
            return web.Response(body=encode(HTML * 1000), headers=headers)
        if kind == "redirect":
            return web.Response(status=302, headers={"Location": "/elsewhere", "Set-Cookie": "a=1"})
        if kind == "json":
            return web.json_response({"a": 1})
        if kind == "large":
            return web.Response(body=b"\0\1\2" * 1_000_000, content_type="application/octet-stream")
        if kind == "not-modified":
            return web.Response(status=304, headers={"ETag": '"1"'})
        return web.Response(body=HTML, content_type="text/html", headers={"Set-Cookie": "a=1"})


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
    "stacked": ("br, gzip", lambda data: gzip.compress(brotli.compress(data))),
    "unknown": ("rot13", lambda data: data),
    "half-known": ("rot13, gzip", gzip.compress),
}


@pytest.fixture(scope="module")
def shared_site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture
def site(shared_site: Site) -> Site:
    shared_site.asked.clear()
    return shared_site


# --- The response ----------------------------------------------------------------------------


def test_a_page(site: Site):
    request = Request(site.url("/page?b=2&a=1#part"))
    response = download(request)
    assert isinstance(response, HtmlResponse)
    assert (response.status, response.body, response.flags) == (200, HTML, [])
    assert response.url == request.url
    assert response.headers.getlist("Set-Cookie") == [b"a=1"]
    assert response.ip_address == ipaddress.ip_address("127.0.0.1")
    assert response.protocol == "HTTP/1.1"
    assert response.certificate is None
    assert 0 < request.meta["download_latency"] < 10
    assert site.asked[0]["target"] == "/page?b=2&a=1"


def test_a_response_has_the_class_of_its_content(site: Site):
    assert isinstance(download(site.url("/json")), JsonResponse)
    assert not isinstance(download(site.url("/large")), TextResponse)


@pytest.mark.parametrize("kind", ["gzip", "deflate", "br", "zstd", "stacked"])
def test_an_encoded_page_arrives_decoded_and_no_longer_says_that_it_was(site: Site, kind: str):
    response = download(site.url(f"/{kind}"))
    assert response.body == HTML * 1000
    assert isinstance(response, HtmlResponse)
    assert "Content-Encoding" not in response.headers
    assert response.headers["X-Two"] == b"1"


def test_an_encoding_that_nobody_knows_is_left_as_it_is(site: Site):
    response = download(site.url("/unknown"))
    assert (response.body, response.headers["Content-Encoding"]) == (HTML * 1000, b"rot13")
    response = download(site.url("/half-known"))
    assert (response.body, response.headers["Content-Encoding"]) == (HTML * 1000, b"rot13")


def test_a_head_has_the_headers_of_an_encoded_page_and_no_body(site: Site):
    response = download(Request(site.url("/gzip"), method="HEAD"))
    assert (response.body, response.headers["Content-Encoding"]) == (b"", b"gzip")
    assert int(response.headers["Content-Length"] or 0) > 0
    assert download(Request(site.url("/large"), method="HEAD"), DOWNLOAD_MAXSIZE=1000).body == b""


def test_a_redirect_is_not_followed_and_no_cookie_is_kept(site: Site):
    async def work() -> list[Response]:
        async with open_handler(make_crawler()) as handler:
            return [await handler.download_request(Request(site.url(path))) for path in ("/redirect", "/page", "/page")]

    first, *_ = run(work)
    assert (first.status, first.headers["Location"]) == (302, b"/elsewhere")
    assert [one["target"] for one in site.asked] == ["/redirect", "/page", "/page"]
    assert not any(name == "Cookie" for one in site.asked for name, _ in one["headers"])


def test_an_answer_without_a_body(site: Site):
    assert download(site.url("/not-modified")).status == 304


def test_sizes_are_bounded_as_sent_and_as_decoded(site: Site):
    with pytest.raises(TooLarge, match="limit is 1000000"):
        download(site.url("/large"), DOWNLOAD_MAXSIZE=1_000_000)
    with pytest.raises(TooLarge, match="limit is 2000000"):
        download(site.url("/large"), DOWNLOAD_RAW_MAXSIZE=2_000_000)
    with pytest.raises(TooLarge, match="unfolds into more than 5000"):
        download(site.url("/gzip"), DOWNLOAD_MAXSIZE=5000)
    assert len(download(site.url("/large"), DOWNLOAD_MAXSIZE=0, DOWNLOAD_RAW_MAXSIZE=0).body) == 3_000_000


# --- The request -----------------------------------------------------------------------------


def test_headers_go_out_as_the_request_says_and_no_others(site: Site):
    headers = {"User-Agent": "Orbweaver", "Accept": "text/html", "X-Mark": ["one", "two"], "X-Word": "naïve"}
    download(Request(site.url("/"), headers={**headers, "Proxy-Authorization": "Basic secret", "Content-Length": "7"}))
    (asked,) = site.asked
    assert sorted(asked["headers"]) == [
        ("Accept", b"text/html"),
        ("Accept-Encoding", b"gzip, deflate, br, zstd"),
        ("Host", f"127.0.0.1:{site.port}".encode()),
        ("User-Agent", b"Orbweaver"),
        ("X-Mark", b"one"),
        ("X-Mark", b"two"),
        ("X-Word", "naïve".encode()),
    ]


def test_an_accept_encoding_of_the_request_is_kept(site: Site):
    download(Request(site.url("/"), headers={"Accept-Encoding": "identity"}))
    assert ("Accept-Encoding", b"identity") in site.asked[0]["headers"]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("body", [b"", b"\x00\xff" * 100])
def test_methods_and_bodies(site: Site, method: str, body: bytes):
    assert download(Request(site.url("/"), method=method, body=body)).status == 200
    (asked,) = site.asked
    assert (asked["method"], asked["body"]) == (method, body)
    lengths = [value for name, value in asked["headers"] if name == "Content-Length"]
    assert lengths == ([str(len(body)).encode()] if body or method not in {"GET", "OPTIONS"} else [])
    assert not any(name == "Content-Type" for name, _ in asked["headers"])


def test_a_form_and_a_large_upload(site: Site):
    download(FormRequest(site.url("/"), formdata={"a": "1"}))
    assert site.asked[0]["body"] == b"a=1"
    body = b"0123456789" * 2_000_000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        download(Request(site.url("/"), method="POST", body=body), DOWNLOAD_TIMEOUT=30)
    assert site.asked[1]["body"] == body


def test_credentials_in_a_url_are_not_sent(site: Site):
    download(Request(f"http://user:secret@127.0.0.1:{site.port}/page"))
    assert "secret" not in repr(site.asked)
    assert "Authorization" not in dict(site.asked[0]["headers"])


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://127.0.0.1/", "data:,x", "gopher://127.0.0.1/", "s3://b/k"]
)
def test_other_schemes_are_refused(url: str):
    with pytest.raises(UnsupportedURLSchemeError):
        download(ScrapyRequest(url))


def test_a_line_break_in_a_header_is_not_sent(site: Site):
    with pytest.raises(Exception, match="cannot be sent"):
        download(Request(site.url("/"), headers={"X-Mark": "one\r\nX-Forged: yes"}))
    assert site.asked == []


# --- Signals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("signal", [signals.headers_received, signals.bytes_received])
@pytest.mark.parametrize("fail", [True, False])
def test_a_download_can_be_stopped(site: Site, signal: object, fail: bool):
    crawler = make_crawler()
    seen: list[dict[str, Any]] = []

    def stop(**what: Any) -> None:
        seen.append(what)
        raise StopDownload(fail=fail)

    crawler.signals.connect(stop, signal)
    if fail:
        with pytest.raises(StopDownload) as caught:
            download(site.url("/large"), crawler)
        response = caught.value.response
    else:
        response = download(site.url("/large"), crawler)
    assert response is not None
    assert response.flags == ["download_stopped"]
    assert len(seen) == 1
    assert seen[0]["request"].url == site.url("/large")
    if signal is signals.headers_received:
        assert seen[0]["body_length"] == 3_000_000
        assert seen[0]["headers"]["Content-Type"] == b"application/octet-stream"
        assert response.body == b""
    else:
        assert response.body == seen[0]["data"] != b""


def test_every_byte_is_announced(site: Site):
    crawler = make_crawler()
    seen: list[bytes] = []

    def note(data: bytes, **_: Any) -> None:
        seen.append(data)

    crawler.signals.connect(note, signals.bytes_received)
    assert download(site.url("/large"), crawler).body == b"".join(seen)


# --- Connections -----------------------------------------------------------------------------


def test_both_schemes_share_what_a_crawl_has_one_of():
    crawler = make_crawler()

    async def work() -> None:
        handlers = DownloadHandlers(crawler)
        http, https = (handlers._get_handler(scheme) for scheme in ("http", "https"))
        assert isinstance(http, RenderHandler)
        assert https is http
        assert DownloadHandlers(make_crawler())._get_handler("http") is not http
        crawler.signals.send_catch_log(signals.spider_opened, spider=crawler.spider)
        await handlers._close()  # of both
        assert DownloadHandlers(crawler)._get_handler("http") is not http

    run(work)


def test_a_connection_is_used_again(site: Site):
    async def work() -> None:
        async with open_handler(make_crawler()) as handler:
            for _ in range(5):
                await handler.download_request(Request(site.url("/gzip")))

    run(work)
    assert len({one["from"] for one in site.asked}) == 1


def test_a_kept_connection_that_the_server_closed_is_replaced():
    """The server answers once on a connection, promises to keep it, and closes it when the next request arrives."""
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.read(1)
        writer.close()

    async def work() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with open_handler(make_crawler()) as handler:
            for _ in range(3):
                assert (await handler.download_request(Request(url))).body == b"ok"
        server.close()

    run(work)
    assert len(seen) == 3


def test_connections_to_a_host_are_bounded(site: Site):
    async def work() -> None:
        async with open_handler(make_crawler(CONCURRENT_REQUESTS_PER_DOMAIN=2)) as handler:
            await asyncio.gather(*(handler.download_request(Request(site.url("/"))) for _ in range(10)))

    run(work)
    assert len({one["from"] for one in site.asked}) <= 2


def test_a_proxy_gets_the_whole_url_and_its_credentials(site: Site):
    request = Request(
        "http://somewhere.example/page",
        headers={"Proxy-Authorization": "Basic dTpw"},
        meta={"proxy": f"http://127.0.0.1:{site.port}"},
    )
    assert download(request).body == HTML
    (asked,) = site.asked
    assert asked["target"] == "http://somewhere.example/page"
    assert ("Proxy-Authorization", b"Basic dTpw") in asked["headers"]
    assert ("Host", b"somewhere.example") in asked["headers"]


def test_the_local_address_can_be_chosen(site: Site):
    download(site.url("/"), DOWNLOAD_BIND_ADDRESS="127.0.0.9")
    assert site.asked[0]["from"][0] == "127.0.0.9"
