"""Which connection does a request go out on, and how much may a server say before its page begins?

Three things that aiohttp leaves open are closed here: the address of every socket is looked at a last time, however
it came about; all headers together are bounded while they come in; and they have to arrive in time.
"""

import asyncio
import ipaddress
import re
import socket
import ssl
from functools import lru_cache
from typing import Any, ClassVar

import aiohttp
from aiohttp import StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from scrapy.exceptions import DownloadTimeoutError

from crawler.addresses import Address
from crawler.download.config import DownloadConfig
from crawler.download.errors import BadAnswer
from crawler.download.resolver import Resolver, refusal

parse_address = lru_cache(maxsize=1024)(ipaddress.ip_address)
# What takes longer to send than the kernel takes at once: the time to the first byte would begin too early.
_LARGE_UPLOAD_BYTES = 64 * 1024
_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)


class SocketRefused(OSError):
    """An OSError, which the code that opens connections knows how to pass on."""


class StaleConnection(Exception):
    """A kept connection was closed by the server as we used it: it never saw the request."""


class HeadersTooLarge(Exception):
    pass


class BoundedProtocol(ResponseHandler):
    """Counts the bytes before a response is complete enough to be read, and is less easily upset by what follows it."""

    header_bytes_limit: ClassVar[int]

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.uses = 0
        self.header_bytes = 0
        self._is_in_headers = False
        self._body: StreamReader | None = None

    def set_response_params(self, **params: Any) -> None:
        self.uses += 1
        self.header_bytes = 0
        self._is_in_headers = True
        self._body = None
        super().set_response_params(**params)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """A whole head was parsed. That of an interim answer (1xx) is not the end: another follows."""
        message, self._body = data
        self._is_in_headers = 100 <= message.code < 200 and message.code != 101
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        if self._is_in_headers and not self.header_bytes:
            data = self._cut(data)
        super().data_received(data)
        failure = self.exception()
        if failure is not None and self._body is not None and not self._body.is_eof():
            # aiohttp tells whoever waits for headers, and leaves whoever waits for the body waiting.
            self._body.set_exception(BadAnswer(f"the body is garbled: {str(failure).partition(chr(10))[0]}"))
        if self._is_in_headers:
            self.header_bytes += len(data)
            if self.header_bytes > self.header_bytes_limit and self.exception() is None:
                self.set_exception(HeadersTooLarge())
                if self.transport is not None:
                    self.transport.close()

    def _cut(self, data: bytes) -> bytes:
        """A body that is longer than it says: browsers take what was promised. aiohttp would give up the whole answer
        if rubbish came in one piece with it."""
        end = data.find(b"\r\n\r\n")
        length = _CONTENT_LENGTH.search(data, 0, end + 2) if end >= 0 else None
        if length is None or len(data) <= end + 4 + int(length[1]):
            return data
        self.force_close()
        return data[: end + 4 + int(length[1])]


class Answer(aiohttp.ClientResponse):
    """Knows who answered, which aiohttp forgets when the body has been read, and waits only so long for the headers."""

    first_byte_seconds: ClassVar[float]
    header_bytes_limit: ClassVar[int]
    peer: Address | None = None
    certificate: bytes | None = None

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        transport, protocol = connection.transport, connection.protocol
        if transport is not None:
            name = transport.get_extra_info("peername")
            self.peer = parse_address(name[0]) if name else None
            secure = transport.get_extra_info("ssl_object")
            if isinstance(secure, ssl.SSLObject):
                self.certificate = secure.getpeercert(binary_form=True)
        is_upload = int(self.request_info.headers.get("Content-Length", 0)) > _LARGE_UPLOAD_BYTES
        try:
            async with asyncio.timeout(None if is_upload else self.first_byte_seconds):
                await super().start(connection)
        except TimeoutError:
            raise DownloadTimeoutError(
                f"{self.url} did not begin to answer within {self.first_byte_seconds:g} s"
            ) from None
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            if isinstance(protocol, BoundedProtocol) and protocol.uses > 1 and not protocol.header_bytes:
                raise StaleConnection(str(error)) from error
            raise
        except HeadersTooLarge:
            raise self._too_large() from None
        # They may have come in one piece with a body, and so not have been counted.
        if sum(len(name) + len(value) + 4 for name, value in self.raw_headers) > self.header_bytes_limit:
            raise self._too_large()
        return self

    def _too_large(self) -> BadAnswer:
        return BadAnswer(f"{self.url} sent headers of more than {self.header_bytes_limit} bytes")


def open_session(
    config: DownloadConfig, resolver: Resolver, local_address: tuple[str, int] | None, tls: ssl.SSLContext
) -> aiohttp.ClientSession:
    """Needs a running event loop."""

    class Protocol(BoundedProtocol):
        header_bytes_limit = config.header_bytes

    class SessionAnswer(Answer):
        first_byte_seconds = config.first_byte_seconds
        header_bytes_limit = config.header_bytes

    def open_socket(address: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, (host, *_) = address
        if config.addresses.refuses_address(parse_address(host)) and not resolver.vouches_for(host):
            raise SocketRefused(refusal(host))
        return socket.socket(family, kind, protocol)

    loop = asyncio.get_running_loop()
    connector = aiohttp.TCPConnector(
        resolver=resolver,
        use_dns_cache=False,  # the resolver has its own, of addresses that were checked
        socket_factory=open_socket,
        local_addr=local_address,
        limit=config.connections,
        limit_per_host=config.connections_per_host,
        keepalive_timeout=config.keep_alive_seconds or None,
        force_close=not config.keep_alive_seconds,
        ssl=tls,
    )
    # Two private names of aiohttp, each with a test that fails when it no longer works: what makes a connection's
    # protocol, and whether a request is silently sent a second time. The latter is for who decides on retries.
    connector._factory = lambda: Protocol(loop)  # type: ignore[assignment]
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        response_class=SessionAnswer,
        skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=config.connect_seconds),
        max_line_size=config.header_line_bytes,
        max_field_size=config.header_line_bytes,
        max_headers=config.headers,
    )
    session._retry_connection = False
    return session
