"""Did a page change since it was last fetched? Asks the server, and where that does not help compares the bodies.

On only with ``RECRAWL``. Stands next to ``outcome`` on the downloader's side: what it adds to a request is gone again
before anybody else sees it, so that neither a redirect nor a request that a spider makes out of it inherits it.

Not for requests with another method than GET, with a body or with ``dont_filter``, nor for sitemaps: those are done
when they were fetched, as without ``RECRAWL``.
"""

import time
from typing import Any, Self

import xxhash
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from crawler.frontier.config import FrontierConfig
from crawler.frontier.leases import Lease, lease_of
from crawler.frontier.recrawl import UNCHANGED, Fetched, conditional_headers, read_validators
from crawler.frontier.scheduler import SITEMAP_META

_CONDITIONS = ("If-None-Match", "If-Modified-Since")


class RecrawlMiddleware:
    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not FrontierConfig.from_settings(crawler.settings).recrawl:
            raise NotConfigured
        return cls()

    def process_request(self, request: Request) -> None:
        lease = lease_of(request)
        if lease is None or lease.entry.known is None or not _may_return(request):
            return
        if any(name in request.headers for name in _CONDITIONS):
            return  # the spider has conditions of its own
        for name, value in conditional_headers(lease.entry.known).items():
            request.headers[name] = value
            lease.is_conditional = True

    def process_response(self, request: Request, response: Response) -> Response:
        lease = lease_of(request)
        if lease is None or not _may_return(request):
            return response
        was_conditional = self._take_conditions(request, lease)
        known = lease.entry.known
        validators = read_validators(response.headers.get("ETag"), response.headers.get("Last-Modified"), time.time())
        if 200 <= response.status < 300:
            number: int = xxhash.xxh3_64_intdigest(response.body)
            is_unchanged = known is not None and known.hash == number
            if is_unchanged:
                response.flags.append(UNCHANGED)
            lease.recrawl = Fetched(validators, number, is_unchanged)
        elif response.status == 304 and was_conditional and known is not None:
            # RFC 9110, 15.4.5: it repeats the ETag. What it leaves out is as it was.
            etag, last_modified = validators
            kept = validators._replace(etag=etag or known.etag, last_modified=last_modified or known.last_modified)
            lease.recrawl = Fetched(kept, known.hash, is_unchanged=True, is_page=False)
            # It is no error, and no page: neither the spider's callback nor its errback hears of it.
            request.meta["handle_httpstatus_list"] = [304]
            request.callback, request.errback = _nothing, None
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        lease = lease_of(request)
        if lease is not None:
            self._take_conditions(request, lease)

    def _take_conditions(self, request: Request, lease: Lease) -> bool:
        was_conditional, lease.is_conditional = lease.is_conditional, False
        if was_conditional:
            for name in _CONDITIONS:
                request.headers.pop(name, None)
        return was_conditional


def _may_return(request: Request) -> bool:
    is_plain = request.method == "GET" and not request.body and not request.dont_filter
    return is_plain and SITEMAP_META not in request.meta


def _nothing(response: Response, **kwargs: Any) -> None:
    """In place of a callback."""
