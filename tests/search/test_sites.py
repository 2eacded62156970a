"""Is a host found under the names that somebody would look for?"""

import pytest

from crawler.search.sites import list_sites


@pytest.mark.parametrize(
    ("host", "sites"),
    [
        ("Docs.python.ORG", ["docs.python.org", "python.org", "org"]),
        ("docs.python.org.", ["docs.python.org", "python.org", "org"]),
        ("a.example:8080", ["a.example", "example", "a.example:8080", "example:8080"]),
        ("127.0.0.1:80", ["127.0.0.1", "127.0.0.1:80"]),
        ("[::1]", ["[::1]"]),
        ("[::1]:8080", ["[::1]", "[::1]:8080"]),
        ("localhost", ["localhost"]),
        ("", [""]),
    ],
)
def test_sites_of_a_host(host: str, sites: list[str]) -> None:
    assert list_sites(host) == sites


def test_a_name_without_end_is_cut() -> None:
    assert len(list_sites("a." * 1000 + "example")) == 32
