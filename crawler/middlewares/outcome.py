"""How did a fetch end, and is it tried again? Decides retries and redirects, which go through the frontier: another
URL, perhaps another host, with its own robots.txt and politeness; and a retry that a crash does not lose.

Requests without a lease (robots.txt, or a spider on another scheduler) pass through untouched.
"""

from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    NotSupported,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from scrapy.http import Response

from crawler.download.errors import DownloadProblem
from crawler.errors import BadUrl
from crawler.frontier.config import FrontierConfig
from crawler.frontier.entry import RequestFields
from crawler.frontier.leases import Death, Lease, Redirect, Retry, lease_of
from crawler.frontier.reasons import Dead
from crawler.frontier.travel import pack
from crawler.middlewares.retry_after import SLOW_DOWN, retry_after_seconds
from crawler.urls import canonicalise

REDIRECTS = frozenset({301, 302, 303, 307, 308})
RETRIED = frozenset({408, 429, 500, 502, 503, 504, 522, 524})
MAX_REDIRECTS = 5
CHAIN_META = "redirect_urls"  # as Scrapy calls it
# Reasons to leave the whole host alone for a while.
_HOST_TROUBLE = frozenset({Dead.TIMEOUT, Dead.CONNECTION, Dead.TOO_SLOW})


class OutcomeMiddleware:
    def __init__(self, crawler: Crawler, config: FrontierConfig, retry_after_max_seconds: float) -> None:
        self._crawler = crawler
        self._delays = config.retry_delays
        self._retry_after_max_seconds = retry_after_max_seconds

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        config = FrontierConfig.from_settings(crawler.settings)
        return cls(crawler, config, crawler.settings.getfloat("RETRY_AFTER_MAX_SECONDS"))

    def process_response(self, request: Request, response: Response) -> Response | Request:
        lease = lease_of(request)
        if lease is None or lease.outcome is not None or self._is_wanted(request, response):
            return response
        if response.status in REDIRECTS and b"Location" in response.headers:
            return self._redirect(request, response, lease)
        if response.status in RETRIED:
            if response.status in SLOW_DOWN:
                block_seconds = retry_after_seconds(response, self._retry_after_max_seconds)
                if block_seconds:
                    lease.visit.block(block_seconds)
                else:
                    lease.visit.failed = 1  # left alone, for longer each time
            if self._retry(lease):
                return request.copy()
        lease.outcome = Death(Dead.HTTP_ERROR, str(response.status))
        return response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        lease = lease_of(request)
        if lease is None or lease.outcome is not None:
            return None
        reason, is_final = _classify(exception)
        if reason in _HOST_TROUBLE:
            lease.visit.failed = 1
        if not is_final and self._retry(lease):
            return request.copy()
        lease.outcome = Death(reason, f"{type(exception).__name__}: {exception}")
        return None

    def _is_wanted(self, request: Request, response: Response) -> bool:
        """A page, or a status that the spider asked to see, in one of the ways Scrapy has for it."""
        spider: Any = self._crawler.spider
        if 200 <= response.status < 300 or request.meta.get("handle_httpstatus_all"):
            return True
        wanted = request.meta.get("handle_httpstatus_list", getattr(spider, "handle_httpstatus_list", ()))
        return response.status in wanted

    def _retry(self, lease: Lease) -> bool:
        if lease.entry.attempt >= len(self._delays):
            return False
        lease.outcome = Retry(self._delays[lease.entry.attempt])
        return True

    def _redirect(self, request: Request, response: Response, lease: Lease) -> Response | Request:
        location = response.headers["Location"] or b""
        try:
            target = canonicalise(location.decode("utf-8", "replace").strip(), base=response.url).text
        except BadUrl as error:
            lease.outcome = Death(Dead.BAD_REDIRECT, str(error))
            return response
        if lease.entry.redirects >= MAX_REDIRECTS:
            lease.outcome = Death(Dead.TOO_MANY_REDIRECTS, target)
            return response
        chain = [*request.meta.get(CHAIN_META, ()), lease.entry.url]
        if target in chain:
            lease.outcome = Death(Dead.TOO_MANY_REDIRECTS, "a loop: " + " → ".join([*chain, target]))
            return response
        again = _redirected(request, response.status, target)
        again.meta[CHAIN_META] = chain
        if lease.entry.request and self._crawler.spider:
            fields = pack(again, self._crawler.spider)
        else:
            fields = RequestFields(meta={CHAIN_META: chain})
        lease.outcome = Redirect(target, fields)
        return again


def _redirected(request: Request, status: int, target: str) -> Request:
    """As browsers do: a form is sent once, and what was meant for one host is not told to another, nor in clear."""
    again = request.replace(url=target)
    if (status in {301, 302} and request.method == "POST") or (status == 303 and request.method not in {"GET", "HEAD"}):
        again = again.replace(method="GET", body=b"")
        for name in ("Content-Type", "Content-Length", "Content-Encoding"):
            again.headers.pop(name, None)
    is_downgrade = request.url.startswith("https:") and target.startswith("http:")
    if is_downgrade or canonicalise(request.url).host != canonicalise(target).host:
        again = again.replace(cookies={})
        for name in ("Authorization", "Cookie"):
            again.headers.pop(name, None)
    return again


def _classify(exception: Exception) -> tuple[Dead, bool]:
    """The reason, and whether trying again is pointless."""
    if isinstance(exception, IgnoreRequest):
        return Dead.IGNORED, True
    if isinstance(exception, DownloadProblem):
        return exception.reason, exception.is_final
    if isinstance(exception, CannotResolveHostError):
        return Dead.DNS, True
    if isinstance(exception, (UnsupportedURLSchemeError, NotSupported)):
        return Dead.BAD_RESPONSE, True
    if isinstance(exception, DownloadCancelledError):
        return Dead.TOO_LARGE, True
    if isinstance(exception, (DownloadTimeoutError, TimeoutError)):
        return Dead.TIMEOUT, False
    if isinstance(exception, (DownloadConnectionRefusedError, ConnectionError)):
        return Dead.CONNECTION, False
    if isinstance(exception, (DownloadFailedError, ResponseDataLossError)):
        return Dead.CONNECTION, False
    return Dead.BAD_RESPONSE, False
