"""Are lists of hosts read as they are meant, and is a bad line found?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.errors import ConfigurationError
from crawler.host_lists import HostList, load_host_list


@pytest.fixture
def load(tmp_path):
    def load(text: str | bytes) -> HostList:
        path = tmp_path / "hosts.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_host_list("HOSTS_DENY_FILE", path)

    return load


def test_a_host_a_line(load):
    hosts = load("# a list\n\nexample.com\r\n  b.org  # why\n[2001:db8::1]\n0x7f.1\nEXAMPLE.net\nc.org.\n")
    for host in ["example.com", "b.org", "[2001:db8::1]", "127.0.0.1", "example.net", "c.org"]:
        assert host in hosts
        assert f"{host}:8080" in hosts
    assert "example.com." in hosts, "the dot of a full name is no way around"
    for host in ["www.example.com", "com", "ample.com", "example.co", "[2001:db8::2]", ""]:
        assert host not in hosts


def test_subdomains(load):
    hosts = load("*.example.com\n.b.org\n*.co.uk")
    assert "www.example.com" in hosts
    assert "a.b.c.example.com:81" in hosts
    assert "example.com" not in hosts, "a star stands for something"
    assert "b.org" in hosts
    assert "a.b.org" in hosts
    assert "ab.org" not in hosts
    assert "bbc.co.uk" in hosts


def test_names_in_any_script(load):
    hosts = load("bücher.example\n*.xn--bcher-kva.org\n.пример.рф\n")
    assert "xn--bcher-kva.example" in hosts
    assert "a.xn--bcher-kva.org" in hosts
    assert "www.xn--e1afmkfd.xn--p1ai" in hosts


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("https://example.com/", "more than a host"),
        ("example.com/path", "more than a host"),
        ("0.0.0.0 ads.example.com", "more than a host"),
        ("user@example.com", "more than a host"),
        ("example.com:80", "has a port"),
        ("*.*.com", "is not a host"),
        ("ex*mple.com", "is not a host"),
        ("*", "is not a host"),
        ("a..b", "is not a host"),
        ("a" * 300, "is not a host"),
        (b"\xff.com", "is not text in UTF-8"),
    ],
)
def test_a_bad_line_is_named(load, line, words):
    line = line if isinstance(line, bytes) else line.encode()
    with pytest.raises(ConfigurationError) as error:
        load(b"# one\ngood.com\n" + line + b"\nalso.good\n")
    for word in ["HOSTS_DENY_FILE", "hosts.txt, line 3", words, "*.example.com"]:
        assert word in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_host_list("HOSTS_DENY_FILE", tmp_path / "missing")


def test_a_million_lines(load):
    hosts = load("".join(f"host-{i}.example{i % 1000}.com\n" for i in range(1_000_000)))
    assert len(hosts) == 1_000_000
    assert "host-999999.example999.com" in hosts
    assert "host-999999.example998.com" not in hosts


@given(data=st.binary(max_size=60), host=st.text(max_size=30))
def test_whatever_is_in_the_file(tmp_path_factory, data, host):
    path = tmp_path_factory.getbasetemp() / "garbage"
    path.write_bytes(data)
    try:
        hosts = load_host_list("HOSTS_DENY_FILE", path)
    except ConfigurationError:
        return
    assert (host in hosts) in (True, False)
