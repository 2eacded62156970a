"""Which rule of a group decides about a path?

The longest pattern that matches, and of two equally long ones the one that allows. Called for every page, so a group
is compiled once: patterns without wildcards, nearly all of them, are found by bisection, and only the others are tried
one by one, as Protego's patterns. Their matching never goes back, however many stars a pattern has.

Nothing but these paths and patterns is compared, and there are two ways to spell them. Google compares what is written,
and tells its users to escape URLs first; RFC 9309 section 2.2.2 says how: what has no need of an escape is compared
without it. ``spell_path`` and ``spell_pattern`` do that, and ``rules`` asks for both.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

# Not public. A test holds it equal to a plain reading of the RFC, and requirements.txt holds the version.
from protego._urlpattern import _URLPattern


class Decision(NamedTuple):
    allowed: bool
    line_number: int | None = None  # of the line in robots.txt that decided; None when no line says anything
    line: str | None = None


class _Match(NamedTuple):
    rank: int  # longer before shorter, then allow before disallow, then the first line: one number that says it all
    decision: Decision


_NO_MATCH = _Match(-1, Decision(True))


class _Wild(NamedTuple):
    rank: int
    literal: str  # the longest text that a path must have to match at all: one fast look rules out most patterns
    matches: Callable[[str], bool]
    decision: Decision


class Matcher:
    """The patterns of one group. ``find`` answers with the decision of the highest rank."""

    def __init__(self, rules: Iterable[tuple[str, Decision]]) -> None:
        prefixes: dict[str, _Match] = {}
        self._whole: dict[str, _Match] = {}
        wild: dict[str, _Match] = {}
        for pattern, decision in rules:
            if not pattern.startswith(("/", "*")):  # every path begins with a slash
                continue
            rank = ((len(pattern) * 2 + decision.allowed) << 32) - (decision.line_number or 0)
            match = _Match(rank, decision)
            text = pattern.rstrip("*")  # stars at the end change what a pattern weighs, not what it matches
            if "*" in text:
                _keep_best(wild, pattern, match)
            elif text.endswith("$") and text == pattern:
                _keep_best(self._whole, text[:-1], match)
            else:
                _keep_best(prefixes, text, match)
        self._compile_prefixes(prefixes)
        self._wild = sorted((_compile_wild(*item) for item in wild.items()), key=lambda rule: -rule.rank)

    def find(self, path: str) -> Decision:
        best = self._whole.get(path, _NO_MATCH)
        # Whatever is a prefix of the path is also one of its neighbour in the order, or is that neighbour.
        index = bisect_right(self._prefixes, path) - 1
        while index >= 0:
            if path.startswith(self._prefixes[index]):
                match = self._matches[index]
                if match.rank > best.rank:
                    best = match
                break
            index = self._parents[index]
        lowest, decision = best
        for rank, literal, matches, wild_decision in self._wild:
            if rank < lowest:
                break
            if literal in path and matches(path):
                return wild_decision
        return decision

    def _compile_prefixes(self, prefixes: dict[str, _Match]) -> None:
        self._prefixes = sorted(prefixes)
        self._parents: list[int] = []  # for each: the longest other one that is a prefix of it, or -1
        self._matches: list[_Match] = []  # for each: the best match among it and its parents
        parent = -1
        for index, prefix in enumerate(self._prefixes):
            while parent >= 0 and not prefix.startswith(self._prefixes[parent]):
                parent = self._parents[parent]
            match = prefixes[prefix]
            if parent >= 0 and self._matches[parent].rank > match.rank:
                match = self._matches[parent]
            self._parents.append(parent)
            self._matches.append(match)
            parent = index


def _keep_best(kept: dict[str, _Match], key: str, match: _Match) -> None:
    if key not in kept or match.rank > kept[key].rank:
        kept[key] = match


def _compile_wild(pattern: str, match: _Match) -> _Wild:
    literal = max(pattern.removesuffix("$").split("*"), key=len)
    return _Wild(match.rank, literal, _URLPattern(pattern).match, match.decision)


# --- Spelling ----------------------------------------------------------------------------------

_PLAIN_URL = re.compile(r"https?://[^/?;#]*+(/[A-Za-z0-9\-._~:/?\[\]@!&'()+,;=]*+)")
_PLAIN_PATTERN = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!&'()+,;=*]*+\$?")
_BEGINNING_OF_PATH = re.compile(r"[/?;]")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_NOT_PLAIN = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~:/?#\[\]@!&'()+,;=%]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def spell_url(url: str) -> tuple[str, str]:
    """The path of a URL with its query: as it is written, and as RFC 9309 spells it. Mostly one and the same object."""
    plain = _PLAIN_URL.fullmatch(url)
    if plain:
        path: str = plain[1]
        return path, path
    path = _ESCAPE.sub(_raise, find_path(url))
    spelled = spell_path(path)
    return path, path if path == spelled else spelled


def find_path(url: str) -> str:
    """Path, parameters and query, as Google takes them from whatever is called a URL: "/" when there are none."""
    start = 2 if url.startswith("//") else 0
    scheme_end = url.find("://", start)
    begins = _BEGINNING_OF_PATH.search(url, start)
    if scheme_end >= 0 and not (begins and begins.start() < scheme_end):
        begins = _BEGINNING_OF_PATH.search(url, scheme_end + 3)
    if begins is None:
        return "/"
    hash_at = url.find("#", start)
    if 0 <= hash_at < begins.start():
        return "/"
    path = url[begins.start() : hash_at if hash_at >= 0 else len(url)]
    return path if path[0] == "/" else f"/{path}"


def read_pattern(value: bytes) -> str:
    """As Google writes a pattern before it compares: bytes beyond ASCII escaped, all escapes in upper case."""
    text = value.decode("latin-1")
    if not text.isascii():
        text = re.sub(r"[\x80-\xff]", lambda found: f"%{ord(found[0]):02X}", text)
    return _ESCAPE.sub(_raise, text) if "%" in text else text


def spell_path(path: str) -> str:
    return _NOT_PLAIN.sub(_spell, path)


def spell_pattern(pattern: str) -> str:
    """A "$" at the end and every "*" keep their meaning; elsewhere "$" is a character, escaped as in a path."""
    if _PLAIN_PATTERN.fullmatch(pattern):
        return pattern
    body, anchor = (pattern[:-1], "$") if pattern.endswith("$") else (pattern, "")
    return "*".join(map(spell_path, body.split("*"))) + anchor


def _raise(escape: re.Match[str]) -> str:
    return escape[0].upper()


def _spell(found: re.Match[str]) -> str:
    text = found[0]
    if len(text) == 3:
        character = chr(int(text[1:], 16))
        return character if character in _UNRESERVED else text.upper()
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))
