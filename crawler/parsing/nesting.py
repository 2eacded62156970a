"""Which tags of a page are too many for a tree of it? Asked before lexbor parses, by ``html`` and ``xml``.

Elements can be nested without end; and elements that only say how words look are made anew in every block after the one
in which they were left open, so that a page of 20 kB has a tree of a gigabyte. Tags that go too far are left out, and
what stands between them is read all the same.
"""

from collections.abc import Iterable
from itertools import islice

from crawler.parsing.formatting import ELEMENT_BYTES, FORMATTING, MAX_LINK_BYTES, OpenFormatting
from crawler.parsing.open_elements import DO_NOT_NEST, DRAWINGS, ITEMS, OpenElements, ends_drawing
from crawler.parsing.tags import Tag, count_attributes, find_tags, read_tags

# Lexbor looks through all open elements at every tag: 20,000 nested ones take it seven seconds. Browsers stop at 512.
MAX_NESTING = 512
# Comments among them. The largest pages written for readers, whole standards, have 400,000. A body of 10 MiB of <p>x
# takes 200 MB with this limit, and 860 MB without.
MAX_TAGS = 500_000
# The same standards have as many of these. Each takes 230 bytes, and two in the page: 10 MiB of them took 1.2 GB.
MAX_ATTRIBUTES = 1_000_000
_LARGE_BYTES = 1 << 20  # in a smaller body there are not so many of either
_MAX_NESTING_WITH_RAW = 2 * MAX_NESTING  # scripts and the like cannot be left out
_MOST_BYTES = 1 << 27  # of memory for elements made anew: as much as the largest pages take without them
_HONEST_TIMES = 40  # the length of a piece: more than its elements made anew take where nobody means harm
_FEW_TAGS = 2000  # so few cost at most a tenth of a second, however they are nested

# What is in them is no text of the page, and must not become one. None of them holds another.
_RAW = frozenset(b"iframe noembed noframes plaintext script style textarea title xmp".split())
_COMMENT = b""
_SPECIAL = {_COMMENT, *DO_NOT_NEST, *ITEMS, *FORMATTING, *_RAW, *DRAWINGS}

# What stands in the place of a tag. The first is no tag, so that "<" before it and "b>" after it do not become one.
_NOTHING = b"</>"
_LINE_END = b"<br>"  # which ends a drawing, as the tag itself would
_CUT = b""  # and nothing after it


def limit_nesting(text: bytes, *, pieces: int = 1) -> tuple[bytes, bool]:
    """The text without tags that go too far, and whether it had to be cut off, for what cannot be left out.

    ``pieces`` are those of one document, which have together what one page has of elements made anew; and in any case
    what honest ones need. There is a tree of one piece at a time, so that each may have as many tags as a page.
    """
    most_bytes = max(_MOST_BYTES // pieces, _HONEST_TIMES * len(text)) if pieces > 1 else _MOST_BYTES
    first_too_many = _find_first_too_many(text) if len(text) > _LARGE_BYTES else None
    count = text.count(b"<")
    # At worst one half of the tags, with all the attributes that there are, is made anew at each of the other half.
    is_small = count <= _FEW_TAGS and count * (ELEMENT_BYTES // 4 * count + len(text) // 2) <= most_bytes
    if is_small and first_too_many is None:
        return text, False
    excess = _Reader().find_excess(islice(read_tags(text), first_too_many), most_bytes)
    if first_too_many is not None:
        excess[first_too_many] = _CUT
    if not excess:
        return text, False
    kept: list[bytes] = []
    end = 0
    for number, tag in enumerate(find_tags(text)):
        instead = excess.get(number)
        if instead is not None:
            kept += text[end : tag.start()], instead
            end = tag.end()
            if instead == _CUT:
                return b"".join(kept), True
    return b"".join([*kept, text[end:]]), False


def _find_first_too_many(text: bytes) -> int | None:
    """The number of the tag from which on there are more tags, or more attributes, than a tree may have."""
    attributes = 0
    for number, tag in enumerate(find_tags(text)):
        attributes += count_attributes(tag[3], MAX_ATTRIBUTES + 1) if tag[3] else 0
        if number == MAX_TAGS or attributes > MAX_ATTRIBUTES:
            return number
    return None


class _Reader:
    """Of one page."""

    def __init__(self) -> None:
        self._elements = OpenElements()
        self._formatting = OpenFormatting()

    def find_excess(self, tags: Iterable[Tag], most_bytes: int) -> dict[int, bytes]:
        """The numbers of tags to be left out, and what stands in their place."""
        excess: dict[int, bytes] = {}
        bytes_anew = 0
        elements, formatting = self._elements, self._formatting
        open_names, islands = elements.names, elements.islands
        for number, (slash, name, attributes, closed, cdata) in enumerate(tags):
            if formatting.bytes_each:
                bytes_anew += formatting.bytes_each
                if bytes_anew > most_bytes:
                    excess[number] = _CUT
                    break
            name = name.lower()
            if islands or name in _SPECIAL:
                instead = self._read(slash, name, attributes, closed, cdata)
                if instead is not None:
                    excess[number] = instead
                    if instead == _CUT:
                        break
            # Most tags. ``_read`` would do the same with them, in more time.
            elif slash:
                if open_names and open_names[-1] == name:
                    open_names.pop()
                else:
                    elements.close(name)
            elif len(open_names) < MAX_NESTING:
                open_names.append(name)
            else:
                excess[number] = _LINE_END
        return excess

    def _read(self, slash: bytes, name: bytes, attributes: bytes, closed: bytes, cdata: bytes) -> bytes | None:
        """What stands in the place of a tag, where it is not the tag itself."""
        elements, formatting = self._elements, self._formatting
        if name == _COMMENT:
            return _NOTHING if cdata and elements.islands else None  # there it does not end with the next ">"
        is_formatting = name in FORMATTING
        if is_formatting and not slash and not formatting.has_room(attributes):
            return _NOTHING
        if elements.islands and elements.is_in_drawing():  # most pages have no islands at all
            if not ends_drawing(slash, name, attributes):
                return self._read_in_drawing(slash, name, closed)
            elements.end_drawing()
        if name == b"a":
            return self._read_link(slash, attributes)
        if name in DO_NOT_NEST or (closed and not slash and name in DRAWINGS):
            return None
        if slash:
            if is_formatting and elements.names[-1:] == [name]:
                formatting.close(name)
            elements.close(name)
            return None
        if len(elements.names) >= MAX_NESTING and name not in _RAW:
            return _LINE_END
        if is_formatting:
            formatting.open(name, attributes)
        elements.open(name)
        return _CUT if len(elements.names) > _MAX_NESTING_WITH_RAW else None

    def _read_in_drawing(self, slash: bytes, name: bytes, closed: bytes) -> bytes | None:
        if slash:
            self._elements.close_in_drawing(name)
        elif not closed:
            if len(self._elements.names) >= MAX_NESTING:
                return _NOTHING
            self._elements.open_in_drawing(name)
        return None

    def _read_link(self, slash: bytes, attributes: bytes) -> bytes | None:
        if len(attributes) > MAX_LINK_BYTES:
            return _NOTHING
        depth = len(self._elements.names)
        if slash:
            self._formatting.close_link(depth)
        else:
            self._formatting.open_link(attributes, depth)
        return None
