"""A server that does everything a server should not. Each path of `BEHAVIOURS` is one way to misbehave; the connection
is closed when its function returns, and a client that goes away ends any of them.

    with HostileServer() as server:
        download(server.url("/drip"))
        assert server.accepted == 1
"""

import contextlib
import gzip
import os
import socket
import ssl
import struct
import threading
import time
import zlib
from collections.abc import Callable
from functools import cache
from typing import Self

import brotli
from backports import zstd

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
PAGE = b"<!doctype html><title>A page</title><p>Hello"
_PIECE = b"x" * 65536


def _page(headers: bytes = b"", body: bytes = PAGE) -> bytes:
    return OK + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body


# --- Ways to misbehave -----------------------------------------------------------------------

Behaviour = Callable[[socket.socket], None]
BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(function: Behaviour) -> Behaviour:
    BEHAVIOURS["/" + function.__name__] = function
    return function


def _wait(connection: socket.socket) -> None:
    """Until the client goes away, and for ten seconds at most."""
    connection.settimeout(10)
    with contextlib.suppress(OSError):
        while connection.recv(65536):
            pass


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@behaviour
def good(connection: socket.socket) -> None:
    connection.sendall(_page(b"Connection: close\r\n"))


@behaviour
def slow_first_byte(connection: socket.socket) -> None:
    _wait(connection)


@behaviour
def slow_headers(connection: socket.socket) -> None:
    for byte in OK + b"X-Slow: " + b"y" * 1000:
        connection.sendall(bytes([byte]))
        time.sleep(0.05)


