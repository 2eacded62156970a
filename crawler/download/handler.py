"""What did the server send? Scrapy asks once for every request; the answer is a response or an exception.

Nothing is followed, kept or tried again here: redirects and retries belong to the frontier, cookies to Scrapy's
middleware. The one exception is a kept connection that the server closes just as a request goes out on it.
"""

import asyncio
import io
import logging
from functools import cached_property
from time import monotonic
from typing import Any, Self
from weakref import WeakValueDictionary

import aiohttp
from scrapy import Request, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from scrapy.http import Headers, Response
from scrapy.utils._download_handlers import check_stop_download, make_response, normalize_bind_address
from scrapy.utils.ssl import _make_ssl_context
from yarl import URL

from crawler.download.config import DownloadConfig
from crawler.download.connector import Answer, StaleConnection, open_session
from crawler.download.decoding import ACCEPT_ENCODING, split_encodings
from crawler.download.errors import AddressRefused, TooSlow
from crawler.download.failures import translate
from crawler.download.reading import Body, Pace, read
from crawler.download.resolver import Resolver, ask_system, refusal
from crawler.urls import normalise

logger = logging.getLogger(__name__)

# A server may have closed every kept connection to it; each of them is found out one by one.
_STALE_TRIES = 3
_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
_WITHOUT_BODY = frozenset({204, 304})
# How a message is framed is the client's business, and credentials for the proxy are not the server's.
_OWN_HEADERS = frozenset({b"Content-Length", b"Transfer-Encoding", b"Proxy-Authorization"})
_LARGE_BODY_BYTES = 1 << 20  # aiohttp sends bytes of more than this in one go, and warns; a file it sends in pieces


