"""Which tags of a page are too many for a tree of it? Asked before lexbor parses, by ``html`` and ``xml``.

Elements can be nested without end; and elements that only say how words look are made anew in every block after the one
in which they were left open, so that a page of 20 kB has a tree of a gigabyte. Tags that go too far are left out, and
what stands between them is read all the same.
"""

import re
from collections.abc import Iterable

# Lexbor looks through all open elements at every tag: 20,000 nested ones take it seven seconds. Browsers stop at 512.
MAX_NESTING = 512
MAX_FORMATTING = 3  # open at a time: of those that are alike browsers make no more anew, either
_MAX_FORMATTING_BYTES = 1000  # of the attributes of one
_MAX_LINK_BYTES = 10_000  # the same; no address that is crawled is nearly as long
_MOST_BYTES = 1 << 27  # of elements made anew
_HONEST_TIMES = 40  # their own length
_ELEMENT_BYTES = 450  # of memory, as measured; and its attributes
_FEW_TAGS = 2000  # so few cost at most a tenth of a second, however they are nested
_MANY_TAGS = 50_000

# As the HTML standard reads them: an end tag in a comment or in an attribute's value ends nothing.
_SPACE = rb"(?:[ \t\n\f\r]|/(?!>))"
_VALUE = rb"""(?:"[^"]*+"|'[^']*+'|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+)"""
_NAME = rb"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+"
_IS = rb"(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+" + _VALUE + rb"?+)?+"
_TAG = re.compile(
    rb"<(?:(/?)([A-Za-z][^ \t\n\f\r/>]*+)((?:"
    + _SPACE
    + rb"++|"
    + _NAME
    + _IS
    + rb")*+)(/?)>?|!--(?:-?>|.*?(?:--!?>|\Z))|(?:!(\[CDATA\[)|[!?]|/(?![A-Za-z]))[^>]*+>?)",
    re.DOTALL,
)
_ATTRIBUTES = re.compile(_SPACE + rb"++|(" + _NAME + rb")" + _IS)
# Elements that hold nothing, or end where the next of their kind begins.
_DO_NOT_NEST = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"a p option tr td th thead tbody tfoot".split()
)
# These end where the next of their kind begins, but hold those of another kind; and they end with what holds them.
_ITEMS = {b"li": b"li", b"dt": b"dd", b"dd": b"dd"}
_HOLD_ITEMS = frozenset(b"article aside blockquote center dir div dl footer main menu nav ol section table ul".split())
_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
# What is in them is no text of the page, and must not become one. None of them holds another.
_RAW = frozenset(b"iframe noembed noframes plaintext script style textarea title xmp".split())
# In drawings and formulas the rules are those of XML: <path/> is closed, and an end tag closes all that is in it. There
# are elements in which HTML begins again, and elements of HTML that end the drawing.
_FOREIGN = frozenset({b"svg", b"math"})
_HTML_INSIDE = frozenset(b"foreignobject desc title annotation-xml mi mo mn ms mtext".split())
_END_FOREIGN = frozenset(
    b"b big blockquote body br center code dd div dl dt em embed font h1 h2 h3 h4 h5 h6 head hr i img li listing menu "
    b"meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var".split()
)
_SPECIAL = {b"", *_DO_NOT_NEST, *_ITEMS, *_FORMATTING, *_RAW, *_FOREIGN}


