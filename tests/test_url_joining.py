"""Is the quick way to join a link to its page the same as the WHATWG way?"""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawler import urls
from crawler.errors import BadUrl
from crawler.urls import Url, canonicalise

pieces = st.sampled_from(
    ["/", "//", ".", "..", "%2e", "%2E", ".%2e", "a", "B", "x.html", "?", "&", "=", "utm_source=1", "b=2", "a=1", "#",
     ";jsessionid=a1", "sid=" + "0f" * 16,
     "#frag", ":", "@", "'", '"', "!", "$", "(", ")", "*", "+", ",", ";", "~", "-", "_", "%", "%20", "%zz", " ", "\t",
     "\n", "ü", "\\", "|", "^", "`", "{", "}", "<", ">", "[", "]", "http:", "https://", "example.org", ":80", "\x00",
     "\ud800", "x" * 700]
)  # fmt: skip
hrefs = st.lists(pieces, max_size=6).map("".join) | st.text(max_size=12)
bases = st.sampled_from(
    [
        "https://example.com/", "https://example.com", "http://example.com:80/a/b", "http://example.com:8080/a/b/?q=/x/",
        "https://user:pw@example.com/a/b#f/g", "https://EXAMPLE.com/ü/b c/d", "http://[::1]/a/", "http://0x7f.1/a/b/../c",
        "https://example.com/?utm_source=/x", "https://example.com//a//b", "https://example.com/a;b/c@d/e",
        "https://example.com/" + "x/" * 800, "https://example.com/" + "x" * 3000, "ftp://example.com/a", "nonsense",
        "mailto:a@b", "", None,
    ]
)  # fmt: skip


def outcome(function, *arguments) -> Url | str:
    try:
        return function(*arguments)
    except BadUrl as error:
        return error.reason


@settings(max_examples=1000)
@given(href=hrefs, base=bases)
@example(href="..", base="https://example.com/a/b/")
@example(href="%2E%2e/x", base="https://example.com/a/b/")
@example(href="a/./b", base="https://example.com/")
@example(href="//evil.org/a", base="https://example.com/")
@example(href="/a?utm_source=1", base="https://example.com/")
@example(href="a?", base="https://example.com/")
@example(href="a:b", base="https://example.com/")
@example(href=";jsessionid=1", base="https://example.com/a/b")
@example(href="/;jsessionid=1?a", base="https://example.com/a/b")
def test_the_quick_way_is_the_slow_way(href, base):
    assert outcome(canonicalise, href, base) == outcome(urls._canonicalise_any, href, base)


@pytest.mark.parametrize("href", ["/a/b.html", "x", "a/b/", "/w/index.php?title=A&b=%20#c", "/"])
def test_common_links_take_the_quick_way(href, monkeypatch):
    monkeypatch.setattr(urls, "_canonicalise_any", None)
    canonicalise(href, "https://example.com/a/")
