"""Does this URL look like one of endlessly many that a server makes up? The scope asks, for every link.

Judged by the text of the URL alone, and meant to be right about real sites first: what is dropped here is never seen by
anybody. So the limits are far from what people publish, and most traps end a little later than they could.

- *Repetition*, ``/a/b/a/b/a/b``: a relative link on a page that answers under any path.
- *Segments*, *parameters*, *blobs*: more, or longer, than people name things.
- *Calendars*: every month leads to the next. A date far in the future is a trap wherever it is certainly a date; one
  far in the past only in something that calls itself a calendar, because archives are old.
- *Sessions* that the canonical form (``urls.py``) cannot take out: in the path as ASP.NET has it, where the server
  would only make up another one, or in a parameter of a name that nobody knows.

What only shows over time, one page with ever more queries, is ``frontier/queries.py``'s question.
"""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from crawler.urls import Url


class Trap(StrEnum):
    """The frontier drops links for these reasons by the same names."""

    REPETITION = "trap_repetition"
    SEGMENTS = "trap_segments"
    PARAMETERS = "trap_parameters"
    BLOB = "trap_blob"
    CALENDAR = "trap_calendar"
    SESSION = "trap_session"


@dataclass(frozen=True, slots=True)
class TrapLimits:
    """0 switches a rule off. The defaults stand in ``settings.py``."""

    segments: int
    repeats: int
    same_segment: int
    segment_bytes: int
    token_length: int
    parameters: int
    same_parameter: int
    years_past: int
    years_future: int
    sessions: bool
    this_year: int = date.today().year  # a crawl over New Year's Eve is off by one, and none the worse for it


def trap_of(url: Url, limits: TrapLimits) -> Trap | None:
    """Called for every link: a plain URL costs about a microsecond. Each rule begins with a look that is cheap."""
    text = url.text
    path, _, query = text.partition("?")
    slashes = path.count("/") - 2  # those of http:// are not of the path
    if slashes >= limits.repeats or slashes > limits.segments or slashes >= limits.same_segment:
        trap = _judge_segments(path, limits)
        if trap:
            return trap
    length = len(text)
    if (length > limits.token_length or length > limits.segment_bytes) and _has_blob(text, path, limits):
        return Trap.BLOB
    if limits.sessions and "/(" in path and _SESSION_SEGMENT.search(path):
        return Trap.SESSION
    if query and (trap := _judge_query(query, limits)):
        return trap
    if _FOUR_DIGITS.search(text, 8) and _is_far_date(path, query, limits):
        return Trap.CALENDAR
    return None


# --- Segments --------------------------------------------------------------------------------


def _judge_segments(path: str, limits: TrapLimits) -> Trap | None:
    segments = path.split("/")[3:]
    number = len(segments)
    if 0 < limits.segments < number - (not segments[-1]):
        return Trap.SEGMENTS
    if len(set(segments)) == number:
        return None
    if 0 < limits.repeats <= number and _repeats(segments, limits.repeats):
        return Trap.REPETITION
    if 0 < limits.same_segment <= number:
        names = Counter(name for name in segments if name and not name.isdecimal())
        if names and max(names.values()) >= limits.same_segment:
            return Trap.REPETITION
    return None


