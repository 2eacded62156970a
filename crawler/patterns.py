"""Which URLs does the person who crawls want, and which not? ``INCLUDE`` and ``EXCLUDE``: regular expressions, found
anywhere in the canonical URL unless they begin with ``^`` or end with ``$``.

They are RE2's (https://github.com/google/re2/wiki/Syntax): what a pattern costs grows with the length of the URL and
with nothing else, so that no pattern and no page together can stop a worker. Look-around and back-references, which no
engine can do in linear time, are therefore refused, when a crawl starts and not in the middle of it.
"""

import re
from collections.abc import Iterable, Sequence

import re2

from crawler.errors import ConfigurationError

_BEYOND_RE2 = {
    "(?=": "look-ahead",
    "(?!": "look-ahead",
    "(?<": "look-behind",
    "\\Z": "\\Z",
    **{f"\\{digit}": "a back-reference" for digit in range(1, 10)},
}
_ADVICE = "two patterns, one in INCLUDE and one in EXCLUDE, often say the same"


class Patterns:
    """At least one. Finds any of them in one pass over the URL."""

    def __init__(self, setting: str, patterns: Sequence[str]) -> None:
        """``setting`` is named in messages. Raises ConfigurationError."""
        for pattern in patterns:
            _compile(setting, pattern)
        self._search = _compile(setting, "|".join(f"(?:{pattern})" for pattern in patterns)).search

    def find(self, text: str) -> bool:
        return self._search(text) is not None


def read_patterns(setting: str, value: object) -> tuple[str, ...]:
    """Of a list, or of a text with white space between them, since a URL has none. Raises ConfigurationError."""
    given = value.split() if isinstance(value, str) else value
    if not isinstance(given, Iterable) or not all(isinstance(pattern, str) for pattern in given):
        raise ConfigurationError(f'{setting} is {value!r}; it must be a list of regular expressions, as ["/docs/"]')
    patterns = tuple(given)
    for pattern in patterns:
        if not pattern or set(pattern) & set(" \t\r\n\f\v"):
            raise ConfigurationError(
                f"{setting}: the pattern {pattern!r} can match no URL: it is empty, or has a space in it; "
                "write %20 for a space, and separate patterns by spaces or as a list"
            )
    if patterns:
        Patterns(setting, patterns)
    return patterns


def _compile(setting: str, pattern: str) -> "re2._Regexp":
    options = re2.Options()
    options.log_errors = False  # it would write to standard error by itself
    options.never_capture = True
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ConfigurationError(_explain(setting, pattern, error)) from None
    except UnicodeEncodeError:
        raise ConfigurationError(f"{setting}: the pattern {pattern!r} is not text that can be encoded") from None


def _explain(setting: str, pattern: str, error: Exception) -> str:
    said = error.args[0] if error.args else ""
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    what, _, part = text.partition(": ")
    beyond = next((word for begin, word in _BEYOND_RE2.items() if part.startswith(begin)), "")
    advice = f"{beyond} is not supported; {_ADVICE}" if beyond else "correct it, or escape it with \\"
    return f"{setting}: the pattern {pattern!r:.200} cannot be used: {what}{_where(pattern, part)}; {advice}"


def _where(pattern: str, part: str) -> str:
    """RE2 names the part that is wrong; when that is all of the pattern, Python's own engine may know the place."""
    if part and part != pattern:
        return f" at character {pattern.find(part) + 1}, {part!r:.50}" if part in pattern else f", {part!r:.50}"
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        position = getattr(error, "pos", None)
        return "" if position is None else f" at character {position + 1}"
    return ""
