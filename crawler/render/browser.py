"""One browser: started when the first page needs it, started again after it crashed or has had its share of pages."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings
from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler
from scrapy_playwright.page import PageMethod

from crawler.render.chromium import find_chromium
from crawler.render.traffic import Traffic

_CONTEXT = "render"
_CLOSE_SECONDS = 5.0
_LOOK_SECONDS = 2.0
_DOWNLOAD_MS = 1000  # scrapy-playwright waits this long for a download when a page was left; we have none
_NOWHERE = "http://127.0.0.1:9"  # discard: no request of the browser's own arrives anywhere


class _Handler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]
    """scrapy-playwright starts with the engine; this one starts when it is needed."""

    async def open(self) -> None:
        await self._launch()


@dataclass(eq=False, slots=True)
class _Running:
    """A browser, the pages it has had, and those it has open."""

    handler: _Handler
    pages: int = 0
    open_pages: int = 0


class Browser:
    def __init__(self, crawler: Crawler, seconds: float, pages_at_once: int, pages_per_browser: int) -> None:
        self._crawler = crawler
        self._seconds = seconds
        self._pages_per_browser = pages_per_browser
        self._places = asyncio.Semaphore(pages_at_once)
        self._changing = asyncio.Lock()
        self._running: _Running | None = None

    async def render(self, request: Request, traffic: Traffic) -> Response:
        """Raises whatever goes wrong; the page is closed then."""
        async with self._places:
            running = await self._take_browser()
            pages: list[Page] = []

            async def begin(page: Page, request: Request) -> None:
                pages.append(page)
                await page.route("**/*", traffic.answer)

            try:
                async with asyncio.timeout(self._seconds):
                    response: Response = await running.handler.download_request(self._request_for(request, begin))
                    return response
            except Exception:
                made = await _salvage(pages)
                if made is None:
                    raise
                return HtmlResponse(request.url, body=made.encode(errors="replace"), encoding="utf-8")
            finally:
                await _close(pages)
                running.open_pages -= 1
                if running is not self._running and not running.open_pages:
                    await running.handler.close()  # retired: what it has leaked goes with it

    async def close(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.handler.close()

    def _request_for(self, request: Request, begin: Callable[[Page, Request], Awaitable[None]]) -> Request:
        milliseconds = self._seconds * 1000
        methods = [_page_method(method) for method in request.meta.get("playwright_page_methods") or ()]
        methods.append(PageMethod(_settle, milliseconds))
        meta = {
            "playwright": True,
            "playwright_context": _CONTEXT,
            "playwright_context_kwargs": {
                "user_agent": self._crawler.settings["USER_AGENT"],
                "service_workers": "block",
                "accept_downloads": False,
            },
            "playwright_page_init_callback": begin,
            "playwright_page_methods": methods,
            "playwright_page_goto_kwargs": {"wait_until": "domcontentloaded", "timeout": milliseconds},
        }  # fmt: skip
        return Request(request.url, headers=request.headers, meta=meta, dont_filter=True)

    async def _take_browser(self) -> _Running:
        async with self._changing:
            running = self._running
            if running is None or running.pages >= self._pages_per_browser:
                handler = _Handler(_WithSettings(self._crawler))
                await handler.open()
                if running is not None and not running.open_pages:
                    await running.handler.close()
                running = self._running = _Running(handler)
            running.pages += 1
            running.open_pages += 1
            return running


class _WithSettings:
    """The crawler, with what scrapy-playwright reads from settings."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.settings = Settings(crawler.settings.copy_to_dict())
        arguments = [
            "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--disable-quic", "--no-first-run", "--mute-audio",
            "--blink-settings=imagesEnabled=false",
            "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--js-flags=--max-old-space-size=256",
            f"--proxy-server={_NOWHERE}", "--proxy-bypass-list=<-loopback>",
        ]  # fmt: skip
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")  # chromium's sandbox does not start as root
        options: dict[str, Any] = {
            "executable_path": find_chromium(crawler.settings.get("RENDER_BROWSER") or ""), "args": arguments,
        }  # fmt: skip
        self.settings.setdict(
            {
                "PLAYWRIGHT_LAUNCH_OPTIONS": options,
                "PLAYWRIGHT_PROCESS_REQUEST_HEADERS": None,
                "PLAYWRIGHT_DOWNLOAD_TIMEOUT": _DOWNLOAD_MS,
            }
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._crawler, name)


async def _settle(page: Page, milliseconds: float) -> None:
    """Until nothing has been loading for a moment. A page that never comes to rest is taken as it is."""
    try:
        await page.wait_for_load_state("networkidle", timeout=milliseconds / 2)
    except PlaywrightError:
        return


def _page_method(value: Any) -> PageMethod:
    """As ``travel.py`` queues it, or as the spider made it."""
    if isinstance(value, PageMethod):
        return value
    method, arguments, options = value
    return PageMethod(method, *arguments, **options)


async def _salvage(pages: list[Page]) -> str | None:
    """What a page that did not come to its end has made so far; nothing when its scripts do not let us look."""
    for page in pages:
        if not page.is_closed():
            with contextlib.suppress(TimeoutError, PlaywrightError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    return await page.content()
    return None


async def _close(pages: list[Page]) -> None:
    for page in pages:
        if not page.is_closed():
            try:
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await page.close()
            except (TimeoutError, PlaywrightError):
                continue  # its process is busy, or dead; the browser's end takes it along
