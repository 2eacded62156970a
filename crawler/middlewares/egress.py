"""Does a request leave for an address that it should not reach? Without this, any page could make a crawler on a
company's network fetch that company's own pages.

Two looks: the host as written (``EgressMiddleware``), and the address that DNS gave (``GuardedResolver``).
"""

import ipaddress
from collections.abc import Sequence
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.resolver import CachingThreadedResolver
from twisted.internet.base import ReactorBase
from twisted.internet.defer import Deferred
from twisted.internet.error import DNSLookupError

from crawler.errors import BadUrl
from crawler.frontier.leases import Death, lease_of
from crawler.frontier.reasons import EXPLANATIONS, Dead
from crawler.urls import canonicalise, is_private_address, is_private_host

REFUSED = "resolves to a private address"


class EgressMiddleware:
    def __init__(self, allow_private: bool) -> None:
        self._allow_private = allow_private

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings.getbool("ALLOW_PRIVATE"))

    def process_request(self, request: Request) -> None:
        if self._allow_private:
            return
        try:
            is_private = is_private_host(canonicalise(request.url).host)
        except BadUrl:
            is_private = True
        if is_private:
            lease = lease_of(request)
            if lease is not None:
                lease.outcome = Death(Dead.PRIVATE_ADDRESS, request.url)
            raise IgnoreRequest(f"{request.url}: {EXPLANATIONS[Dead.PRIVATE_ADDRESS]}")


class GuardedResolver(CachingThreadedResolver):
    allow_private = False

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: ReactorBase) -> Self:
        resolver = super().from_crawler(crawler, reactor)
        resolver.allow_private = crawler.settings.getbool("ALLOW_PRIVATE")
        return resolver

    def getHostByName(self, name: str, timeout: Sequence[int] = ()) -> Deferred[str]:
        found = super().getHostByName(name, timeout)
        if not self.allow_private:
            found.addCallback(self._check, name)
        return found

    @staticmethod
    def _check(address: Any, name: str) -> str:
        if is_private_address(ipaddress.ip_address(address)):
            raise DNSLookupError(f"{name} {REFUSED}, {address}")
        return str(address)
