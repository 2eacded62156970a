"""When a page is fetched again, and what is remembered of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings

from crawler.errors import ConfigurationError
from crawler.frontier.config import FrontierConfig
from crawler.frontier.entry import Entry, Known, RequestFields, decode, encode
from crawler.frontier.recrawl import (
    MAX_ETAG_BYTES,
    Fetched,
    Recrawl,
    Validators,
    conditional_headers,
    read_validators,
)

NOW = 1_900_000_000.0  # 2030
PAST, FUTURE = b"Wed, 21 Oct 2015 07:28:00 GMT", b"Wed, 21 Oct 2065 07:28:00 GMT"
NOTHING = Validators()
PAGE = Entry(url="http://a/", depth=2, attempt=1, redirects=3, request=RequestFields(callback="parse_it"))


def configure(**settings: Any) -> FrontierConfig:
    project = Settings()
    project.setmodule("crawler.settings")
    project.setdict(settings, priority="cmdline")
    return FrontierConfig.from_settings(project)


def rule(first: float = 86400, least: float = 3600, most: float = 30 * 86400, roll: Any = None) -> Recrawl:
    config = configure(RECRAWL_FIRST_SECONDS=first, RECRAWL_MIN_SECONDS=least, RECRAWL_MAX_SECONDS=most)
    return Recrawl(config, roll or (lambda low, high: (low + high) / 2))


def unchanged(number: int = 1) -> Fetched:
    return Fetched(NOTHING, number, is_unchanged=True)


def changed(number: int = 2) -> Fetched:
    return Fetched(NOTHING, number)


# --- Intervals -------------------------------------------------------------------------------


def test_the_first_fetch_begins_with_the_first_interval() -> None:
    again = rule().plan(PAGE, Fetched(Validators('"x"', PAST.decode()), 7))
    assert (again.delay_ms, again.ended) == (86_400_000, "new")
    assert again.entry.known == Known(1, 86_400_000, 7, 0, 0, '"x"', PAST.decode())
    assert (again.entry.url, again.entry.depth, again.entry.redirects) == ("http://a/", 2, 3)
    assert again.entry.request == PAGE.request
    assert again.entry.attempt == 0, "attempts are counted anew"


def test_a_page_that_changes_comes_back_sooner_and_one_that_does_not_later() -> None:
    recrawl = rule()
    first = recrawl.plan(PAGE, changed(1)).entry
    later = recrawl.plan(first, unchanged())
    assert (later.delay_ms, later.ended) == (129_600_000, "page")
    assert later.entry.known == Known(2, 129_600_000, 1, unchanged=1)
    later = recrawl.plan(later.entry, Fetched(NOTHING, 1, is_unchanged=True, is_page=False))
    assert (later.delay_ms, later.ended) == (194_400_000, "unchanged")
    sooner = recrawl.plan(later.entry, changed())
    assert (sooner.delay_ms, sooner.ended) == (97_200_000, "page")
    assert sooner.entry.known == Known(4, 97_200_000, 2)


spans = st.floats(0.01, 10 * 365 * 86400)


@given(
    first=spans, one=spans, other=spans, history=st.lists(st.sampled_from("cum"), max_size=60),
    rolls=st.floats(0, 1),
)  # fmt: skip
def test_intervals_stay_within_their_bounds(
    first: float, one: float, other: float, history: list[str], rolls: float
) -> None:
    least, most = sorted((one, other))
    recrawl = rule(first, least, most, lambda low, high: low + rolls * (high - low))
    entry = PAGE
    for what in ["c", *history]:
        before = entry.known
        if what == "m":
            again = recrawl.plan_missed(entry, "timeout", "")
            if again is None:
                break
        else:
            again = recrawl.plan(entry, unchanged() if what == "u" else changed())
        entry = decode(encode(again.entry, b"8 bytes.", "a"), "a")  # it travels
        known = entry.known
        assert known is not None
        assert known == again.entry.known
        # Whole milliseconds are rounded to.
        assert least * 1000 - 1 <= known.interval_ms <= most * 1000 + 1
        assert 0.9 * known.interval_ms - 1 <= again.delay_ms <= 1.1 * known.interval_ms + 1
        if before is not None and what == "u":
            assert known.interval_ms >= before.interval_ms
        elif before is not None and what == "c":
            assert known.interval_ms <= before.interval_ms


def test_pages_of_one_moment_do_not_come_back_in_one_moment() -> None:
    recrawl = Recrawl(configure())
    delays = [recrawl.plan(PAGE, changed()).delay_ms for _ in range(1000)]
    assert len(set(delays)) > 900
    assert 0.9 * 86_400_000 <= min(delays) < 0.92 * 86_400_000
    assert 1.08 * 86_400_000 < max(delays) <= 1.1 * 86_400_000


# --- Failures --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "detail"),
    [("timeout", ""), ("connection", "x"), ("dns", ""), ("robots_unreachable", ""), ("http_error", "503"),
     ("http_error", "429")],
)  # fmt: skip
def test_an_outage_does_not_end_a_page_that_was_there(reason: str, detail: str) -> None:
    recrawl = rule()
    assert recrawl.plan_missed(PAGE, reason, detail) is None, "it never was"
    entry = recrawl.plan(PAGE, Fetched(Validators('"x"'), 1)).entry
    for times in (1, 2):
        again = recrawl.plan_missed(entry, reason, detail)
        assert again is not None
        assert (again.ended, again.delay_ms) == ("missed", 86_400_000)
        entry = again.entry
        assert entry.known == Known(1, 86_400_000, 1, 0, times, '"x"')
    assert recrawl.plan_missed(entry, reason, detail) is None
    known = recrawl.plan(entry, unchanged()).entry.known
    assert known is not None
    assert known.missed == 0, "only misses in a row count"


@pytest.mark.parametrize(
    ("reason", "detail"),
    [("http_error", "404"), ("http_error", "410"), ("http_error", "403"), ("robots", "Disallow: /"),
     ("callback_error", "503"), ("bad_redirect", "503"), ("private_address", "")],
)  # fmt: skip
def test_a_page_that_is_gone_is_dead(reason: str, detail: str) -> None:
    recrawl = rule()
    assert recrawl.plan_missed(recrawl.plan(PAGE, changed()).entry, reason, detail) is None


# --- Validators ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("etag", "kept"),
    [
        (b'"abc"', '"abc"'),
        (b'W/"abc"', 'W/"abc"'),
        (b'""', '""'),
        (b'"\xe9"', '"\xe9"'),
        (b'"' + b"x" * (MAX_ETAG_BYTES - 2) + b'"', '"' + "x" * (MAX_ETAG_BYTES - 2) + '"'),
        (b'"' + b"x" * (MAX_ETAG_BYTES - 1) + b'"', ""),
        (None, ""),
        (b"", ""),
        (b"abc", ""),
        (b'w/"abc"', ""),
        (b'"a b"', ""),
        (b'"a"b"', ""),
        (b'"a"\n', ""),
        (b'"a\r\nX-Evil: 1"', ""),
        (b'"a", "b"', ""),
        (b"*", ""),
    ],
)
def test_an_etag_is_kept_as_received_or_not_at_all(etag: bytes | None, kept: str) -> None:
    assert read_validators(etag, None, NOW) == Validators(kept, "")


@pytest.mark.parametrize(
    ("date", "is_kept"),
    [
        (PAST, True),
        (FUTURE, False),
        (None, False),
        (b"", False),
        (b"0", False),
        (b"yesterday", False),
        (b"Wed, 21 Oct 2015 07:28:00 +0000", False),
        (b"Wed, 31 Feb 2015 07:28:00 GMT", False),
        (b"Wed, 21 Oct 2015 25:28:00 GMT", False),
        (b"Wed, 21 Oct 0000 07:28:00 GMT", False),
        (b"Xyz, 21 Foo 2015 07:28:00 GMT", False),
        (b"Wed, 21 Oct 2015 07:28:00 GMT\r\nX-Evil: 1", False),
        ("Wed, ٢١ Oct 2015 07:28:00 GMT".encode(), False),
    ],
)
def test_a_date_is_kept_as_received_or_not_at_all(date: bytes | None, is_kept: bool) -> None:
    kept = (date or b"").decode("latin-1") if is_kept else ""
    assert read_validators(None, date, NOW) == Validators("", kept)


def test_conditions_are_those_of_the_server() -> None:
    known = Known(1, 1, 1, 0, 0, 'W/"\xe9"', PAST.decode())
    assert conditional_headers(known) == {"If-None-Match": b'W/"\xe9"', "If-Modified-Since": PAST}
    assert conditional_headers(Known(1, 1, 1)) == {}


@given(st.text(max_size=30), st.text(max_size=40))
def test_nothing_planted_in_the_queue_becomes_another_header(etag: str, date: str) -> None:
    for text in (etag, f'"{etag}"', f'"a"\r\n{etag}'):
        for value in conditional_headers(Known(1, 1, 1, 0, 0, text, date)).values():
            assert not set(value) & set(b"\r\n\0")
            assert len(value) <= MAX_ETAG_BYTES


# --- Settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [{"RECRAWL_MIN_SECONDS": 0}, {"RECRAWL_MIN_SECONDS": 10, "RECRAWL_MAX_SECONDS": 9}, {"RECRAWL_FIRST_SECONDS": "x"},
     {"RECRAWL": "perhaps"}],
)  # fmt: skip
def test_settings_that_will_not_do_are_explained(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=list(settings)[-1]):
        configure(**settings)
