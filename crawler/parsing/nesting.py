"""Up to where can a page be read, when its elements are nested without end? Asked by ``page`` before lexbor parses."""

import re
from collections.abc import Iterable
from itertools import islice

# Lexbor looks through all open elements at every tag: 20,000 nested ones take it seven seconds. Browsers stop at 512.
MAX_NESTING = 512
_FEW_TAGS = 2000  # so few cost at most a tenth of a second, however they are nested
_MANY_TAGS = 50_000

# As the HTML standard reads them: an end tag in a comment or in an attribute's value ends nothing.
_SPACE = rb"(?:[ \t\n\f\r]|/(?!>))"
_VALUE = rb"""(?:"[^"]*+"|'[^']*+'|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+)"""
_ATTRIBUTE = rb"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+" + _VALUE + rb"?+)?+"
_TAG = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<[!?][^>]*+|<(/?)([A-Za-z][^ \t\n\f\r/>]*+)(?:"
    + _SPACE
    + rb"++|"
    + _ATTRIBUTE
    + rb")*+(/?)",
    re.DOTALL,
)
# Elements that hold nothing, or end where the next of their kind begins.
_DO_NOT_NEST = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"a p li dt dd option tr td th thead tbody tfoot".split()
)
# In drawings and formulas the rules are those of XML: <path/> is closed, and an end tag closes all that is in it. There
# are elements in which HTML begins again, and elements of HTML that end the drawing.
_FOREIGN = frozenset({b"svg", b"math"})
_HTML_INSIDE = frozenset(b"foreignobject desc title annotation-xml mi mo mn ms mtext".split())
_END_FOREIGN = frozenset(
    b"b big blockquote body br center code dd div dl dt em embed font h1 h2 h3 h4 h5 h6 head hr i img li listing menu "
    b"meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var".split()
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
    islands: list[int] = []  # where among them a drawing begins, or HTML inside of one: foreign and HTML in turn
    for number, (slash, name, closed) in enumerate(tags):
        if not name:
            continue
        name = name.lower()
        if len(islands) % 2 and name in _END_FOREIGN and (not slash or name in (b"p", b"br")):
            del open_tags[islands.pop() :]
        is_foreign = len(islands) % 2 == 1
        if name in _DO_NOT_NEST and not is_foreign:
            continue
        if slash:
            _close(name, open_tags, islands)
        elif not (closed and (is_foreign or name in _FOREIGN)):
            if name in (_HTML_INSIDE if is_foreign else _FOREIGN):
                islands.append(len(open_tags))
            open_tags.append(name)
            if len(open_tags) > MAX_NESTING:
                return number
    return None


def _close(name: bytes, open_tags: list[bytes], islands: list[int]) -> None:
    if len(islands) % 2 and name in open_tags[islands[-1] :]:
        while open_tags.pop() != name:
            pass
    elif open_tags and open_tags[-1] == name:
        open_tags.pop()
    while islands and islands[-1] >= len(open_tags):
        islands.pop()
