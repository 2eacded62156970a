"""Stands before an S3 server and makes trouble: says 503, lets a write succeed and loses the answer, is slow, is far
away over a thin line, or makes the server believe that the secret is wrong.
"""

import http.client
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

SLOW_DOWN = (
    b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class TroubleProxy:
    def __init__(self, port: int) -> None:
        self.port = port
        self.refuse_next = 0  # so many requests are answered with 503, -1 for all
        self.lose_next = 0  # of so many writes the answer is lost
        self.spoils_signatures = False  # the server itself then refuses what was signed with the right secret
        self.delay_seconds = 0.0
        self.bytes_per_second = 0  # of what is sent to it, over one connection; 0 for no limit
        self.seen: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self._read(int(self.headers.get("Content-Length") or 0))
                proxy.seen.append((self.command, self.path))
                if proxy._take("refuse_next"):
                    self._answer(503, [("Content-Type", "application/xml")], SLOW_DOWN)
                    return
                time.sleep(proxy.delay_seconds)
                upstream = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=30)
                upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    if name.lower() == "authorization" and proxy.spoils_signatures:
                        value = value[:-1] + ("0" if value[-1] != "0" else "1")
                    upstream.putheader(name, value)
                upstream.endheaders(body)
                answer = upstream.getresponse()
                data = answer.read()
                upstream.close()
                if self.command == "PUT" and answer.status == 200 and proxy._take("lose_next"):
                    self.close_connection = True
                    self.connection.close()
                    return
                self._answer(answer.status, answer.getheaders(), data)

            def _read(self, length: int) -> bytes:
                if proxy.bytes_per_second:
                    time.sleep(length / proxy.bytes_per_second)
                return self.rfile.read(length)

            def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
                self.send_response_only(status)
                for name, value in headers:
                    if name.lower() not in _HOP:
                        self.send_header(name, value)
                length = {name.lower(): value for name, value in headers}.get("content-length", str(len(data)))
                self.send_header("Content-Length", length if self.command == "HEAD" else str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any

            def log_message(self, *_: object) -> None:
                pass

            def handle(self) -> None:
                try:
                    super().handle()
                except (OSError, ValueError):  # our own closing of a connection, and the client's
                    self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._serve: Callable[[], None] = self._server.serve_forever
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def _take(self, name: str) -> bool:
        with self._lock:
            left = getattr(self, name)
            if left > 0:
                setattr(self, name, left - 1)
            return bool(left)

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