def limit_nesting(text: bytes, *, pieces: int = 1) -> tuple[bytes, bool]:
    """The text without tags that go too far, and whether it had to be cut off, for what cannot be left out. An end tag
    that does not fit counts for nothing, so that no less is counted than lexbor will hold open.

    ``pieces`` are those of one document, which have together what one page has; and in any case what honest ones need.
    """
    most_bytes = max(_MOST_BYTES // pieces, _HONEST_TIMES * len(text)) if pieces > 1 else _MOST_BYTES
    count = text.count(b"<")
    # At worst one half of the tags, with all the attributes that there are, is made anew at each of the other half.
    if count <= _FEW_TAGS and count * (_ELEMENT_BYTES // 4 * count + len(text) // 2) <= most_bytes:
        return text, False
    # All at once is twice as fast, and takes a hundred bytes of memory for each.
    tags = _TAG.findall(text) if count <= _MANY_TAGS else (tag.groups(b"") for tag in _TAG.finditer(text))
    excess = _find_excess(tags, most_bytes)
    if not excess:
        return text, False
    kept: list[bytes] = []
    end = 0
    for number, tag in enumerate(_TAG.finditer(text)):
        instead = excess.get(number)
        if instead is not None:
            kept += text[end : tag.start()], instead
            end = tag.end()
            if instead == _CUT:
                return b"".join(kept), True
    return b"".join([*kept, text[end:]]), False


# No tag, so that "<" before it and "b>" after it do not become one.
_NOTHING = b"</>"
_LINE_END = b"<br>"
_CUT = b""


def _find_excess(tags: Iterable[tuple[bytes, ...]], most_bytes: int) -> dict[int, bytes]:
    """The numbers of tags to be left out, and what stands in their place."""
    excess: dict[int, bytes] = {}
    open_tags: list[bytes] = []
    islands: list[int] = []  # where among them a drawing begins, or HTML inside of one: foreign and HTML in turn
    formatting: list[tuple[bytes, int]] = []  # that is open, and the bytes that it takes to make it anew
    link_bytes = link_depth = 0  # of the link that is open, which is made anew as well
    bytes_each = bytes_anew = 0  # at the next tag; at all of them
    for number, (slash, name, attributes, closed, cdata) in enumerate(tags):
        if bytes_each:
            bytes_anew += bytes_each
            if bytes_anew > most_bytes:
                excess[number] = _CUT
                break
        name = name.lower()
        if not islands and name not in _SPECIAL:  # most tags; the rest would do the same with them, in more time
            if not slash:
                if len(open_tags) < MAX_NESTING:
                    open_tags.append(name)
                else:
                    excess[number] = _LINE_END
            elif open_tags and open_tags[-1] == name:
                open_tags.pop()
            else:
                _close(name, open_tags, islands)
            continue
        if not name:
            if cdata and islands:  # there it does not end with the next ">", elsewhere it does
                excess[number] = _NOTHING
            continue
        is_opened = not slash and name in _FORMATTING
        if is_opened and (len(formatting) >= MAX_FORMATTING or len(attributes) > _MAX_FORMATTING_BYTES):
            excess[number] = _NOTHING
            continue
        if len(islands) % 2 and name in _END_FOREIGN and _ends_foreign(slash, name, attributes):
            del open_tags[islands.pop() :]
        is_foreign = len(islands) % 2 == 1
        if name in _DO_NOT_NEST and not is_foreign:
            if name == b"a":
                if len(attributes) > _MAX_LINK_BYTES:
                    excess[number] = _NOTHING
                    continue
                bytes_each -= link_bytes
                if not slash:
                    link_depth = link_depth if link_bytes else len(open_tags)
                    link_bytes = max(link_bytes, _ELEMENT_BYTES + len(attributes))
                elif link_depth == len(open_tags):  # else it may be in a cell, and end no link that is outside
                    link_bytes = 0
                bytes_each += link_bytes
        elif slash:
            if name in _FORMATTING and not is_foreign and open_tags[-1:] == [name]:
                bytes_each -= _end_formatting(name, formatting)
            _close(name, open_tags, islands)
        elif not (closed and (is_foreign or name in _FOREIGN)):
            if len(open_tags) >= MAX_NESTING and (is_foreign or name not in _RAW):
                excess[number] = _NOTHING if is_foreign else _LINE_END  # which ends a drawing as the tag itself would
                continue
            if is_opened and not is_foreign:
                formatting.append((name, _ELEMENT_BYTES + len(attributes)))
                bytes_each += formatting[-1][1]
            elif name in (_HTML_INSIDE if is_foreign else _FOREIGN):
                islands.append(len(open_tags))
            name = _ITEMS.get(name, name)
            if name not in (b"li", b"dd") or open_tags[-1:] != [name]:
                open_tags.append(name)
            if len(open_tags) > 2 * MAX_NESTING:
                excess[number] = _CUT
                break
    return excess


def _ends_foreign(slash: bytes, name: bytes, attributes: bytes) -> bool:
    if slash:
        return name in (b"p", b"br")
    if name != b"font":
        return True
    return not {b"color", b"face", b"size"}.isdisjoint(map(bytes.lower, _ATTRIBUTES.findall(attributes)))


def _end_formatting(name: bytes, formatting: list[tuple[bytes, int]]) -> int:
    """How many bytes less each tag may cost from here on."""
    for at in reversed(range(len(formatting))):
        if formatting[at][0] == name:
            return formatting.pop(at)[1]
    return 0


def _close(name: bytes, open_tags: list[bytes], islands: list[int]) -> None:
    if len(islands) % 2 and name in open_tags[islands[-1] :]:
        while open_tags.pop() != name:
            pass
    elif open_tags and open_tags[-1] == _ITEMS.get(name, name):
        open_tags.pop()
    elif name in _HOLD_ITEMS and open_tags[-2:-1] == [name] and open_tags[-1] in _ITEMS:
        del open_tags[-2:]
    while islands and islands[-1] >= len(open_tags):
        islands.pop()
