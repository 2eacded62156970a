"""Are traps known by their URL, and are real sites left alone?"""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scrapy.settings import Settings

from crawler.file_types import is_allowed_type, is_file, media_type
from crawler.frontier.config import FrontierConfig
from crawler.frontier.reasons import EXPLANATIONS, Drop
from crawler.traps import Trap, TrapLimits, trap_of
from crawler.urls import Url, canonicalise


def _defaults() -> FrontierConfig:
    settings = Settings()
    settings.setmodule("crawler.settings")
    return FrontierConfig.from_settings(settings)


CONFIG = _defaults()
LIMITS = replace(CONFIG.traps, this_year=2026)
OFF = TrapLimits(0, 0, 0, 0, 0, 0, 0, 0, 0, False, this_year=2026)

_LINES = (Path(__file__).parent / "real_urls.txt").read_text().splitlines()
LEGITIMATE = [line for line in _LINES if not line.startswith("# ")]

TRAPS = [
    ("/a/b/a/b/a/b", Trap.REPETITION),
    ("/a/b/a/b/a/b/", Trap.REPETITION),
    ("/x/y/about/about/about/index.html", Trap.REPETITION),
    ("/en/a/b/c/a/b/c/a/b/c/page.html?x=1", Trap.REPETITION),
    ("/a/1/a/2/a/3/a/4/a/5", Trap.REPETITION),
    ("/images/css/x/images/js/y/images/images/z/images/q", Trap.REPETITION),
    ("/" + "/".join(f"s{i}" for i in range(26)), Trap.SEGMENTS),
    ("/" + "/".join(str(i) for i in range(26)) + "/", Trap.SEGMENTS),
    ("/" + "x" * 129, Trap.BLOB),
    ("/" + "abc-" * 70, Trap.BLOB),
    ("/?q=" + "aB3" * 50, Trap.BLOB),
    ("/" + "%D0%BF" * 130, Trap.BLOB),
    ("/?" + "&".join(f"p{i}={i}" for i in range(21)), Trap.PARAMETERS),
    ("/?" + "&".join(f"color={i}" for i in range(9)), Trap.PARAMETERS),
    ("/?" + "&".join(f"f[{i}]=x" for i in range(9)), Trap.PARAMETERS),
    ("/?" + "&".join(f"f%5B{i}%5D=x" for i in range(9)), Trap.PARAMETERS),
    ("/calendar/2391/07", Trap.CALENDAR),
    ("/en/calendar/2391/7/", Trap.CALENDAR),
    ("/calendar/1912/07/04", Trap.CALENDAR),
    ("/kalender/2391-07", Trap.CALENDAR),
    ("/calendar/23910715", Trap.CALENDAR),
    ("/Calendar.aspx/2040/01", Trap.CALENDAR),
    ("/events/2391-07/", Trap.CALENDAR),
    ("/events/1923-05-01", Trap.CALENDAR),
    ("/events/?tribe-bar-date=1923-05-01", Trap.CALENDAR),
    ("/day/2040/05/17", Trap.CALENDAR),
    ("/2391/07/15/", Trap.CALENDAR),
    ("/blog/2391-07-15.html", Trap.CALENDAR),
    ("/index.php?month=7&year=2391", Trap.CALENDAR),
    ("/index.php?m=7&y=2391", Trap.CALENDAR),
    ("/index.php?cal_month=7&cal_year=12391", Trap.CALENDAR),
    ("/calendar?year=2391", Trap.CALENDAR),
    ("/calendar?year=1912&month=7", Trap.CALENDAR),
    ("/list?date=2391-07-15T00:00", Trap.CALENDAR),
    ("/list?date=23910715", Trap.CALENDAR),
    ("/list?month=2391-07", Trap.CALENDAR),
    ("/(S(lit3py55t21z5v55vlm25s55))/page.aspx", Trap.SESSION),
    ("/app/(X(1)S(lit3py55t21z5v55vlm25s55))/page.aspx", Trap.SESSION),
    ("/page?mysession=0123456789abcdef01234567", Trap.SESSION),
    ("/page?shopsid=r2t5uvjq435r4q7ib3vtdjq120&x=1", Trap.SESSION),
]


def url_of(text: str) -> Url:
    return canonicalise(text, "https://example.com/")


@pytest.mark.parametrize("text", LEGITIMATE)
def test_what_people_publish_is_no_trap(text):
    assert trap_of(canonicalise(text), LIMITS) is None
    assert not is_file(canonicalise(text), CONFIG.skip_extensions)


