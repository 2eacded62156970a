"""What if a search engine misbehaves? A proxy in front of a real one, whose faults are a script: one for each bulk."""

import asyncio
import base64
import contextlib
import json
import ssl
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
from aiohttp import web

LARGEST_BODY = 1 << 30
COPIED = ("Content-Type", "X-elastic-product", "Warning")


@dataclass
class Refuse:
    """Answers itself: the engine never sees the bulk."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)


@dataclass
class LoseAnswer:
    """The engine has done it, and the connection breaks before anybody is told."""


@dataclass
class Hang:
    """Takes the bulk and never answers."""


@dataclass
class FailItems:
    """The items that ``chosen`` answers a status for never reach the engine, the others do."""

    chosen: Callable[[str], int | None]  # of the id of a document
    type: str = "rejected_execution_exception"


Fault = Refuse | LoseAnswer | Hang | FailItems | None


class EngineProxy:
    """``async with EngineProxy(url) as proxy``. Everything passes unless ``script`` says otherwise."""

    def __init__(
        self, upstream: str, script: tuple[Fault, ...] = (), *, password: str = "", most_bytes: int = 0
    ) -> None:
        self.script: deque[Fault] = deque(script)
        self.otherwise: Fault = None  # what happens to bulks that the script says nothing of
        self.bulks: list[tuple[int, int]] = []  # documents and bytes of each that came
        self.search_script: deque[Refuse] = deque()
        self.searches = 0
        self.tls: ssl.SSLContext | None = None
        self._upstream = upstream
        self._authorization = f"Basic {base64.b64encode(f'crawler:{password}'.encode()).decode()}" if password else ""
        self._most_bytes = most_bytes
        self._port = 0

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(auto_decompress=True)
        application = web.Application(client_max_size=LARGEST_BODY)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await self.come_back()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._runner.cleanup()
        await self._session.close()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self._port}"

    async def go_away(self) -> None:
        """Nobody listens any more, and whoever is connected is thrown out."""
        await self._site.stop()
        assert self._runner.server is not None
        for connection in list(self._runner.server.connections):
            connection.force_close()
            if connection.transport:
                connection.transport.abort()

    async def come_back(self) -> None:
        self._site = web.TCPSite(self._runner, "127.0.0.1", self._port, ssl_context=self.tls, reuse_address=True)
        await self._site.start()
        server = self._site._server
        assert isinstance(server, asyncio.Server)
        self._port = server.sockets[0].getsockname()[1]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if self._authorization and request.headers.get("Authorization") != self._authorization:
            return self._answer(401, {"error": {"type": "security_exception", "reason": "unable to authenticate"}})
        if request.path.endswith("/_search"):
            self.searches += 1
            if self.search_script:
                fault = self.search_script.popleft()
                return self._answer(fault.status, fault.body)
        if not request.path.endswith("/_bulk"):
            return await self._forward(request, body)
        self.bulks.append((body.count(b"\n") // 2, len(body)))
        if self._most_bytes and len(body) > self._most_bytes:
            return self._answer(413, {})
        match self.script.popleft() if self.script else self.otherwise:
            case Refuse(status, said):
                return self._answer(status, said)
            case Hang():
                await asyncio.sleep(3600)
            case LoseAnswer():
                await self._forward(request, body)
                assert request.transport is not None
                request.transport.abort()
            case FailItems() as fault:
                return await self._forward_some(request, body, fault)
        return await self._forward(request, body)

    async def _forward(self, request: web.Request, body: bytes) -> web.Response:
        headers = {name: value for name, value in request.headers.items() if name.lower() in ("content-type", "accept")}
        url = f"{self._upstream}{request.raw_path}"
        async with self._session.request(request.method, url, data=body or None, headers=headers) as answer:
            copied = {name: answer.headers[name] for name in COPIED if name in answer.headers}
            return web.Response(status=answer.status, body=await answer.read(), headers=copied)

    async def _forward_some(self, request: web.Request, body: bytes, fault: FailItems) -> web.Response:
        lines = body.splitlines(keepends=True)
        pairs = list(zip(lines[::2], lines[1::2], strict=True))
        statuses = [fault.chosen(json.loads(action)["index"]["_id"]) for action, _ in pairs]
        passed = b"".join(
            action + source for (action, source), status in zip(pairs, statuses, strict=True) if not status
        )
        done: list[Any] = []
        if passed:
            done = json.loads((await self._forward(request, passed)).body)["items"]
        items = [
            {"index": {"status": status, "error": {"type": fault.type, "reason": "planted"}}} if status else done.pop(0)
            for status in statuses
        ]
        return self._answer(200, {"errors": True, "items": items})

    def _answer(self, status: int, body: dict[str, Any]) -> web.Response:
        return web.json_response(body, status=status, headers={"X-elastic-product": "Elasticsearch"})


class ProxyInThread:
    """For tests that do not live in an event loop."""

    def __init__(self, proxy: EngineProxy, loop: asyncio.AbstractEventLoop) -> None:
        self.proxy = proxy
        self._loop = loop

    def go_away(self) -> None:
        self.run(self.proxy.go_away())

    def come_back(self) -> None:
        self.run(self.proxy.come_back())

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)


@contextlib.contextmanager
def proxy_in_thread(upstream: str) -> Iterator[ProxyInThread]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    running = ProxyInThread(EngineProxy(upstream), loop)
    running.run(running.proxy.__aenter__())
    try:
        yield running
    finally:
        running.run(running.proxy.__aexit__())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