@behaviour
def drip(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 100000\r\n\r\n")
    while True:
        connection.sendall(b"x")
        time.sleep(0.05)


@behaviour
def silent_body(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 100000\r\n\r\n")
    _wait(connection)


@behaviour
def just_fast_enough(connection: socket.socket) -> None:
    """For longer than all there is time for."""
    connection.sendall(OK + b"\r\n")
    while True:
        connection.sendall(b"x" * 500)
        time.sleep(0.02)


@behaviour
def endless_body(connection: socket.socket) -> None:
    connection.sendall(OK + b"\r\n")
    while True:
        connection.sendall(_PIECE)


@behaviour
def endless_chunks(connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"%x\r\n%b\r\n" % (len(_PIECE), _PIECE))


@behaviour
def endless_chunk_extension(connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n5;")
    while True:
        connection.sendall(_PIECE)


@behaviour
def endless_trailers(connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")
    while True:
        connection.sendall(b"X-Trailer: more\r\n" * 1000)


@behaviour
def promised_too_much(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 10000000000\r\n\r\n")
    _wait(connection)


@behaviour
def endless_headers(connection: socket.socket) -> None:
    connection.sendall(OK)
    while True:
        connection.sendall(b"X-More: yes\r\n" * 100)


@behaviour
def endless_long_headers(connection: socket.socket) -> None:
    connection.sendall(OK)
    while True:
        connection.sendall(b"X-More: %b\r\n" % (b"y" * 20_000))


@behaviour
def endless_header(connection: socket.socket) -> None:
    connection.sendall(OK + b"X-More: ")
    while True:
        connection.sendall(_PIECE)


@behaviour
def endless_status_line(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 ")
    while True:
        connection.sendall(_PIECE)


@behaviour
def one_large_header(connection: socket.socket) -> None:
    connection.sendall(_page(b"X-Large: %b\r\n" % (b"y" * 60_000)))


@behaviour
def headers_of_70_kilobytes(connection: socket.socket) -> None:
    connection.sendall(_page(b"".join(b"X-%d: %b\r\n" % (number, b"y" * 10_000) for number in range(7))))


@behaviour
def headers_of_50_kilobytes(connection: socket.socket) -> None:
    """Many, and still within the limits."""
    connection.sendall(_page(b"".join(b"X-%d: %b\r\n" % (number, b"y" * 10_000) for number in range(5))))


@behaviour
def endless_interim_answers(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.01)


@behaviour
def flood_of_interim_answers(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


@behaviour
def body_shorter_than_promised(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 1000\r\n\r\n" + PAGE)


@behaviour
def body_longer_than_promised(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 5\r\n\r\nhello and more of it")


@behaviour
def chunks_that_stop(connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n1000\r\nhello")


@behaviour
def chunks_of_garbage(connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzzz this is no chunk\r\n")


@behaviour
def chunks_of_garbage_later(connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    time.sleep(0.2)
    connection.sendall(b"zzz this is no chunk\r\n")
    _wait(connection)


@behaviour
def content_length_of_garbage(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: many\r\n\r\nhello")


@behaviour
def two_content_lengths(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\nhello..")


@behaviour
def reset_mid_body(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 100000\r\n\r\n" + PAGE)
    time.sleep(0.1)
    _reset(connection)


@behaviour
def reset_before_an_answer(connection: socket.socket) -> None:
    _reset(connection)


@behaviour
def reset_mid_headers(connection: socket.socket) -> None:
    connection.sendall(OK)
    time.sleep(0.1)
    _reset(connection)


@behaviour
def empty_answer(connection: socket.socket) -> None:
    pass


@behaviour
def http_0_9(connection: socket.socket) -> None:
    connection.sendall(b"<html>There were no headers in my youth.</html>\n")


@behaviour
def garbage_status_line(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 OK two hundred\r\n\r\nhello")


@behaviour
def status_999999(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 999999 Too much\r\nContent-Length: 0\r\n\r\n")


@behaviour
def noise(connection: socket.socket) -> None:
    connection.sendall(os.urandom(5000))


@behaviour
def another_protocol(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n")
    _wait(connection)


@behaviour
def header_without_a_name(connection: socket.socket) -> None:
    connection.sendall(OK + b": nothing\r\n no colon here\r\n\x00\x01: x\r\n\r\n")


@behaviour
def five_encodings(connection: socket.socket) -> None:
    connection.sendall(_page(b"Content-Encoding: gzip, gzip, gzip, gzip, gzip\r\n"))


@behaviour
def not_gzip_at_all(connection: socket.socket) -> None:
    connection.sendall(_page(b"Content-Encoding: gzip\r\n"))


@behaviour
def gzip_that_stops(connection: socket.socket) -> None:
    connection.sendall(_page(b"Content-Encoding: gzip\r\n", gzip.compress(os.urandom(2000))[:-100]))


@cache
def bomb(kind: str) -> bytes:
    """A gigabyte of zeros in a few kilobytes, or in one megabyte as gzip has it."""
    zeros = bytes(1 << 20)
    if kind == "gzip":
        deflater = zlib.compressobj(9, wbits=31)
        return b"".join(deflater.compress(zeros) for _ in range(1024)) + deflater.flush()
    if kind == "br":
        press = brotli.Compressor(quality=1)
        return b"".join(press.process(zeros) for _ in range(1024)) + press.finish()
    squeezer = zstd.ZstdCompressor()
    return b"".join(squeezer.compress(zeros) for _ in range(1024)) + squeezer.flush()


@behaviour
def bomb_gzip(connection: socket.socket) -> None:
    connection.sendall(_page(b"Content-Encoding: gzip\r\n", bomb("gzip")))


@behaviour
def bomb_brotli(connection: socket.socket) -> None:
    connection.sendall(_page(b"Content-Encoding: br\r\n", bomb("br")))


@behaviour
def bomb_zstd(connection: socket.socket) -> None:
    connection.sendall(_page(b"Content-Encoding: zstd\r\n", bomb("zstd")))


@behaviour
def bomb_in_a_bomb(connection: socket.socket) -> None:
    connection.sendall(_page(b"Content-Encoding: gzip, br\r\n", brotli.compress(bomb("gzip"), quality=1)))


# --- The server ------------------------------------------------------------------------------


class HostileServer:
    """On a free port, unless told. With ``tls``, every connection is wrapped; with ``hangs_up``, closed at once."""

    def __init__(
        self, tls: ssl.SSLContext | None = None, hangs_up: bool = False, address: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.accepted = 0
        self.requests: list[bytes] = []
        self._tls = tls
        self._hangs_up = hangs_up
        self._listener = socket.create_server((address, port), backlog=100)
        self.port: int = self._listener.getsockname()[1]
        self._is_open = True

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        with contextlib.suppress(OSError):  # wakes the thread that accepts
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while self._is_open:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.closing(connection):
            if self._hangs_up:
                return
            connection.settimeout(10)
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            head = b""
            while b"\r\n\r\n" not in head:
                data = connection.recv(65536)
                if not data:
                    return
                head += data
            self.requests.append(head)
            path = head.split(b" ", 2)[1].decode()
            BEHAVIOURS.get(path, good)(connection)
            with contextlib.suppress(OSError):
                if self._tls is None:
                    connection.shutdown(socket.SHUT_WR)
            connection.close()
