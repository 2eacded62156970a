"""Where are the tags of a page? Asked by ``nesting``.

As the HTML standard reads them (13.2.5): an end tag in a comment or in an attribute's value ends nothing.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

# "/" of an end tag, the name, the attributes, "/" of a tag that closes itself, "[CDATA[". Of a comment all are empty.
Tag = tuple[bytes, ...]

_MANY_TAGS = 50_000

# Each part takes all that it can, and gives nothing back: so it takes linear time for any page.
_PARTS = {
    b"space": rb"(?:[ \t\n\f\r]|/(?!>))",
    b"name": rb"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+",
    b"value": rb"""(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+(?:"[^"]*+"|'[^']*+'|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+)?+)?+""",
}
_TAG = re.compile(
    rb"""
    < (?:
        (/?) ([A-Za-z][^ \t\n\f\r/>]*+) ( (?: %(space)b++ | %(name)b %(value)b )*+ ) (/?) >?
      | !-- (?: -?> | .*? (?: --!?> | \Z ) )
      | (?: !(\[CDATA\[) | [!?] | /(?![A-Za-z]) ) [^>]*+ >?
    )"""
    % _PARTS,
    re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE = re.compile(rb"%(space)b++ | (%(name)b) %(value)b" % _PARTS, re.VERBOSE)


def find_tags(text: bytes) -> Iterator[re.Match[bytes]]:
    """The same tags as ``read_tags``, with their places."""
    return _TAG.finditer(text)


def read_tags(text: bytes) -> Iterable[Tag]:
    # All at once is twice as fast, and takes a hundred bytes of memory for each.
    if text.count(b"<") <= _MANY_TAGS:
        return _TAG.findall(text)
    return (tag.groups(b"") for tag in _TAG.finditer(text))


def count_attributes(attributes: bytes, most: int) -> int:
    """No further than to ``most``."""
    names = (found for found in _ATTRIBUTE.finditer(attributes) if found[1])  # what is between them has none
    return sum(1 for _ in islice(names, most))


def read_names(attributes: bytes) -> set[bytes]:
    """Of the attributes, in lower case."""
    return {name.lower() for name in _ATTRIBUTE.findall(attributes)}
