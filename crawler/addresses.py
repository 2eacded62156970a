"""Which addresses may be connected to? Without an answer, any page could make a crawler on a company's network fetch
that company's own pages, or a cloud machine's credentials.

Asked four times: by the scope for every link, by the egress middleware for every request, by the resolver for every
address that DNS gives, and once more for the very address that a socket is opened to.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from scrapy.settings import BaseSettings

from crawler.errors import ConfigurationError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# IANA's special-purpose registry, spelt out: what ``is_global`` says changes with the version of Python.
_REFUSED_V4 = tuple(
    ipaddress.IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network; 0.0.0.0 reaches loopback
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and Alibaba's metadata at 100.100.100.200
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host agent: a public address that no router outside forwards
        "169.254.0.0/16",  # link-local, and the metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments, and Oracle's metadata at 192.0.0.192
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# All that is routed is in here. Outside are loopback, IPv4 in any coat (mapped, compatible, NAT64), unique local,
# link-local, site-local and multicast.
_ROUTED_V6 = ipaddress.IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    ipaddress.IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments; Teredo, which carries an IPv4 address, among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: carries an IPv4 address
        "3fff::/20",  # documentation
    )
)
_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback", "broadcasthost"})
_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".localdomain", ".home.arpa")
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    allow_private: bool = False
    networks: tuple[Network, ...] = ()
    names: frozenset[str] = frozenset()

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        try:
            allow_private = settings.getbool("ALLOW_PRIVATE")
        except ValueError:
            raise ConfigurationError(f"ALLOW_PRIVATE is {settings.get('ALLOW_PRIVATE')!r}; use True or False") from None
        return cls.allowing(settings.getlist("ALLOW_ADDRESSES"), allow_private)

    @classmethod
    def allowing(cls, values: Iterable[object], allow_private: bool = False) -> Self:
        """``values`` as in the setting ALLOW_ADDRESSES: networks, addresses and host names."""
        networks: list[Network] = []
        names: set[str] = set()
        for value in values:
            text = str(value).strip().lower().rstrip(".")
            try:
                networks.append(ipaddress.ip_network(text))
            except ValueError as error:
                if not _NAME.fullmatch(text) or _ends_in_number(text):
                    raise ConfigurationError(
                        f"ALLOW_ADDRESSES has {value!r}, which is no network ({error}) and no host name; "
                        "use such as 10.1.0.0/16, fd00::/8 or intranet.example"
                    ) from None
                names.add(text)
        return cls(allow_private, tuple(networks), frozenset(names))

    def refuses_host(self, host: str) -> bool:
        """Whether the host, as written, with or without a port, already says too much. DNS is not asked."""
        if self.allow_private:
            return False
        name = _without_port(host)
        if name in self.names:
            return False
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            # The URL parser brings every spelling of an IPv4 address into the one that was just tried.
            return name in _LOCAL_NAMES or name.endswith(_LOCAL_ENDINGS) or ":" in name or _ends_in_number(name)
        return self.refuses_address(address)

    def refuses_address(self, address: Address) -> bool:
        if self.allow_private or not is_private_address(address):
            return False
        return not any(address in network for network in self.networks)

    def allows_name(self, host: str) -> bool:
        """Whether the operator vouches for the host, wherever DNS says that it is."""
        return self.allow_private or _without_port(host) in self.names


def is_private_address(address: Address) -> bool:
    """Whether it is anything but an ordinary public address of one machine."""
    if isinstance(address, ipaddress.IPv4Address):
        return any(address in network for network in _REFUSED_V4) or not address.is_global
    return address not in _ROUTED_V6 or any(address in network for network in _REFUSED_V6)


def _without_port(host: str) -> str:
    host = host.lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    name, colon, port = host.rpartition(":")
    if colon and ":" not in name and port.isdigit():
        host = name
    return host.rstrip(".")


def _ends_in_number(name: str) -> bool:
    """What the URL standard and every C library take for an IPv4 address: 127.1, 0x7f.1, 2130706433."""
    return bool(_NUMBER.fullmatch(name.rpartition(".")[2]))
