"""Does a request leave for a host that it should not reach? Without this, any page could make a crawler on a company's
network fetch that company's own pages.

This is the first look, at the host as written. The addresses that DNS gives, and the one that is connected to, are
looked at where connections are made: ``crawler/download/``.
"""

from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest

from crawler.addresses import AddressPolicy
from crawler.download.config import DownloadConfig
from crawler.errors import BadUrl
from crawler.frontier.leases import Death, lease_of
from crawler.frontier.reasons import EXPLANATIONS, Dead
from crawler.urls import canonicalise


class EgressMiddleware:
    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        # All settings of the download are read here: a handler that cannot be made is noticed too late by Scrapy.
        return cls(DownloadConfig.from_settings(crawler.settings).addresses)

    def process_request(self, request: Request) -> None:
        if self._policy.allow_private:
            return
        try:
            is_refused = self._policy.refuses_host(canonicalise(request.url).host)
        except BadUrl:
            is_refused = True
        if is_refused:
            lease = lease_of(request)
            if lease is not None:
                lease.outcome = Death(Dead.PRIVATE_ADDRESS, request.url)
            raise IgnoreRequest(f"{request.url}: {EXPLANATIONS[Dead.PRIVATE_ADDRESS]}")
