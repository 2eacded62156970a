"""Which statements does a page make in JSON-LD? Those that can be read, as plain objects, within bounds.

What is broken, or larger or deeper than any honest page has it, is left out: it is a bonus, never a reason to lose a
page.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from selectolax.lexbor import LexborNode

MAX_BYTES = 200_000  # of all scripts of a page
MAX_DEPTH = 20
MAX_OBJECTS = 100

# Line ends within strings are an error in JSON, and common; between them they are spaces anyway.
_CONTROLS = re.compile(r"[\x00-\x1f]+")
# Nothing before it is looked for but where it begins: spaces without end would be looked through from each of them.
_WRAPPING = re.compile(r"<!--|(?://|/\*)\s*+<!\[CDATA\[\s*+(?:\*/)?+|(?:-->|(?://|/\*)\s*+\]\]>\s*+(?:\*/)?+)\s*+;?+$")
_LAST_COMMA = re.compile(r",(\s*+[}\]])")


def read_json_ld(scripts: Iterable[LexborNode]) -> list[dict[str, Any]]:
    """Objects of all scripts in their order; those in a list or in an ``@graph`` one by one."""
    objects: list[dict[str, Any]] = []
    left = MAX_BYTES
    for script in scripts:
        text = script.text()
        left -= len(text)
        if left < 0 or len(objects) >= MAX_OBJECTS:
            break
        objects.extend(_flatten(_decode(text)))
    return objects[:MAX_OBJECTS]


def _decode(text: str) -> Any:
    text = _CONTROLS.sub(" ", text).strip(" \ufeff;")
    if text[:1] not in ("{", "["):
        text = _WRAPPING.sub("", text)
    value = _try(text)
    if value is None:  # a comma too many is what people leave behind most
        value = _try(_LAST_COMMA.sub(r"\1", text))
    is_shallow = text.count("{") + text.count("[") <= MAX_DEPTH
    return value if is_shallow or _is_within(value, MAX_DEPTH) else None


def _try(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):  # DecodeError and surrogates are ValueErrors
        return None


def _is_within(value: Any, depth: int) -> bool:
    """Whether it is nested no deeper. Goes level by level, so that no depth is too much for it."""
    level = [value]
    for _ in range(depth + 1):
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below.extend(one.values())
            elif isinstance(one, list):
                below.extend(one)
        if not below:
            return True
        level = below
    return False


def _flatten(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for one in value:
            yield from _flatten(one)  # no deeper than MAX_DEPTH
    elif isinstance(value, dict):
        graph = value.get("@graph")
        if isinstance(graph, list | dict):
            yield from _flatten(graph)
        else:
            yield value
