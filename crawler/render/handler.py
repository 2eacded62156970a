"""Is this page rendered? It is fetched as any other; what came is then given to a browser, if it was asked for or, in
auto mode, if the page is empty without JavaScript. When rendering fails the page is kept as it came: nothing is lost.
"""

import logging
from functools import cached_property
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response

from crawler.configuration import SettingsReader
from crawler.download.handler import DownloadHandler
from crawler.frontier.leases import OpenVisit, lease_of
from crawler.middlewares.politeness import HELD_META
from crawler.render.shell import is_shell

if TYPE_CHECKING:
    from crawler.render.browser import Browser

logger = logging.getLogger(__name__)

RENDER_META = "render"  # True, False or "auto": for one request, whatever the setting says
NAVIGATED_META = "render_navigated"  # where the page's scripts wanted to go


class RenderHandler(DownloadHandler):
    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._browser: Browser | None = None

    @cached_property
    def _mode(self) -> str:
        if self._read.flag("RENDER"):
            return "all"
        return "auto" if self._read.flag("RENDER_AUTO") else "off"

    async def download_request(self, request: Request) -> Response:
        response = await super().download_request(request)
        if self._wants(request, response):
            return await self._render(request, response)
        return response

    async def close(self) -> None:
        if self._browser is not None:
            await self._browser.close()
        await super().close()

    def _wants(self, request: Request, response: Response) -> bool:
        wish = request.meta.get(RENDER_META, request.meta.get("playwright"))
        if wish is None:
            # Of a spider's own pages only: robots.txt, sitemaps and what a page loads are none.
            wish = self._mode if lease_of(request) is not None and "sitemap" not in request.meta else "off"
        if wish in {False, "off"} or request.method != "GET" or not 200 <= response.status < 300:
            return False
        if not isinstance(response, HtmlResponse):
            return False
        return wish in {True, "all"} or is_shell(response.body)

    async def _render(self, request: Request, response: Response) -> Response:
        from crawler.render.traffic import Traffic

        lease = lease_of(request)
        visits: list[OpenVisit] = [*([lease.visit] if lease else []), *request.meta.get(HELD_META, ())]
        engine = self.crawler.engine
        assert engine is not None  # noqa: S101  it runs us
        traffic = Traffic(engine, response, visits, self._read.whole("RENDER_MAX_REQUESTS", 0, 100_000))
        stats = self.crawler.stats
        try:
            rendered = await self._open_browser().render(request, traffic)
        except Exception as error:
            logger.warning("%s was not rendered, and is kept as it came: %s", request.url, _first_line(error))
            if stats is not None:
                stats.inc_value("render/failed")
            return response.replace(flags=[*response.flags, "not_rendered"])
        if stats is not None:
            stats.inc_value("render/pages")
        request.meta[NAVIGATED_META] = traffic.navigated
        body = rendered.body[: self._config.body_bytes or None]  # 0: no limit
        headers = response.headers.copy()
        headers["Content-Type"] = b"text/html; charset=utf-8"
        return response.replace(headers=headers, body=body, flags=[*response.flags, "rendered"], encoding="utf-8")

    @cached_property
    def _read(self) -> SettingsReader:
        return SettingsReader(self.crawler.settings)

    def _open_browser(self) -> "Browser":
        if self._browser is None:
            from crawler.render.browser import Browser

            read = self._read
            self._browser = Browser(
                self.crawler,
                read.number("RENDER_SECONDS", 0.1, 3600),
                read.whole("RENDER_PAGES_AT_ONCE", 1, 1000),
                read.whole("RENDER_PAGES_PER_BROWSER", 1, 1_000_000),
            )
        return self._browser


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
