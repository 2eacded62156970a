"""Is what a server begins to send a page at all? Decided by the Content-Type, before the body is read: a film behind a
link without an extension costs its headers and no more.

Sitemaps, and requests without a lease (robots.txt, what a pipeline downloads), are untouched.
"""

from typing import Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured, StopDownload
from scrapy.http import Headers, Response

from crawler.configuration import SettingsReader
from crawler.file_types import is_allowed_type, media_type
from crawler.frontier.leases import Death, lease_of
from crawler.frontier.reasons import Dead
from crawler.frontier.scheduler import SITEMAP_META


class Unread(StopDownload):
    def __init__(self, media: str) -> None:
        super().__init__(fail=True)
        self.media = media


class ContentTypeMiddleware:
    def __init__(self, allowed: frozenset[str]) -> None:
        self._allowed = allowed

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        read = SettingsReader(crawler.settings)
        allowed = frozenset(read.words("ALLOWED_CONTENT_TYPES"))
        if not allowed:
            raise NotConfigured
        if read.flag("PARSE_PDF"):
            allowed |= {"application/pdf"}
        middleware = cls(allowed)
        crawler.signals.connect(middleware.headers_received, signals.headers_received)
        return middleware

    def headers_received(self, headers: Headers, body_length: int, request: Request) -> None:
        # Where there is nothing to read, or a redirect to follow, stopping would only cost the connection.
        if lease_of(request) is None or SITEMAP_META in request.meta or not body_length or b"Location" in headers:
            return
        media = media_type((headers.get("Content-Type") or b"").decode("latin-1"))
        if not is_allowed_type(media, self._allowed):
            raise Unread(media)

    def process_exception(self, request: Request, exception: Exception) -> Response | None:
        """Only now the status is known: an error in JSON is an error, and may be worth a retry."""
        lease = lease_of(request)
        if not isinstance(exception, Unread) or lease is None or exception.response is None:
            return None
        response = exception.response
        if not 200 <= response.status < 300:
            response.headers.pop("Content-Encoding", None)  # there is nothing to unpack
            return response
        if lease.visit.failed < 0:
            lease.visit.failed = 0  # the host is well
        lease.outcome = Death(Dead.NOT_HTML, exception.media)
        raise IgnoreRequest(f"{request.url} is not a page: its Content-Type is {exception.media}")
