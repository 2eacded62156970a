"""What does each element do to the text around it? Ends the line, parts two words, is not shown at all; or nothing.

Names are as in a tag that lexbor wrote: ``p`` and ``/p``. Asked by ``text``.
"""

import re
from enum import IntEnum


class Kind(IntEnum):
    BLOCK = 0  # stands on lines of its own
    GAP = 1  # on the line, but apart from its neighbours
    HEADING = 2
    HEADING_END = 3
    LINK = 4
    LINK_END = 5
    IMAGE = 6
    UNSEEN = 7
    ZONE = 8  # a block that says what it is for
    TIME = 9


class Zone(IntEnum):
    """Where on the page something stands."""

    UNKNOWN = 0
    CONTENT = 1
    HEADER = 2
    BOILERPLATE = 3


_BLOCKS = """
    address blockquote body br caption center dd details dir div dl dt fieldset figcaption figure form frameset h4 h5 h6
    hgroup hr html legend li listing menu ol optgroup p pre search section summary table tbody tfoot thead tr ul
"""
_HEADINGS = "h1 h2 h3"  # of the levels that say what a page is about
_GAPS = "td th button input option meter progress embed"
# Shown as something else than text.
_REPLACED = "svg textarea select object video audio canvas"
# Search engines read closed <details>, and so do we. What has aria-hidden is on the screen, and read.
_UNSEEN = "template noscript head title datalist rp annotation annotation-xml"

ZONES = {
    "main": Zone.CONTENT,
    "article": Zone.CONTENT,
    "header": Zone.HEADER,
    "nav": Zone.BOILERPLATE,
    "aside": Zone.BOILERPLATE,
    "footer": Zone.BOILERPLATE,
}
ROLES = {
    "main": Zone.CONTENT,
    "banner": Zone.HEADER,
    "navigation": Zone.BOILERPLATE,
    "complementary": Zone.BOILERPLATE,
    "contentinfo": Zone.BOILERPLATE,
    "search": Zone.BOILERPLATE,
}

REPLACED = frozenset(_REPLACED.split())
KINDS: dict[str, Kind] = {
    **dict.fromkeys(_BLOCKS.split(), Kind.BLOCK),
    **dict.fromkeys(_GAPS.split(), Kind.GAP),
    **dict.fromkeys(ZONES, Kind.BLOCK),
}
KINDS |= {f"/{name}": kind for name, kind in KINDS.items()}
KINDS |= {
    **dict.fromkeys(ZONES, Kind.ZONE),
    **dict.fromkeys(_HEADINGS.split(), Kind.HEADING),
    **dict.fromkeys([f"/{name}" for name in _HEADINGS.split()], Kind.HEADING_END),
    **dict.fromkeys([*_UNSEEN.split(), *REPLACED], Kind.UNSEEN),
    "a": Kind.LINK,
    "/a": Kind.LINK_END,
    "img": Kind.IMAGE,
    "time": Kind.TIME,
    "dialog": Kind.UNSEEN,  # unless it is open
    "/dialog": Kind.BLOCK,
}

_HAVE_NO_END = "area base br col embed frame hr img input link meta param source track wbr"
HAVE_NO_END = frozenset(_HAVE_NO_END.split())

# Part of the line that they are in, whatever they do to its looks. ``text`` takes them out beforehand, which halves the
# number of tags.
_INLINE = """
    abbr b bdi bdo big cite code data del dfn em font i ins kbd label mark q rb rt ruby s samp small span strike strong
    sub sup tt u var wbr
"""
INLINE = re.compile(rf"</?(?:{'|'.join(_INLINE.split())})(?: [^>]*+)?>")
# What is between these is not markup.
RAW = re.compile(
    r"<(?:!--.*?(?:-->|\Z)|(script|style|xmp|iframe|noembed|noframes|plaintext)[ >].*?(?:</\1>|\Z))", re.DOTALL
)