def test_the_list_of_real_urls_is_long_enough():
    assert len(set(LEGITIMATE)) >= 60


@pytest.mark.parametrize(("text", "trap"), TRAPS)
def test_traps(text, trap):
    assert trap_of(url_of(text), LIMITS) is trap


@pytest.mark.parametrize("text", [text for text, _ in TRAPS])
def test_every_rule_can_be_switched_off(text):
    assert trap_of(url_of(text), OFF) is None


@pytest.mark.parametrize(
    ("rule", "limit", "last", "first"),
    [
        ("segments", 3, "/a/b/c/", "/a/b/c/d"),
        ("repeats", 2, "/a/b/c/a/b", "/x/a/b/a/b"),
        ("same_segment", 2, "/a/b/c", "/a/b/a"),
        ("segment_bytes", 10, "/0123-56789", "/0123-567891"),
        ("segment_bytes", 10, "/" + "%D0%BF" * 5, "/" + "%D0%BF" * 6),
        ("token_length", 8, "/01234567/12345678", "/012345678"),
        ("parameters", 2, "/?a=1&b=2", "/?a=1&b=2&c=3"),
        ("same_parameter", 2, "/?a=1&a=2&b=3", "/?a=1&a=2&a=3"),
        ("years_past", 10, "/calendar/2016/01", "/calendar/2015/12"),
        ("years_future", 2, "/2028/12/31/", "/2029/01/01/"),
    ],
)
def test_a_limit_is_the_last_that_passes(rule, limit, last, first):
    limits = replace(OFF, **{rule: limit})
    assert trap_of(url_of(last), limits) is None
    assert trap_of(url_of(first), limits) is not None


@given(
    path=st.text(max_size=80)
    | st.lists(
        st.sampled_from(
            ["/", "a", "b", "0", "calendar", "2391", "-07", "?", "&", "=", "year", "month", "sid", "(S(", "))", "%",
             "%5B", "[", ".", "x" * 200, "²", "٣٣٣٣"]
        ),
        max_size=30,
    ).map("".join),
    limits=st.sampled_from([LIMITS, OFF]),
)  # fmt: skip
@example(path="", limits=LIMITS)
def test_never_raises(path, limits):
    for text in (f"http://h/{path}", path):
        url = Url(text, "h")
        assert trap_of(url, limits) in [None, *Trap]
        assert is_file(url, {"zip"}) in (True, False)


def test_a_long_url_is_judged_as_fast_as_it_is_long():
    """Each of these would take a backtracking rule seconds."""
    for part in ("a/", "a/b/", "/calendar/2391/07", "sid", "&sess", "(S(", "2391-07-", "%5B", "y=2391&"):
        for mark in ("", "?"):
            url = Url(f"http://h/{mark}" + part * (2000 // len(part)), "h")
            for _ in range(200):
                trap_of(url, LIMITS)


def test_the_frontier_knows_every_trap():
    for trap in Trap:
        assert Drop(trap) in EXPLANATIONS


# --- Files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["/a.zip", "/b/photo.JPG", "/x.y/report.pdf?download=1", "/v1.2.tar.gz", "/movie.mp4#t=3", "/..zip"]
)
def test_files_are_known_by_their_name(text):
    assert is_file(url_of(text), CONFIG.skip_extensions)
    assert not is_file(url_of(text), frozenset())


@pytest.mark.parametrize("text", ["https://example.zip/", "/zip", "/a.zip/", "/a?file=b.zip", "/a.zip.html", "/Vue.js"])
def test_other_names(text):
    assert not is_file(canonicalise(text, "https://example.com/"), CONFIG.skip_extensions)


@pytest.mark.parametrize(
    ("header", "media"),
    [
        ("text/html", "text/html"),
        (" Text/HTML ;charset=x", "text/html"),
        ("", ""),
        ("html", ""),
        (";", ""),
        ("image/png, text/html", "image/png, text/html"),
    ],
)
def test_the_media_type_of_a_header(header, media):
    assert media_type(header) == media


def test_types_may_be_named_by_their_family():
    assert is_allowed_type("text/html", {"text/html"})
    assert is_allowed_type("text/css", {"text/*"})
    assert is_allowed_type("", {"text/html"})
    assert not is_allowed_type("image/png", {"text/*"})