def _repeats(segments: list[str], times: int) -> bool:
    """Whether a run of segments stands there so often, one after the other. Numbers may repeat: /0/0/0, /1/1/1."""
    number = len(segments)
    for period in range(1, number // times + 1):
        needed = period * (times - 1)
        equal = 0
        for i in range(number - period):
            equal = equal + 1 if segments[i] == segments[i + period] else 0
            if equal == needed:
                run = segments[i + 1 : i + 1 + period]
                if any(name and not name.isdecimal() for name in run):
                    return True
                equal -= 1
    return False


# --- Blobs and sessions ----------------------------------------------------------------------

_SESSION_SEGMENT = re.compile(r"/\((?:[A-Z]\([^()/]*+\))+\)(?:/|$)")  # ASP.NET without cookies: /(S(lit3py55t21z5v55))/
_TOKEN = re.compile(r"(?=[0-9]*+[A-Za-z])(?=[A-Za-z]*+[0-9])[A-Za-z0-9]{24,}+")
_NO_WORD = re.compile(r"[^A-Za-z0-9]+")


def _has_blob(text: str, path: str, limits: TrapLimits) -> bool:
    if 0 < limits.token_length < len(text) and max(map(len, _NO_WORD.split(text))) > limits.token_length:
        return True
    # As bytes: a letter of most scripts is six or nine characters of a URL.
    return 0 < limits.segment_bytes < len(path) and any(
        len(name) - 2 * name.count("%") > limits.segment_bytes for name in path.split("/")[3:]
    )


def _has_session(query: str) -> bool:
    for part in query.split("&"):
        name, _, value = part.partition("=")
        name = name.lower()
        if ("sess" in name or name.endswith("sid")) and _TOKEN.fullmatch(value):
            return True
    return False


# --- Parameters ------------------------------------------------------------------------------


def _judge_query(query: str, limits: TrapLimits) -> Trap | None:
    number = query.count("&") + 1
    if 0 < limits.parameters < number:
        return Trap.PARAMETERS
    if 0 < limits.same_parameter < number:
        # f[0]=…&f[1]=… is one parameter, as those mean it who write it so.
        names = Counter(part.partition("=")[0].partition("%5B")[0].partition("[")[0] for part in query.split("&"))
        if max(names.values()) > limits.same_parameter:
            return Trap.PARAMETERS
    if limits.sessions and len(query) > 24 and _has_session(query):
        return Trap.SESSION
    return None


# --- Calendars -------------------------------------------------------------------------------

_FOUR_DIGITS = re.compile(r"[/=-][0-9]{4}")  # what every date below begins with
_CALENDAR = re.compile(
    r"/(?:(calendars?|cal|kalender|calendrier|calendario|agenda|month|week|day)|events?)(?:\.[a-z]+)?(?:/|$)",
    re.IGNORECASE,
)
_MONTH = r"(?:0?[1-9]|1[0-2])"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_MM = r"(?:0[1-9]|1[0-2])"
_DD = r"(?:0[1-9]|[12][0-9]|3[01])"
_PATH_DAY = re.compile(rf"/([0-9]{{4}})([-/]){_MM}\2{_DD}(?=[/.]|$)")  # certainly a date, wherever it stands
_CALENDAR_DATE = re.compile(rf"/([0-9]{{4}})(?:[-/]{_MONTH}(?:[-/]{_DAY})?|{_MM}{_DD})(?=[/.]|$)")
_EVENTS_DATE = re.compile(rf"/([0-9]{{4}})-{_MM}(?:-{_DD})?/?$")
_VALUE_DAY = re.compile(rf"([0-9]{{4}})-{_MONTH}-{_DAY}(?![0-9])")
_VALUE_SHORT = re.compile(rf"([0-9]{{4}})(?:-{_MONTH}|{_MM}{_DD})")
_YEAR_NAMES = frozenset({"y", "yr", "jahr", "annee", "ano"})
_MONTH_NAMES = frozenset({"m", "mon", "monat", "mois", "mes"})
_DATE_WORDS = ("date", "day", "month", "cal")
_NEVER = 1_000_000


def _is_far_date(path: str, query: str, limits: TrapLimits) -> bool:
    latest = limits.this_year + limits.years_future if limits.years_future else _NEVER
    in_query, perhaps = _query_years(query) if query else ([], [])
    if any(year > latest for year in in_query):
        return True
    day = _PATH_DAY.search(path, 8)
    if day and int(day[1]) > latest:
        return True
    calendar = _CALENDAR.search(path)
    if calendar is None:
        return False
    earliest = limits.this_year - limits.years_past if limits.years_past else 0
    years = in_query + perhaps + _calendar_years(path, calendar[1] is not None)
    return any(not earliest <= year <= latest for year in years)


def _calendar_years(path: str, is_calendar: bool) -> list[int]:
    """Else it is a list of events, where /events/1234/12 may be an event, and /events/1969-08-15/woodstock is one."""
    if is_calendar:
        return [int(year) for year in _CALENDAR_DATE.findall(path, 8)]
    return [int(year) for year in _EVENTS_DATE.findall(path, 8)]


def _query_years(query: str) -> tuple[list[int], list[int]]:
    """Years of what is certainly a date, and those that are if this is a calendar."""
    certain: list[int] = []
    years: list[int] = []
    has_month = False
    for part in query.split("&"):
        name, _, value = part.partition("=")
        name = name.lower()
        if name in _MONTH_NAMES or "month" in name:
            has_month = True
        if not value[:4].isdecimal():
            continue
        if (name in _YEAR_NAMES or "year" in name) and len(value) < 6 and value.isdecimal():
            years.append(int(value))
        elif match := _VALUE_DAY.match(value) or (_is_date_name(name) and _VALUE_SHORT.fullmatch(value)) or None:
            certain.append(int(match[1]))
    # A year alone may be of a car or a wine.
    return (certain + years, []) if has_month else (certain, years)


def _is_date_name(name: str) -> bool:
    return any(word in name for word in _DATE_WORDS)
