"""When was that? All forms of a W3C date, RFC 822 as feeds have it, and what is no date."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.robots.dates import read_date


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-02", datetime(2024, 2, 1, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        (" 2024-02-29\n", datetime(2024, 2, 29, tzinfo=UTC)),
        ("2024-02-29T23:30Z", datetime(2024, 2, 29, 23, 30, tzinfo=UTC)),
        ("2024-02-29T23:30:15Z", datetime(2024, 2, 29, 23, 30, 15, tzinfo=UTC)),
        ("2024-02-29T23:30:15z", datetime(2024, 2, 29, 23, 30, 15, tzinfo=UTC)),
        ("2024-02-29T23:30+01:00", datetime(2024, 2, 29, 22, 30, tzinfo=UTC)),
        ("2024-02-29T23:30:15-05:30", datetime(2024, 3, 1, 5, 0, 15, tzinfo=UTC)),
        ("2024-02-29T23:30:15+0100", datetime(2024, 2, 29, 22, 30, 15, tzinfo=UTC)),
        ("2024-02-29T23:30:15+01", datetime(2024, 2, 29, 22, 30, 15, tzinfo=UTC)),
        ("2024-02-29T23:30:15.5Z", datetime(2024, 2, 29, 23, 30, 15, 500_000, tzinfo=UTC)),
        ("2024-02-29T23:30:15.123456789123Z", datetime(2024, 2, 29, 23, 30, 15, 123_456, tzinfo=UTC)),
        ("2024-02-29T23:30:15", datetime(2024, 2, 29, 23, 30, 15, tzinfo=UTC)),
        ("2024-02-29 23:30:15", datetime(2024, 2, 29, 23, 30, 15, tzinfo=UTC)),
        ("2024-2-9", datetime(2024, 2, 9, tzinfo=UTC)),
        ("Thu, 29 Feb 2024 23:30:15 +0100", datetime(2024, 2, 29, 22, 30, 15, tzinfo=UTC)),
        ("29 Feb 2024 23:30:15 GMT", datetime(2024, 2, 29, 23, 30, 15, tzinfo=UTC)),
        ("Thu, 29 Feb 2024 23:30:15 -0000", datetime(2024, 2, 29, 23, 30, 15, tzinfo=UTC)),
    ],
)
def test_a_date(text, moment):
    assert read_date(text) == moment


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2023-02-29", "2024-13-01", "2024-00-01", "0000-01-01", "2024-02-29T24:30Z",
     "2024-02-29T23:61Z", "2024-02-29T23:30+99:00", "0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00", "29/02/2024",
     "20240229", "-2024-01-01", "2024-02-29T", "2024-02-29Tx", "٢٠٢٤-٠٢-٢٩", "2024-02-29" * 1000,
     "Thu, 99 Feb 2024 23:30:15 GMT", "\0"],
)  # fmt: skip
def test_no_date(text):
    assert read_date(text) is None


@given(st.text(max_size=40) | st.text("0123456789-T:Z+. ", max_size=30) | st.datetimes().map(str))
def test_nothing_raises_and_every_date_has_a_zone(text):
    moment = read_date(text)
    assert moment is None or moment.tzinfo is UTC
