"""Up to where can a page be read, when its elements are nested without end? Asked by ``page`` before lexbor parses."""

import re
from collections.abc import Iterable
from itertools import islice

# Lexbor looks through all open elements at every tag: 20,000 nested ones take it seven seconds. Browsers stop at 512.
MAX_NESTING = 512
_FEW_TAGS = 2000  # so few cost at most a tenth of a second, however they are nested
_MANY_TAGS = 50_000

# As the HTML standard reads them: an end tag in a comment or in an attribute's value ends nothing.
_SPACE = rb"[ \t\n\f\r/]"
_VALUE = rb"""(?:"[^"]*+"|'[^']*+'|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+)"""
_ATTRIBUTE = rb"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+" + _VALUE + rb"?+)?+"
_TAG = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<[!?][^>]*+|<(/?)([A-Za-z][^ \t\n\f\r/>]*+)(?:"
    + _SPACE
    + rb"++|"
    + _ATTRIBUTE
    + rb")*+",
    re.DOTALL,
)
# Elements that hold nothing, or end where the next of their kind begins.
_DO_NOT_NEST = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"a p li dt dd option tr td th thead tbody tfoot".split()
)


def cut_nesting(text: bytes) -> bytes:
    """The text up to where it is nested too deep. An end tag that does not fit counts for nothing, so that no less is
    counted than lexbor will hold open; markup that is merely untidy stays far below the limit."""
    count = text.count(b"<")
    if count <= _FEW_TAGS:
        return text
    # All at once is twice as fast, and takes a hundred bytes of memory for each.
    tags = _TAG.findall(text) if count <= _MANY_TAGS else (tag.groups(b"") for tag in _TAG.finditer(text))
    number = _find_too_deep(tags)
    if number is None:
        return text
    return text[: next(islice(_TAG.finditer(text), number, None)).start()]


def _find_too_deep(tags: Iterable[tuple[bytes, ...]]) -> int | None:
    """The number of the first tag that is."""
    open_tags: list[bytes] = []
    for number, (slash, name) in enumerate(tags):
        if not name:
            continue
        name = name.lower()
        if name in _DO_NOT_NEST:
            continue
        if not slash:
            open_tags.append(name)
            if len(open_tags) > MAX_NESTING:
                return number
        elif open_tags and open_tags[-1] == name:
            open_tags.pop()
    return None
