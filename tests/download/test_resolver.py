"""Is every address that comes out of the resolver one that was checked?"""

import asyncio
import socket
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from scrapy.exceptions import CannotResolveHostError

from crawler.addresses import AddressPolicy
from crawler.download.errors import AddressRefused
from crawler.download.resolver import Resolver, ask_system
from tests.download.downloads import make_config, run

PUBLIC, OTHER, PRIVATE = "192.88.98.1", "2606:4700::1", "10.0.0.1"
Work = Callable[[Resolver], Awaitable[Any]]


class Dns:
    """Answers each name with the next of its answers, and goes on with the last."""

    def __init__(self, **answers: list[list[str] | Exception]) -> None:
        self.answers = {name.replace("_", "."): list(values) for name, values in answers.items()}
        self.asked: Counter[str] = Counter()

    def __call__(self, host: str) -> list[str]:
        self.asked[host] += 1
        values = self.answers.get(host, [socket.gaierror(socket.EAI_NONAME, "Name or service not known")])
        value = values.pop(0) if len(values) > 1 else values[0]
        if isinstance(value, Exception):
            raise value
        return value


def use(
    work: Work,
    dns: Callable[[str], list[str]],
    policy: AddressPolicy | None = None,
    clock: Callable[[], float] = time.monotonic,
    **settings: Any,
) -> Any:
    async def main() -> Any:
        resolver = Resolver(policy or AddressPolicy(), make_config(**settings), dns, clock)
        try:
            return await work(resolver)
        finally:
            await resolver.close()

    return run(main)


def test_addresses_come_as_aiohttp_wants_them():
    dns = Dns(example_org=[[PUBLIC, OTHER]])

    async def work(resolver: Resolver) -> None:
        first, second = await resolver.resolve("Example.org.", 8080)
        assert (first["host"], first["port"], first["family"]) == (PUBLIC, 8080, socket.AF_INET)
        assert (second["host"], second["family"]) == (OTHER, socket.AF_INET6)
        assert [one["host"] for one in await resolver.resolve("example.org", 80, socket.AF_INET6)] == [OTHER]

    use(work, dns)
    assert dns.asked == {"example.org": 1}


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254", "fe80::1%lo", "::ffff:127.0.0.1", "0.0.0.0",
     "64:ff9b::7f00:1", "168.63.129.16", "224.0.0.1"],
)  # fmt: skip
def test_a_name_with_a_private_address_is_refused(address: str):
    with pytest.raises(AddressRefused, match=f"trap.example is at {address}"):
        use(lambda resolver: resolver.lookup("trap.example"), Dns(trap_example=[[address]]))


def test_of_several_addresses_the_public_ones_are_used():
    dns = Dns(mixed_example=[[PRIVATE, PUBLIC, "64:ff9b::808:808"]])
    assert use(lambda resolver: resolver.lookup("mixed.example"), dns) == (PUBLIC,)


def test_a_name_that_rebinds_is_refused_when_it_is_asked_again():
    now = [0.0]
    dns = Dns(rebind_example=[[PUBLIC], [PRIVATE]])

    async def work(resolver: Resolver) -> None:
        assert await resolver.lookup("rebind.example") == (PUBLIC,)
        now[0] = 59
        assert await resolver.lookup("rebind.example") == (PUBLIC,)  # from the cache, and checked
        now[0] = 61
        with pytest.raises(AddressRefused):
            await resolver.lookup("rebind.example")

    use(work, dns, clock=lambda: now[0], DNS_CACHE_SECONDS=60)
    assert dns.asked["rebind.example"] == 2


def test_a_name_that_the_operator_allows_may_be_anywhere():
    policy = AddressPolicy.allowing(["intranet.example"])
    dns = Dns(intranet_example=[[PRIVATE]], other_example=[["10.0.0.2"]])

    async def work(resolver: Resolver) -> None:
        assert await resolver.lookup("intranet.example") == (PRIVATE,)
        assert resolver.vouches_for(PRIVATE)
        assert not resolver.vouches_for("10.0.0.2")
        with pytest.raises(AddressRefused):
            await resolver.lookup("other.example")

    use(work, dns, policy)