class DownloadHandler(BaseDownloadHandler):
    query = staticmethod(ask_system)  # how names become addresses
    lazy = False
    _of_crawlers: "WeakValueDictionary[tuple[type, int], DownloadHandler]" = WeakValueDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy asks for a handler for each scheme, and gets one for both: names that are known, limits on connections
        and the browser belong to the crawl.
        """
        key = cls, id(crawler)  # which is not used again as long as the handler is there, since that holds the crawler
        handler = cls._of_crawlers.get(key)
        if not isinstance(handler, cls):
            handler = cls._of_crawlers[key] = cls(crawler)
        return handler

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._resolver: Resolver | None = None
        self._session: aiohttp.ClientSession | None = None
        # The certificates of all authorities take 20 ms to read: not between a host's token and the request that the
        # token is for. Earlier there is no event loop, and settings that make no sense would be reported twice.
        crawler.signals.connect(self._open, signals.spider_opened)

    @cached_property
    def _config(self) -> DownloadConfig:
        return DownloadConfig.from_settings(self.crawler.settings)

    async def download_request(self, request: Request) -> Response:
        seconds = float(request.meta.get("download_timeout") or 0)
        url = _prepare_url(request.url)
        began = monotonic()
        config = self._config
        timeout = asyncio.timeout(seconds or None)
        pace = Pace(timeout, config.slowest_rate * config.slow_seconds, config.slow_seconds)
        try:
            async with timeout:
                answer = await self._send(request, url)
                request.meta["download_latency"] = monotonic() - began
                try:
                    return await self._receive(request, answer, pace)
                finally:
                    answer.close()  # nothing, when it was read to the end: the connection was given back then
        except TimeoutError:
            if pace.is_too_slow:
                raise TooSlow(
                    f"{request.url}: fewer than {pace.window_bytes:g} bytes in {pace.window_seconds:g} s"
                ) from None
            raise DownloadTimeoutError(f"{request.url} took longer than {seconds:g} s") from None

    async def close(self) -> None:
        """Called once for each scheme."""
        self._of_crawlers.pop((type(self), id(self.crawler)), None)
        if self._session is not None:
            await self._session.close()
        if self._resolver is not None:
            await self._resolver.close()

    # --- There ---------------------------------------------------------------------------------

    async def _send(self, request: Request, url: URL) -> Answer:
        session = self._session or self._open()
        options = _proxy_options(request)
        if options and self._config.addresses.refuses_host(url.raw_host or ""):
            raise AddressRefused(refusal(url.raw_host or ""))  # the proxy would go there for us
        tries = _STALE_TRIES if request.method in _IDEMPOTENT else 0
        while True:
            try:
                answer = await session.request(
                    request.method,
                    url,
                    headers=_headers_of(request),
                    data=_body_of(request),
                    allow_redirects=False,
                    **options,
                )
            except StaleConnection as error:
                if not tries:
                    raise DownloadFailedError(f"{request.url}: the connection broke: {error}") from error
                tries -= 1
            except (aiohttp.ClientError, OSError, ValueError) as error:
                raise self._translate(error, request) from error
            else:
                assert isinstance(answer, Answer)  # noqa: S101  the session was told to make those
                return answer

    def _open(self) -> aiohttp.ClientSession:
        settings = self.crawler.settings
        tls = _make_ssl_context(settings)
        tls.set_alpn_protocols(["http/1.1"])
        local_address = normalize_bind_address(settings.get("DOWNLOAD_BIND_ADDRESS"))
        self._resolver = Resolver(self._config.addresses, self._config, self.query)
        self._session = open_session(self._config, self._resolver, local_address, tls)
        return self._session

    def _translate(self, error: Exception, request: Request) -> Exception:
        return translate(error, request.url, self._config.connect_seconds)

    # --- And back ------------------------------------------------------------------------------

    async def _receive(self, request: Request, answer: Answer, pace: Pace) -> Response:
        headers = Headers(answer.raw_headers)
        version = answer.version
        about: dict[str, Any] = {
            "url": request.url,
            "status": answer.status,
            "headers": headers,
            "certificate": answer.certificate,
            "ip_address": answer.peer,
            "protocol": f"HTTP/{version.major}.{version.minor}" if version else None,
        }
        body, expected_bytes = self._prepare_body(request, answer, headers)
        stop = check_stop_download(
            signals.headers_received, self.crawler, request, headers=headers, body_length=expected_bytes
        )
        if stop:
            return make_response(**about, stop_download=stop)
        body.expect(expected_bytes or 0)
        if body.is_encoded:
            _drop_encodings(headers)

        def receive(data: bytes) -> bool:
            nonlocal stop
            stop = check_stop_download(signals.bytes_received, self.crawler, request, data=data)
            return stop is not None

        flags = []
        try:
            await read(answer.content, body, pace, receive)
            if stop is None and not body.is_complete:
                raise ResponseDataLossError(f"{request.url}: the body ended before its encoding did")
        except (aiohttp.ClientError, OSError, ResponseDataLossError) as error:
            problem = error if isinstance(error, ResponseDataLossError) else self._translate(error, request)
            if not isinstance(problem, ResponseDataLossError) or self._fails_on_loss(request):
                raise problem from error
            flags.append("dataloss")
        if body.is_encoded:
            _count_decoded(self.crawler, len(body.data))
        return make_response(**about, body=body.data, flags=flags, stop_download=stop)

    def _prepare_body(self, request: Request, answer: Answer, headers: Headers) -> tuple[Body, int | None]:
        """And the size that the server promises, if it does."""
        own_limit = request.meta.get("download_maxsize")
        config = self._config
        limits = (config.body_bytes, config.raw_body_bytes) if own_limit is None else (own_limit, own_limit)
        body = Body(*limits)
        if request.method == "HEAD" or answer.status in _WITHOUT_BODY:
            return body, None
        encodings, remaining = split_encodings(headers.getlist("Content-Encoding"))
        if remaining:
            logger.warning("%s has an encoding that is not known here: %s", request.url, ", ".join(remaining))
        body.use_encodings(encodings)
        length = headers.get("Content-Length")
        expected_bytes = int(length) if length is not None and length.isdigit() else None
        return body, expected_bytes

    def _fails_on_loss(self, request: Request) -> bool:
        return bool(request.meta.get("download_fail_on_dataloss", self._config.fails_on_loss))


def _prepare_url(text: str) -> URL:
    """As the URL standard reads it, which is what was checked; without fragment, and without credentials."""
    try:
        url = normalise(text).partition("#")[0]
    except ValueError:
        raise UnsupportedURLSchemeError(f"{text!r:.200} is not a URL") from None
    scheme, _, rest = url.partition("://")
    if scheme not in {"http", "https"}:
        raise UnsupportedURLSchemeError(f"{text!r:.200}: only http and https are fetched")
    authority, slash, path = rest.partition("/")
    return URL(f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}", encoded=True)


def _headers_of(request: Request) -> list[tuple[str, str]]:
    headers = [
        (name.decode("latin-1"), _text(value))
        for name, values in request.headers.items()
        if name not in _OWN_HEADERS
        for value in values
    ]
    if request.meta.get("proxy") and request.url.startswith("http:") and b"Proxy-Authorization" in request.headers:
        headers.append(("Proxy-Authorization", _text(request.headers["Proxy-Authorization"] or b"")))
    if b"Accept-Encoding" not in request.headers:
        headers.append(("Accept-Encoding", ACCEPT_ENCODING))
    return headers


def _text(value: bytes) -> str:
    """aiohttp writes headers as UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _body_of(request: Request) -> bytes | io.BytesIO | None:
    body: bytes = request.body
    return io.BytesIO(body) if len(body) > _LARGE_BODY_BYTES else body or None


def _proxy_options(request: Request) -> dict[str, Any]:
    proxy = request.meta.get("proxy")
    if not proxy:
        return {}
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    # Over http the proxy reads the request itself; over https it sees only what goes with CONNECT.
    credentials = request.headers.get("Proxy-Authorization") if request.url.startswith("https:") else None
    return {"proxy": proxy, "proxy_headers": {"Proxy-Authorization": _text(credentials)} if credentials else None}


def _drop_encodings(headers: Headers) -> None:
    """What was undone is no longer said, as after Scrapy's own middleware."""
    _, remaining = split_encodings(headers.getlist("Content-Encoding"))
    if remaining:
        headers["Content-Encoding"] = ", ".join(remaining)
    else:
        del headers["Content-Encoding"]


def _count_decoded(crawler: Crawler, decoded_bytes: int) -> None:
    """Under the names that Scrapy's own middleware uses."""
    crawler.stats.inc_value("httpcompression/response_bytes", decoded_bytes)
    crawler.stats.inc_value("httpcompression/response_count")
