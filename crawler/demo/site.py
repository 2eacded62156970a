"""Where is there something to crawl without a network? Serves the sample site on loopback, for ``scrapy demo``.

Three hosts, 127.0.0.1 to 127.0.0.3, on one free port. Where only the first can be had, as on macOS, the sections
become folders of that one host.
"""

import contextlib
import errno
import socket
import threading
import time
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from crawler.demo.pages import NOTEBOOK, SECTIONS, Page, build_pages
from crawler.errors import EngineUnavailable

ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
_ATTEMPTS = 20  # a port that is free on the first address may be taken on the others


class DemoSite:
    """Started once, stopped once. ``pages`` holds every page by its URL while the site runs."""

    def __init__(self, addresses: Sequence[str] = ADDRESSES) -> None:
        self._addresses = addresses
        self._servers: list[_Server] = []
        self.pages: dict[str, Page] = {}

    def start(self) -> list[str]:
        """Returns the seeds: the front page of each section."""
        self._servers = _listen(self._addresses)
        self.pages = build_pages(self._locate)
        for server in self._servers:
            server.pages = {**self.pages, f"{server.origin}/robots.txt": self._robots(server)}
            threading.Thread(target=server.serve_forever, args=(0.05,), name=server.origin, daemon=True).start()
        return [self._locate(section, "/") for section in SECTIONS]

    def stop(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()
            server.close_connections()
        self._servers = []

    def _locate(self, section: str, path: str) -> str:
        number = SECTIONS.index(section)
        alone = len(self._servers) == 1
        folder = f"/{section}" if alone and number else ""
        return f"{self._servers[0 if alone else number].origin}{folder}{path}"

    def _robots(self, server: "_Server") -> Page:
        drafts = self._locate(NOTEBOOK, "/drafts/")
        closed = drafts.startswith(f"{server.origin}/")
        rule = f"Disallow: {drafts.removeprefix(server.origin)}" if closed else "Allow: /"
        return Page(f"User-agent: *\n{rule}\n", headers={"Content-Type": "text/plain; charset=utf-8"})


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"
    server_version = "OrbweaverDemo"
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: in two, the second waits 40 ms for the first one's ACK

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = urlencode(sorted(parse_qsl(parts.query)))
        page = self.server.pages.get(f"{self.server.origin}{parts.path}{'?' if query else ''}{query}", _MISSING)
        time.sleep(page.delay_seconds)
        body = page.body.encode()
        self.send_response(page.status)
        for name, value in page.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def handle(self) -> None:
        # Crawlers hang up when they have what they want.
        with contextlib.suppress(ConnectionError):
            super().handle()

    def finish(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """The crawl's own progress is on the screen."""


_MISSING = Page(
    "<!doctype html><title>Not found</title><p>Nobody has written this page.</p>",
    HTTPStatus.NOT_FOUND,
    {"Content-Type": "text/html; charset=utf-8"},
)


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, address: str, port: int) -> None:
        self.pages: dict[str, Page] = {}
        self._connections: set[socket.socket] = set()
        super().__init__((address, port), _Handler)
        self.origin = f"http://{address}:{self.server_address[1]}"

    def server_bind(self) -> None:
        # HTTPServer's own asks the DNS for the name of the address, which takes seconds without a network.
        TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """Kept-alive connections would otherwise be served by their threads after the end."""
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _listen(addresses: Sequence[str]) -> list[_Server]:
    for _ in range(_ATTEMPTS):
        servers: list[_Server] = []
        try:
            for address in addresses:
                servers.append(_Server(address, servers[0].server_address[1] if servers else 0))
            return servers
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL and servers:
                for server in servers[1:]:
                    server.server_close()
                return servers[:1]
            for server in servers:
                server.server_close()
            if error.errno != errno.EADDRINUSE:
                raise EngineUnavailable(f"the demo site cannot listen on {addresses[len(servers)]}: {error}") from error
    raise EngineUnavailable(f"no port is free on all of {', '.join(addresses)}; try again")
