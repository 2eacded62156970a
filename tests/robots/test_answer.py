"""What does an HTTP answer to GET /robots.txt mean? The table of RFC 9309 section 2.3.1, status by body by size."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.robots.answer import LARGEST_BYTES, Meaning, read_answer
from crawler.robots.rules import parse

DAY, HOUR = 24 * 3600, 3600
URL = "https://example.com/private/page"
SOME = b"User-agent: *\nDisallow: /private/\n"
HTML = b"<!DOCTYPE html>\n<html><body><pre>\nUser-agent: *\nDisallow: /\n</pre></body></html>"
BODIES = {
    "empty": b"",
    "rules": SOME,
    "html": HTML,
    "garbage": bytes(range(256)),
    "large": SOME + b"#" * LARGEST_BYTES,
}

ALL, SOME_RULES, NONE = "everything is allowed", "the rules apply", "nothing is allowed"


def tell(status: int, body: bytes) -> str:
    rules = parse(read_answer(status, body).text)
    if not rules.decide("https://example.com/", "x").allowed:
        return NONE
    return ALL if rules.decide(URL, "x").allowed else SOME_RULES


@pytest.mark.parametrize("status", [200, 203, 204, 206, 299])
@pytest.mark.parametrize(
    ("body", "told", "seconds"),
    [
        ("empty", ALL, DAY),
        ("rules", SOME_RULES, DAY),
        ("html", ALL, HOUR),
        ("garbage", ALL, DAY),
        ("large", SOME_RULES, DAY),
    ],
)
def test_a_success_is_its_rules(status, body, told, seconds):
    assert tell(status, BODIES[body]) == told
    assert read_answer(status, BODIES[body]).known_seconds == seconds


@pytest.mark.parametrize(
    ("status", "meaning", "told", "seconds"),
    [
        *((status, Meaning.UNAVAILABLE, ALL, HOUR) for status in (300, 301, 302, 303, 304, 307, 308, 399)),
        *((status, Meaning.UNAVAILABLE, ALL, HOUR) for status in (400, 401, 402, 403, 404, 405, 410, 418, 451, 499)),
        (429, Meaning.WAIT, NONE, 0),
        *((status, Meaning.UNREACHABLE, NONE, 300) for status in (500, 501, 502, 503, 504, 520, 599)),
        *((status, Meaning.UNREACHABLE, NONE, 300) for status in (0, -1, 100, 199, 600, 999)),
    ],
)
@pytest.mark.parametrize("body", BODIES)
def test_any_other_answer_means_the_same_whatever_its_body(status, meaning, told, seconds, body):
    answer = read_answer(status, BODIES[body])
    assert (answer.meaning, answer.known_seconds) == (meaning, seconds)
    assert tell(status, BODIES[body]) == told


# --- Size ------------------------------------------------------------------------------------


def test_rules_count_up_to_500_kib_and_no_further():
    inside = SOME.ljust(LARGEST_BYTES - len(b"\nDisallow: /a\n"), b"#") + b"\nDisallow: /a\n"
    rules = parse(read_answer(200, inside + b"Disallow: /b\n").text)
    assert len(inside) == LARGEST_BYTES
    assert not rules.decide("https://example.com/a", "x").allowed
    assert rules.decide("https://example.com/b", "x").allowed


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_half_a_line_at_the_limit_is_not_read(end):
    beginning = (b"User-agent: *" + end).ljust(LARGEST_BYTES - len(b"Disallow: /") - len(end), b"#") + end
    body = beginning + b"Disallow: /private" + end
    assert body[:LARGEST_BYTES].endswith(end + b"Disallow: /")
    assert tell(200, body) == ALL
    assert tell(200, body[:LARGEST_BYTES]) == NONE  # when that is all there is, it is what the site says


def test_one_endless_line_says_nothing():
    assert tell(200, b"Disallow: /" * LARGEST_BYTES) == ALL


# --- Encodings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        codecs.BOM_UTF8 + SOME,
        codecs.BOM_UTF8[:2] + SOME.replace(b"User", b"\nUser"),
        codecs.BOM_UTF16_LE + SOME.decode().encode("utf-16-le"),
        codecs.BOM_UTF16_BE + SOME.decode().encode("utf-16-be"),
        codecs.BOM_UTF32_LE + SOME.decode().encode("utf-32-le"),
        codecs.BOM_UTF32_BE + SOME.decode().encode("utf-32-be"),
        codecs.BOM_UTF16_LE + SOME.decode().encode("utf-16-le") + b"\x00",
        b"# caf\xe9\n" + SOME + b"Disallow: /caf\xe9\n",
        b"\0\0\n" + SOME,
        SOME.replace(b"\n", b"\r"),
        SOME.replace(b"\n", b"\r\n"),
    ],
)
def test_odd_encodings_do_not_hide_the_rules(body):
    assert tell(200, body) == SOME_RULES


# --- Pages instead of rules ------------------------------------------------------------------


@pytest.mark.parametrize(
    "beginning",
    ["<!doctype html>", "<!DOCTYPE HTML PUBLIC>", "<html lang=en>", "\n\n  <HTML>", "\ufeff<!doctype html>", "<head>",
     "<body>", '<?xml version="1.0"?>', "<!-- comment -->"],
)  # fmt: skip
def test_a_page_is_no_robots_txt(beginning):
    answer = read_answer(200, f"{beginning}\nUser-agent: *\nDisallow: /\n".encode())
    assert (answer.meaning, answer.text, answer.known_seconds) == (Meaning.UNAVAILABLE, "", HOUR)


def test_a_stray_tag_does_not_make_a_page():
    assert tell(200, b"<pre>\nUser-agent: *\nDisallow: /private/\n</pre>\n") == SOME_RULES


@given(status=st.integers(-1000, 1000), body=st.binary(max_size=200))
def test_every_answer_means_something(status, body):
    answer = read_answer(status, body)
    assert answer.text.encode() is not None  # it can be kept in Redis
    assert parse(answer.text).decide(URL, "x").allowed in {True, False}
    assert answer.known_seconds >= 0
    assert (answer.meaning is Meaning.WAIT) is (answer.known_seconds == 0)
