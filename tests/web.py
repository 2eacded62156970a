"""What did the crawler really ask the web for?

A web server of many loopback hosts, run as a process of its own, whose log is the judge of a test: each request is
one ``start`` and one ``end`` line, written with O_APPEND at once, so that the log survives a kill of any process.
Tests describe a `Site`, start a `WebServer`, crawl, and compare `WebServer.pages` with `expected_paths`.

    site = Site.trees(hosts=20, pages=50, latency_ms=20)
    site.hosts["127.0.0.3"].answers["/p/7"] = [Answer(status=503, headers={"Retry-After": "1"}), Answer()]
    with WebServer(site, tmp_path) as web:
        ...
        assert {hit.url for hit in web.pages()} == web.expected_paths()
"""

import argparse
import asyncio
import errno
import json
import math
import os
import random
import re
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Any, Self
from urllib.parse import urldefrag, urljoin, urlsplit

from tests.patience import SLOWEST

# --- What is served ----------------------------------------------------------------------------


@dataclass
class Answer:
    """One behaviour of one path. ``body=None`` is the page that the tree has there (or nothing, outside the tree).

    With an ETag or a Last-Modified among its headers, a request that repeats it is answered with 304.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    delay_ms: float = 0  # on top of the host's latency
    hang: bool = False  # accept the request and never answer
    reset: bool = False  # answer with a TCP reset


@dataclass
class Host:
    """One loopback address: a tree of pages, ``/`` and ``/p/1`` to ``/p/<pages - 1>``, and what deviates from it."""

    pages: int = 1
    extra_links: int = 2  # per page, beyond those of the tree
    other_hosts: int = 0  # links per page to other hosts of the site; "/" links to "/" of the next host
    padding_bytes: int = 0
    latency_ms: float = 0
    etags: bool = False  # pages of the tree have one, made from their body
    # A path's behaviours in turn; the last one stays. Keys are request targets, with or without their query.
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    robots: str | None = None  # the text of robots.txt; None with status 200 means there is none, a 404
    robots_status: int = 200
    silent: bool = False  # accepts connections and requests, and never answers
    refuses: bool = False  # does not listen


@dataclass
class Site:
    hosts: dict[str, Host]

    @classmethod
    def trees(cls, hosts: int, **kind: Any) -> Self:
        """A site of equal hosts; deviate afterwards with ``site.hosts[loopback(3)].silent = True``."""
        return cls({loopback(number): Host(**kind) for number in range(1, hosts + 1)})

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        hosts = json.loads(text)["hosts"]
        for host in hosts.values():
            host["answers"] = {path: [Answer(**one) for one in turns] for path, turns in host["answers"].items()}
        return cls({address: Host(**host) for address, host in hosts.items()})


def loopback(number: int) -> str:
    """The number-th host, from 1: 127.0.0.1 … 127.0.0.254, 127.0.1.1 …"""
    block, last = divmod(number - 1, 254)
    return f"127.0.{block}.{last + 1}"


def links_of(site: Site, port: int, address: str, page: int) -> list[str]:
    """The links of a page, as they stand in its HTML. Children in a binary tree make every page reachable."""
    host = site.hosts[address]
    pages = [child for child in (2 * page + 1, 2 * page + 2) if child < host.pages]
    pages += [(page * 31 + extra * 17 + 7) % host.pages for extra in range(host.extra_links)]
    links = [_path(number) for number in pages]
    addresses = list(site.hosts)
    here = addresses.index(address) if host.other_hosts else 0
    for step in range(min(host.other_hosts, len(addresses) - 1)):
        there = addresses[(here + 1 + (page + step) % (len(addresses) - 1)) % len(addresses)]
        links.append(f"http://{there}:{port}{_path(page * 13 % max(1, site.hosts[there].pages))}")
    return links


def _path(page: int) -> str:
    return f"/p/{page}" if page else "/"


def _page_number(host: Host, target: str) -> int | None:
    path = target.partition("?")[0]
    if path == "/":
        return 0 if host.pages else None
    number = path.removeprefix("/p/")
    # str(int()) refuses "/p/07": one page must not have two addresses that nobody asked for.
    if path.startswith("/p/") and number.isdecimal() and str(int(number)) == number and 0 < int(number) < host.pages:
        return int(number)
    return None


def expected_paths(
    site: Site, port: int, seeds: Iterable[str] = (), allowed: Callable[[str], bool] = lambda url: True
) -> set[str]:
    """Every URL that a complete crawl asks for, robots.txt aside.

    Starts at ``seeds``, or else at ``/`` of every host. Takes the last of a path's behaviours as the one the crawler
    ends with; follows redirects. Of silent and refusing hosts nothing is expected. ``allowed`` says what the site's
    robots.txt allows: said by the test, not by a parser, for the parser may be what is tested.
    """
    waiting = deque(seeds or (f"http://{address}:{port}/" for address in site.hosts))
    found: set[str] = set()
    while waiting:
        url = urldefrag(waiting.popleft()).url
        parts = urlsplit(url)
        host = site.hosts.get(parts.hostname or "")
        if url in found or host is None or parts.port != port or host.silent or host.refuses or not allowed(url):
            continue
        found.add(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        turns = host.answers.get(target) or host.answers.get(parts.path)
        answer = turns[-1] if turns else Answer()
        page = _page_number(host, target)
        if answer.hang or answer.reset:
            continue
        if 300 <= answer.status < 400:
            links = [value for name, value in answer.headers.items() if name.lower() == "location"]
        elif answer.status != 200:
            continue
        elif answer.body is not None:
            links = re.findall(r'href="([^"]+)"', answer.body)
        else:
            links = [] if page is None else links_of(site, port, parts.hostname or "", page)
        waiting.extend(urljoin(url, link) for link in links)
    return found


# --- What was asked for -------------------------------------------------------------------------


@dataclass
class Hit:
    """One request. ``end`` is when the answer was handed to the kernel, or when the client was seen to leave."""

    start: float
    end: float | None  # None: still open
    host: str  # the Host header, port included
    path: str  # the request target, query included
    user_agent: str
    status: int | None  # None: not answered (open, left by the client, reset, or the server was killed)
    conditions: dict[str, str] = field(default_factory=dict)  # If-None-Match and If-Modified-Since, in lower case

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.path}"


def _by_host(hits: Iterable[Hit]) -> dict[str, list[Hit]]:
    groups: dict[str, list[Hit]] = {}
    for hit in sorted(hits, key=lambda hit: hit.start):
        groups.setdefault(hit.host, []).append(hit)
    return groups


def max_in_any_window_excess(hits: Iterable[Hit], rate: float, burst: float) -> float:
    """By how many requests the worst window of any host exceeds ``burst + rate * length``; at most 0 is polite.

    Exact over all closed windows, also the instantaneous ones: a worst window begins and ends with a request, and for
    each end the best begin is a running maximum. Without hits the answer is ``-burst``, as in an empty window.
    """
    worst = -float(burst)
    for group in _by_host(hits).values():
        origin = group[0].start  # times since 1970 times a rate would lose the digits that matter
        best_begin = -math.inf
        for number, hit in enumerate(group):
            earned = rate * (hit.start - origin)
            best_begin = max(best_begin, earned - number)
            worst = max(worst, number + 1 - earned + best_begin - burst)
    return worst


def overlaps_between_agents(hits: Iterable[Hit]) -> list[tuple[Hit, Hit]]:
    """Pairs of requests of different user agents that were open on one host at the same moment.

    An answered request ends here before its client can know, so that a handover after an answer never looks like an
    overlap. A client that left is noticed a moment later: filter ``status is None`` where workers are killed.
    """
    pairs = []
    for group in _by_host(hits).values():
        open_hits: list[Hit] = []
        for hit in group:
            open_hits = [other for other in open_hits if other.end is None or other.end >= hit.start]
            pairs += [(other, hit) for other in open_hits if other.user_agent != hit.user_agent]
            open_hits.append(hit)
    return pairs


class WebServer:
    """The server as a child process. It ends with its parent; its log stays, and continues over restarts."""

    def __init__(self, site: Site, directory: Path, port: int = 0) -> None:
        self.site = site
        self.port = port  # chosen at the first start, kept at the next ones
        self.log = directory / "web.log"
        self._site_file = directory / "web.site.json"
        self._process: subprocess.Popen[str] | None = None
        self._read_bytes = 0
        self._hits: list[Hit] = []
        self._open: dict[str, Hit] = {}

    def __enter__(self) -> Self:
        return self if self._process else self.start()

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def start(self) -> Self:
        if self._process:
            raise RuntimeError("this web server is already running; stop() it first")
        self._site_file.write_text(self.site.to_json())
        arguments = ["--log", str(self.log), "--site", str(self._site_file), "--port", str(self.port)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.web", *arguments],
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        ready = self._process.stdout.readline()  # written once all hosts listen
        if not ready:
            self.stop()
            raise RuntimeError("the web server did not start; its error is on standard error")
        self.port = int(ready)
        return self

    def stop(self) -> None:
        """Kills it, so that every use of this class tests that the log survives."""
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None

    @property
    def pid(self) -> int:
        assert self._process, "not running"
        return self._process.pid

    def url(self, address: str, path: str = "/") -> str:
        return f"http://{address}:{self.port}{path}"

    def seeds(self) -> list[str]:
        """``/`` of every host, the silent and the refusing ones included."""
        return [self.url(address) for address in self.site.hosts]

    def expected_paths(self, seeds: Iterable[str] = (), allowed: Callable[[str], bool] = lambda url: True) -> set[str]:
        return expected_paths(self.site, self.port, seeds, allowed)

    def requests(self) -> list[Hit]:
        """Every request so far, oldest first. Reads only what is new in the log, so polling is cheap."""
        if not self.log.exists():
            return []
        with self.log.open("rb") as log:
            log.seek(self._read_bytes)
            data = log.read()
        data = data[: data.rfind(b"\n") + 1]  # a line that is being written right now waits for the next call
        self._read_bytes += len(data)
        for line in data.splitlines():
            self._read(json.loads(line))
        return list(self._hits)

    def _read(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "start":
                hit = Hit(
                    event["time"], None, event["host"], event["path"], event["user_agent"], None, event["conditions"]
                )
                self._hits.append(hit)
                self._open[event["id"]] = hit
            case "end":
                hit = self._open.pop(event["id"])
                hit.end, hit.status = event["time"], event["status"]
            case "boot":  # what the killed server had open ended with it, at the latest now
                for hit in self._open.values():
                    hit.end = event["time"]
                self._open.clear()

    def pages(self) -> list[Hit]:
        """The requests other than those for robots.txt."""
        return [hit for hit in self.requests() if hit.path != "/robots.txt"]

    def served(self) -> dict[str, bytes]:
        """The URLs of all pages that were answered with 200, and their bodies."""
        urls = {hit.url for hit in self.pages() if hit.status == 200}
        return {url: self.body_of(url) for url in urls}

    def body_of(self, url: str) -> bytes:
        """Of the last behaviour of its path."""
        parts = urlsplit(url)
        address = parts.hostname or ""
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        answers = self.site.hosts[address].answers
        answer = (answers.get(target) or answers.get(parts.path) or [Answer()])[-1]
        return _body(self.site, self.port, address, target, answer)

    def wait_for_pages(self, number: int, timeout_seconds: float = 30) -> list[Hit]:
        """Waits until so many pages were asked for, for tests that disturb a crawl in its middle."""
        deadline = time.monotonic() + timeout_seconds * SLOWEST
        while len(hits := self.pages()) < number:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(hits)} pages asked for in {timeout_seconds * SLOWEST} s, {number} awaited")
            time.sleep(0.02)
        return hits


# --- The process --------------------------------------------------------------------------------


class _Log:
    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._boot = f"{time.time_ns():x}"  # request numbers start anew in each process
        self._numbers = count()
        self._write({"event": "boot", "time": time.time()})

    def _write(self, event: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(event).encode() + b"\n")

    def start(self, host: str, path: str, headers: dict[str, str]) -> str:
        ident = f"{self._boot}-{next(self._numbers)}"
        self._write(
            {
                "event": "start", "id": ident, "time": time.time(), "host": host, "path": path,
                "user_agent": headers.get("user-agent", ""),
                "conditions": {name: headers[name] for name in _VALIDATORS if name in headers},
            }
        )  # fmt: skip
        return ident

    def end(self, ident: str, status: int | None) -> None:
        self._write({"event": "end", "id": ident, "time": time.time(), "status": status})


_VALIDATORS = {"if-none-match": "ETag", "if-modified-since": "Last-Modified"}
_PROSE_CHARS = 300_000


@cache
def _prose(size: int) -> str:
    """Padding is cut from this at a place of each page's own, so that no two pages are near-duplicates."""
    letters = random.Random(7)
    words = ["".join(letters.choices("abdeiklmnorstu", k=letters.randint(2, 9))) for _ in range(2000)]
    return " ".join(letters.choices(words, k=(_PROSE_CHARS + size) // 3))


def _html(site: Site, port: int, address: str, page: int) -> str:
    links = "\n".join(f'<a href="{link}">{link}</a>' for link in links_of(site, port, address, page))
    size = site.hosts[address].padding_bytes
    place = (int.from_bytes(socket.inet_aton(address), "big") * 7919 + page * 104_729) % _PROSE_CHARS
    padding = _prose(size)[place : place + size] if size else ""
    title = f"Page {page} of {address}"
    return (
        f'<!doctype html><html lang="en"><head><title>{title}</title></head>'
        f"<body><h1>{title}</h1>\n{links}\n<p>{padding}</p></body></html>"
    )


def _body(site: Site, port: int, address: str, target: str, answer: Answer) -> bytes:
    if answer.body is not None:
        return answer.body.encode()
    page = _page_number(site.hosts[address], target)
    return b"" if page is None or answer.status != 200 else _html(site, port, address, page).encode()


class _Web:
    """What all connections share: the site, the log, and whose turn it is on paths with several behaviours."""

    def __init__(self, site: Site, port: int, log: _Log) -> None:
        self.site = site
        self.port = port
        self.log = log
        self._turns: dict[tuple[str, str], int] = {}

    def answer(self, address: str, target: str) -> Answer:
        host = self.site.hosts[address]
        if host.silent:
            return Answer(hang=True)
        key = target if target in host.answers else target.partition("?")[0]
        if turns := host.answers.get(key):
            turn = self._turns.get((address, key), 0)
            self._turns[address, key] = turn + 1
            return turns[min(turn, len(turns) - 1)]
        if target == "/robots.txt":
            status = 404 if host.robots is None and host.robots_status == 200 else host.robots_status
            return Answer(status, {"Content-Type": "text/plain; charset=utf-8"}, host.robots or "")
        return Answer(200 if _page_number(host, target) is not None else 404)

    def body(self, address: str, target: str, answer: Answer) -> bytes:
        return _body(self.site, self.port, address, target, answer)


class _Connection(asyncio.Protocol):
    """Keep-alive HTTP/1.1, as much of it as crawlers speak. One request at a time; pipelined ones wait."""

    def __init__(self, web: _Web, address: str) -> None:
        self._web = web
        self._address = address
        self._received = b""
        self._open: str | None = None  # log id of the request being answered
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()
        self._end(None)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._next()

    def _end(self, status: int | None) -> None:
        if self._open:
            self._web.log.end(self._open, status)
            self._open = None

    def _next(self) -> None:
        while not self._open and not self._transport.is_closing():
            head, blank, rest = self._received.partition(b"\r\n\r\n")
            if not blank:
                return
            request, *lines = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body_bytes = int(headers.get("content-length", 0))
            if len(rest) < body_bytes:
                return
            self._received = rest[body_bytes:]
            self._handle(request, headers)

    def _handle(self, request: str, headers: dict[str, str]) -> None:
        method, _, rest = request.partition(" ")
        target, _, version = rest.partition(" ")
        name = headers.get("host", "")
        address = name.partition(":")[0]
        if address not in self._web.site.hosts:
            address = self._address
        self._open = self._web.log.start(name or self._address, target or request, headers)
        if not target.startswith("/") or not version.startswith("HTTP/1."):
            self._send(Answer(400, {"Connection": "close"}), b"", close=True)
            return
        answer = self._web.answer(address, target)
        if answer.hang:
            return
        delay_ms = self._web.site.hosts[address].latency_ms + answer.delay_ms
        if delay_ms:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(
                delay_ms / 1000, self._late, address, target, answer, method, version, headers
            )
        else:
            self._reply(address, target, answer, method, version, headers)

    def _late(self, *reply: Any) -> None:
        self._reply(*reply)
        self._next()

    def _reply(
        self, address: str, target: str, answer: Answer, method: str, version: str, headers: dict[str, str]
    ) -> None:
        if answer.reset:
            # Without lingering, close() throws the connection away with a reset instead of an orderly end.
            self._transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            self._end(None)
            self._transport.abort()
            return
        close = version == "HTTP/1.0" or headers.get("connection", "").lower() == "close"
        body = self._web.body(address, target, answer)
        if self._web.site.hosts[address].etags and answer.body is None and body:
            answer = replace(answer, headers={"ETag": f'"{zlib.crc32(body):x}"', **answer.headers})
        if any(headers.get(name, "") == answer.headers.get(sent) for name, sent in _VALIDATORS.items()):
            answer, body = replace(answer, status=304), b""
        self._send(answer, body, close, with_body=method != "HEAD")

    def _send(self, answer: Answer, body: bytes, close: bool, with_body: bool = True) -> None:
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
        if close:
            headers["Connection"] = "close"
        given = {name.lower() for name in answer.headers}
        lines = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in given]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        try:
            phrase = HTTPStatus(answer.status).phrase
        except ValueError:
            phrase = "Unknown"
        head = "\r\n".join([f"HTTP/1.1 {answer.status} {phrase}", *lines, "", ""])
        if answer.status in (204, 304) or not with_body:
            body = b""
        # Logged first: a test that has its answer finds it in the log.
        self._end(answer.status)
        self._transport.write(head.encode() + body)
        if close:
            self._transport.close()


def _listen(addresses: list[str], port: int) -> list[socket.socket]:
    """One port on all addresses: chosen by the kernel for the first one, and chosen again if another has it taken."""
    for attempt in range(50):
        sockets: list[socket.socket] = []
        chosen = port
        try:
            for address in addresses:
                one = socket.socket()
                sockets.append(one)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.bind((address, chosen))
                chosen = one.getsockname()[1]
            return sockets
        except OSError as error:
            for one in sockets:
                one.close()
            if error.errno != errno.EADDRINUSE or port or attempt == 49:
                raise
    raise AssertionError("unreachable")


async def _serve(site: Site, log: _Log, port: int) -> None:
    sockets = _listen([address for address, host in site.hosts.items() if not host.refuses], port)
    port = sockets[0].getsockname()[1]
    web = _Web(site, port, log)
    loop = asyncio.get_running_loop()
    for one in sockets:
        address = one.getsockname()[0]
        await loop.create_server(lambda address=address: _Connection(web, address), sock=one, backlog=1024)  # type: ignore[misc]
    print(port, flush=True)
    await asyncio.Event().wait()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--log", required=True)
    parser.add_argument("--site", required=True, type=Path)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(_serve(Site.from_json(options.site.read_text()), _Log(options.log), options.port))


if __name__ == "__main__":
    main()
