"""What does a page in the browser load, and from where? Everything is fetched by us and handed to the browser, which
has no way out of its own: so the address that is connected to is checked, robots.txt is obeyed, hosts are visited
politely and bodies are bounded, by the same code as for pages.
"""

import contextlib
import logging
from typing import Any
from urllib.parse import urljoin

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Route
from scrapy import Request
from scrapy.core.engine import ExecutionEngine
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from crawler.frontier.leases import OpenVisit
from crawler.middlewares.politeness import CHARGE_META, VISITS_META

logger = logging.getLogger(__name__)

# Not needed to know what a page says.
_UNWANTED = frozenset({"image", "media", "font", "texttrack", "manifest", "websocket", "eventsource", "ping", "other"})
_EMPTY = {"stylesheet": "text/css"}  # some scripts wait until these are there; what is in them changes no text
_KEPT_HEADERS = frozenset({"accept", "accept-language", "content-type", "origin", "x-requested-with", "authorization"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 5


class Traffic:
    """Of one page that is being rendered."""

    def __init__(self, engine: ExecutionEngine, page: Response, visits: list[OpenVisit], most_requests: int) -> None:
        self.navigated: list[str] = []  # where its scripts wanted to go: links, to us
        self._engine = engine
        self._page = page
        self._visits = visits  # what the page holds, and so what it loads may use
        self._left = most_requests
        self._is_begun = False

    async def answer(self, route: Route) -> None:
        try:
            await self._answer(route)
        except Exception as error:
            logger.debug("%s was not loaded: %s", route.request.url, error)
            await _abort(route)

    async def _answer(self, route: Route) -> None:
        request = route.request
        kind = request.resource_type
        if request.is_navigation_request() and request.frame.parent_frame is None:
            if self._is_begun:
                if len(self.navigated) < 100:
                    self.navigated.append(request.url)
                await _abort(route, "aborted")  # any other end would put the browser's own error page there
                return
            self._is_begun = True
            await _fulfil(route, self._page)
        elif kind in _EMPTY:
            await route.fulfill(status=200, content_type=_EMPTY[kind], body="")
        elif kind in _UNWANTED or not request.url.startswith(("http://", "https://")) or self._left <= 0:
            await _abort(route)
        else:
            self._left -= 1
            await _fulfil(route, await self._fetch(route))

    async def _fetch(self, route: Route) -> Response:
        request = route.request
        url, method, body = request.url, request.method, request.post_data_buffer or b""
        headers = {name: value for name, value in request.headers.items() if name.lower() in _KEPT_HEADERS}
        for _ in range(MAX_REDIRECTS + 1):
            meta: dict[str, Any] = {
                VISITS_META: self._visits,
                CHARGE_META: True,
                "download_slot": f"rendering {url[:200]}",
            }
            response = await self._engine.download_async(
                Request(
                    url, method=method, headers=headers, body=body, callback=NO_CALLBACK, dont_filter=True, meta=meta
                )
            )
            location = response.headers.get("Location")
            if response.status not in _REDIRECTS or not location:
                return response
            url = urljoin(url, location.decode("latin-1"))
            if response.status == 303 or (response.status in {301, 302} and method == "POST"):
                method, body = "GET", b""
        raise ValueError(f"{request.url} was redirected too often")


async def _fulfil(route: Route, response: Response) -> None:
    headers = {}
    for name, values in response.headers.items():
        if name.lower() not in {b"set-cookie", b"content-encoding", b"content-length", b"transfer-encoding"}:
            headers[name.decode("latin-1")] = b", ".join(values).decode("latin-1")
    await route.fulfill(status=response.status, headers=headers, body=response.body)


async def _abort(route: Route, why: str = "blockedbyclient") -> None:
    with contextlib.suppress(PlaywrightError):  # the page is gone
        await route.abort(why)
