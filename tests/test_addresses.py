"""Which addresses may be connected to, however they are spelt?"""

import ipaddress

import pytest
from scrapy.settings import Settings

from crawler.addresses import AddressPolicy, is_private_address
from crawler.errors import BadUrl, ConfigurationError
from crawler.urls import canonicalise

# Hosts as an attacker writes them; each must be refused, as a bad URL or as an address.
REFUSED_SPELLINGS = [
    # loopback
    "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7F.0x0.0x0.0x1",
    "0x7f.1", "017700000001", "0177.0.0.1", "0177.0.0.01", "0x7f.0.0.0x1", "127.0x1", "%31%32%37.0.0.1",
    "１２７.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "user:secret@127.0.0.1", "example.org@127.0.0.1",
    "[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    # names of this machine
    "localhost", "LOCALHOST", "localhost.", "loca%6chost", "ｌｏｃａｌｈｏｓｔ", "a.localhost", "localhost.localdomain",
    "ip6-localhost", "printer.local", "router.home.arpa",
    # unspecified
    "0", "0.0.0.0", "0x0", "00000", "[::]", "[::ffff:0:0]",
    # private
    "10.0.0.1", "10.1", "012.0.0.1", "167772161", "172.16.0.1", "172.31.255.255", "192.168.1.1", "192.168.257",
    "0xc0.0xa8.0x1.0x1", "3232235777", "[fc00::1]", "[fd12:3456::1]", "[::ffff:10.0.0.1]", "[::10.0.0.1]",
    # link-local and metadata
    "169.254.169.254", "169.254.43518", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:a9fe:a9fe]",
    "metadata.google.internal", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16", "192.0.0.192", "[fe80::1]",
    "[fe80::a9fe:a9fe]", "[fe80::1%25eth0]", "[fe80::1%eth0]",
    # carrier-grade NAT, benchmarks, documentation, multicast, reserved, broadcast
    "100.64.0.1", "100.127.255.255", "198.18.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
    "239.255.255.250", "240.0.0.1", "255.255.255.255", "4294967295", "192.88.99.1", "[2001:db8::1]", "[3fff::1]",
    "[ff02::1]", "[ff0e::1]", "[100::1]", "[5f00::1]",
    # IPv4 inside of IPv6, public or not: NAT64, 6to4, Teredo, mapped, compatible; and site-local
    "[64:ff9b::7f00:1]", "[64:ff9b::169.254.169.254]", "[64:ff9b::8.8.8.8]", "[64:ff9b:1::a00:1]", "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]", "[2002:808:808::1]", "[2001::1]", "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
    "[::ffff:8.8.8.8]", "[::8.8.8.8]", "[fec0::1]",
    # what no parser should take for a host
    "256.0.0.1", "1.2.3.4.5", "127.0.0.0x", "foo.127", "foo.0x7f", "[::1", "[127.0.0.1]",
]  # fmt: skip

PUBLIC = [
    "8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "168.63.129.17", "example.org", "a_b.example",
    "example.org.", "[2606:4700:4700::1111]", "[2a00:1450::1]", "internal.example.org", "127.0.0.1.example.org",
    "localhost.example.org", "1e100.net", "3com.com",
]  # fmt: skip
UNPARSED = ["127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.0x", "[::1]:80", "fe80::1%eth0"]
NETWORKS = ["10.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "fec0::/10"]
NO_VALUES = ["10.0.0.1/8", "300.0.0.0/8", "http://intranet/", "a b", "*", "127.1", "", "[::1]", 7.5]


def refuses(host: str, policy: AddressPolicy) -> bool:
    try:
        return policy.refuses_host(canonicalise(f"http://{host}:8080/x").host)
    except BadUrl:
        return True


def test_there_are_many_spellings():
    assert len(set(REFUSED_SPELLINGS)) >= 60


@pytest.mark.parametrize("host", REFUSED_SPELLINGS)
def test_a_spelling_of_a_refused_address_is_refused(host: str):
    assert refuses(host, AddressPolicy())


@pytest.mark.parametrize("host", PUBLIC)
def test_a_public_host_is_not_refused(host: str):
    assert not refuses(host, AddressPolicy())


@pytest.mark.parametrize(
    "host", ["127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.0x", "[::1]:80", "fe80::1%eth0"]
)
def test_a_spelling_that_no_parser_has_seen_is_refused_too(host: str):
    assert AddressPolicy().refuses_host(host)


@pytest.mark.parametrize(
    ("spelling", "host"),
    [
        ("127.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0251.0376.0251.0376", "169.254.169.254"),
        ("127.0.0.1.", "127.0.0.1"),
        ("①②⑦.⓪.⓪.①", "127.0.0.1"),
        ("[::127.0.0.1]", "[::7f00:1]"),
        ("loca%6chost", "localhost"),
    ],
)
def test_the_url_parser_has_one_spelling_for_an_address(spelling: str, host: str):
    assert canonicalise(f"http://{spelling}/").host == host


def test_private_is_everything_but_an_ordinary_public_address():
    for network in (
        "10.0.0.0/8",
        "127.0.0.0/8",
        "224.0.0.0/4",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "fec0::/10",
    ):
        first, last = ipaddress.ip_network(network)[0], ipaddress.ip_network(network)[-1]
        assert is_private_address(first), network
        assert is_private_address(last), network


# --- What is allowed -------------------------------------------------------------------------


def test_allow_private_allows_all():
    policy = AddressPolicy(allow_private=True)
    for host in ("127.0.0.1", "localhost", "[::1]:80", "169.254.169.254"):
        assert not policy.refuses_host(host)


def test_only_what_is_named_is_allowed():
    policy = AddressPolicy.allowing(["10.1.0.0/16", "127.0.0.2", "fd00:1::/32", "Intranet.example.", "localhost"])
    for host in ("10.1.2.3", "10.1.2.3:8080", "127.0.0.2", "[fd00:1::7]:80", "intranet.example", "localhost:3000"):
        assert not policy.refuses_host(host), host
    for host in ("10.2.0.1", "127.0.0.1", "[fd00:2::7]", "[::ffff:10.1.2.3]", "a.localhost"):
        assert policy.refuses_host(host), host
    assert policy.allows_name("INTRANET.example:80")
    assert not policy.allows_name("example")


@pytest.mark.parametrize(
    "value", ["10.0.0.1/8", "300.0.0.0/8", "http://intranet/", "a b", "*", "127.1", "", "[::1]", 7.5]
)
def test_a_value_that_is_no_network_and_no_name_is_named_in_the_error(value: object):
    with pytest.raises(ConfigurationError, match="ALLOW_ADDRESSES") as caught:
        AddressPolicy.allowing([value])
    assert repr(value) in str(caught.value)


def test_the_setting_is_a_list_or_words_with_commas():
    for value in (["127.0.0.0/8", "intranet"], "127.0.0.0/8,intranet"):
        policy = AddressPolicy.from_settings(Settings({"ALLOW_PRIVATE": False, "ALLOW_ADDRESSES": value}))
        assert (len(policy.networks), policy.names) == (1, {"intranet"})