def test_a_network_that_the_operator_allows():
    policy = AddressPolicy.allowing(["10.0.0.0/24"])
    dns = Dns(in_example=[["10.0.0.7"]], out_example=[["10.0.1.7"]])
    assert use(lambda resolver: resolver.lookup("in.example"), dns, policy) == ("10.0.0.7",)
    with pytest.raises(AddressRefused):
        use(lambda resolver: resolver.lookup("out.example"), dns, policy)


def test_many_who_ask_at_once_share_one_query_and_one_who_gives_up_does_not_take_it_from_the_rest():
    gate, begun = threading.Event(), threading.Event()
    asked: list[str] = []

    def dns(host: str) -> list[str]:
        asked.append(host)
        begun.set()
        gate.wait(10)
        return [PUBLIC]

    async def work(resolver: Resolver) -> list[Any]:
        tasks = [asyncio.create_task(resolver.lookup("busy.example")) for _ in range(20)]
        await asyncio.to_thread(begun.wait, 10)
        tasks[0].cancel()
        await asyncio.sleep(0)
        gate.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, *rest = use(work, dns)
    assert isinstance(first, asyncio.CancelledError)
    assert rest == [(PUBLIC,)] * 19
    assert asked == ["busy.example"]


def test_a_name_without_an_address_is_remembered_for_a_while():
    now = [0.0]
    dns = Dns()

    async def work(resolver: Resolver) -> None:
        for _ in range(3):
            with pytest.raises(CannotResolveHostError, match="gone"):
                await resolver.lookup("gone.example")
        assert dns.asked["gone.example"] == 1
        now[0] = 31
        with pytest.raises(CannotResolveHostError):
            await resolver.lookup("gone.example")
        assert dns.asked["gone.example"] == 2

    use(work, dns, clock=lambda: now[0])


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "a..b", "x" * 300, "empty.example"])
def test_a_name_that_cannot_be_one_is_not_found(host: str):
    dns = Dns(empty_example=[[]]) if host == "empty.example" else ask_system
    with pytest.raises(CannotResolveHostError):
        use(lambda resolver: resolver.lookup(host), dns)


def test_a_dns_server_that_is_silent_is_not_waited_for():
    gate = threading.Event()

    def dns(host: str) -> list[str]:
        gate.wait(10)
        return [PUBLIC]

    try:
        with pytest.raises(CannotResolveHostError, match=r"no answer from DNS in 0\.1 s"):
            use(lambda resolver: resolver.lookup("silent.example"), dns, DNS_TIMEOUT=0.1)
    finally:
        gate.set()


def test_the_cache_has_a_size_and_forgets_what_was_used_longest_ago():
    dns = Dns(a_example=[[PUBLIC]], b_example=[[PUBLIC]], c_example=[[PUBLIC]])

    async def work(resolver: Resolver) -> None:
        for name in ("a", "b", "a", "c", "a", "b"):
            await resolver.lookup(f"{name}.example")

    use(work, dns, DNSCACHE_SIZE=2)
    assert dns.asked == {"a.example": 1, "b.example": 2, "c.example": 1}


def test_lookups_at_a_time_are_bounded():
    gate, running, most = threading.Event(), [0], [0]
    lock = threading.Lock()

    def dns(host: str) -> list[str]:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        gate.wait(0.05)
        with lock:
            running[0] -= 1
        return [PUBLIC]

    async def work(resolver: Resolver) -> None:
        await asyncio.gather(*(resolver.lookup(f"{number}.example") for number in range(12)))

    use(work, dns, DNS_THREADS=3)
    assert most[0] <= 3


def test_the_system_is_asked_for_localhost():
    assert "127.0.0.1" in ask_system("localhost") or "::1" in ask_system("localhost")
