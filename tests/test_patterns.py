"""Do patterns find what they should, in a time that no page can stretch, and is a bad one explained?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.errors import ConfigurationError
from crawler.patterns import Patterns, read_patterns


def test_any_of_the_patterns_anywhere_in_the_url():
    patterns = Patterns("EXCLUDE", ["/login", r"[?&]sort=", "^http://", r"\.php$", "a|b$"])
    assert patterns.find("https://example.com/x/login?next=/")
    assert patterns.find("https://c.com/?q=1&sort=up")
    assert patterns.find("http://c.com/")
    assert patterns.find("https://c.com/x.php")
    assert not patterns.find("https://c.com/x.php?z=1")


def test_a_pattern_is_whole_by_itself():
    assert not Patterns("EXCLUDE", ["(?i)LOGIN", "OUT"]).find("https://c.de/out")
    assert Patterns("EXCLUDE", ["(?i)LOGIN", "OUT"]).find("https://c.de/login")


@pytest.mark.parametrize(
    ("value", "patterns"),
    [
        ([], ()),
        ("", ()),
        (["/a/", "x{1,3}"], ("/a/", "x{1,3}")),
        (("/a/",), ("/a/",)),
        (" /a/  x{1,3}\n", ("/a/", "x{1,3}")),
    ],
)
def test_patterns_come_as_a_list_or_as_text(value, patterns):
    assert read_patterns("INCLUDE", value) == patterns


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("/a(b", ["missing )", "character 3", "correct it"]),
        ("ab[z-a]", ["character class", "character 4", "'z-a'"]),
        ("/x(?=y)", ["look-ahead", "character 3", "not supported", "INCLUDE and one in EXCLUDE"]),
        ("(?<!x)y", ["look-behind", "character 1"]),
        (r"(a)\1", ["a back-reference", "character 4"]),
        ("a**", ["repetition", "character 2"]),
        ("x{2000}", ["repetition size", "character 2"]),
        ("a b", ["a space", "%20"]),
        ("", ["empty"]),
        ("\ud800", ["encoded"]),
    ],
)
def test_a_bad_pattern_is_explained(pattern, words):
    with pytest.raises(ConfigurationError) as error:
        read_patterns("EXCLUDE", [pattern])
    for word in ["EXCLUDE", repr(pattern), *words]:
        assert word in str(error.value)


@pytest.mark.parametrize("value", [7, None, [7], [b"/a/"], {"a": 1}.items()])
def test_what_is_no_list_of_patterns(value):
    with pytest.raises(ConfigurationError, match="INCLUDE"):
        read_patterns("INCLUDE", value)


def test_catastrophic_patterns_are_harmless():
    patterns = Patterns("EXCLUDE", ["(a+)+$", "(a|aa)+$", "(.*a){12}b", "^(([a-z])+.)+[A-Z]([a-z])+$"])
    for _ in range(100):  # one of these alone would take Python's engine longer than the universe has
        assert not patterns.find("http://x/" + "a" * 2000 + "!")


@given(st.text(max_size=30))
def test_no_pattern_does_more_than_be_refused(pattern):
    try:
        patterns = read_patterns("INCLUDE", [pattern])
    except ConfigurationError:
        return
    Patterns("INCLUDE", patterns).find("https://example.com/a?b=c")
