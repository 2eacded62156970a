"""Which address has this host, and may it be connected to? aiohttp asks before it opens a connection.

Every address that leaves here was checked after DNS gave it, and is the one that is connected to: a name that points
to a public address at first and to a private one later ("rebinding") gains nothing by it. The answers come from the
operating system's resolver, so that /etc/hosts and whatever else is configured counts; that blocks, hence the threads.
"""

import asyncio
import ipaddress
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from aiohttp.abc import AbstractResolver, ResolveResult
from scrapy.exceptions import CannotResolveHostError

from crawler.addresses import AddressPolicy
from crawler.download.config import DownloadConfig
from crawler.download.errors import AddressRefused

Query = Callable[[str], list[str]]


def ask_system(host: str) -> list[str]:
    """Blocks. The order is the system's: RFC 6724 puts what is likely to work first."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class _Answer:
    expires: float
    addresses: tuple[str, ...] = ()
    failure: CannotResolveHostError | None = None


class Resolver(AbstractResolver):
    def __init__(
        self,
        policy: AddressPolicy,
        config: DownloadConfig,
        query: Query = ask_system,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy = policy
        self._config = config
        self._query = query
        self._clock = clock
        self._threads = ThreadPoolExecutor(config.dns_threads, thread_name_prefix="dns")
        self._known: OrderedDict[str, _Answer] = OrderedDict()
        self._asking: dict[str, asyncio.Task[_Answer]] = {}
        self._vouched: set[str] = set()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        results: list[ResolveResult] = []
        for address in await self.lookup(host):
            own_family = socket.AF_INET6 if ":" in address else socket.AF_INET
            if family in {socket.AF_UNSPEC, own_family}:
                result = ResolveResult(
                    hostname=host, host=address, port=port, family=own_family, proto=0, flags=socket.AI_NUMERICHOST
                )
                results.append(result)
        return results

    async def lookup(self, host: str) -> tuple[str, ...]:
        """Addresses that may be connected to, at least one; else AddressRefused or CannotResolveHostError."""
        name = host.lower().rstrip(".")
        if self._policy.refuses_host(name):
            raise AddressRefused(refusal(name))
        answer = self._known.get(name)
        if answer is None or answer.expires <= self._clock():
            asking = self._asking.get(name)
            if asking is None:
                asking = self._asking[name] = asyncio.create_task(self._ask(name))
                asking.add_done_callback(lambda _: self._asking.pop(name, None))
            # Shielded: one request that is given up must not take the answer from the others.
            answer = await asyncio.shield(asking)
        else:
            self._known.move_to_end(name)
        if answer.failure is not None:
            raise type(answer.failure)(str(answer.failure))
        return answer.addresses

    def vouches_for(self, address: str) -> bool:
        """Whether a host name that the operator allows led to this address, so that it is let through."""
        return address in self._vouched

    async def close(self) -> None:
        for task in self._asking.values():
            task.cancel()
        # A thread inside getaddrinfo cannot be stopped; it ends with the system's own timeout.
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _ask(self, name: str) -> _Answer:
        seconds = self._config.dns_cache_seconds
        try:
            addresses, failure = self._check(name, await self._query_in_thread(name)), None
        except CannotResolveHostError as error:
            addresses, failure, seconds = (), error, self._config.dns_failure_seconds
        answer = _Answer(self._clock() + seconds, addresses, failure)
        if self._config.dns_cache_size and seconds:
            self._known[name] = answer
            self._known.move_to_end(name)
            if len(self._known) > self._config.dns_cache_size:
                self._known.popitem(last=False)
        return answer

    async def _query_in_thread(self, name: str) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._config.dns_seconds):
                return await loop.run_in_executor(self._threads, self._query, name)
        except TimeoutError:
            raise CannotResolveHostError(f"{name}: no answer from DNS in {self._config.dns_seconds:g} s") from None
        except (OSError, UnicodeError) as error:  # a label of more than 63 characters is the latter
            raise CannotResolveHostError(f"{name}: {error}") from None

    def _check(self, name: str, found: list[str]) -> tuple[str, ...]:
        refused = [address for address in found if self._policy.refuses_address(ipaddress.ip_address(address))]
        if self._policy.allows_name(name):
            self._vouched.update(refused)
            return tuple(found)
        # Of several addresses the good ones are used: a name with NAT64 or private addresses beside its public one.
        kept = tuple(address for address in found if address not in refused)
        if not kept and refused:
            raise AddressRefused(refusal(refused[0], name))
        if not kept:
            raise CannotResolveHostError(f"{name} has no address")
        return kept


def refusal(address: str, name: str = "") -> str:
    whose = f"{name} is at {address}, which" if name else address
    return f"{whose} is not a public address: --allow-private or ALLOW_ADDRESSES would allow it"
