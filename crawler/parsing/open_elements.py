"""Which elements are open at a tag? Asked by ``nesting``, which has no tree to look at.

This is the stack of open elements of the HTML standard (13.2.4.2), without those that cannot make a tree deep. An end
tag that does not fit counts for nothing, so that no less is counted than lexbor will hold open.
"""

from crawler.parsing.tags import read_names

# Elements that hold nothing, or end where the next of their kind begins.
DO_NOT_NEST = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"a p option tr td th thead tbody tfoot".split()
)
# These end where the next of their kind begins, but hold those of another kind; and they end with what holds them.
ITEMS = {b"li": b"li", b"dt": b"dd", b"dd": b"dd"}
_HOLD_ITEMS = frozenset(b"article aside blockquote center dir div dl footer main menu nav ol section table ul".split())
# In drawings and formulas the rules are those of XML (13.2.6.5): <path/> is closed, and an end tag closes all that is
# in it. There are elements in which HTML begins again, and elements of HTML that end the drawing.
DRAWINGS = frozenset({b"svg", b"math"})
_HTML_INSIDE = frozenset(b"foreignobject desc title annotation-xml mi mo mn ms mtext".split())
_END_DRAWINGS = frozenset(
    b"b big blockquote body br center code dd div dl dt em embed font h1 h2 h3 h4 h5 h6 head hr i img li listing menu "
    b"meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var".split()
)
_FONT_OF_HTML = frozenset({b"color", b"face", b"size"})  # drawings have <font> as well, with other attributes


class OpenElements:
    """Both lists may be looked at from outside, and ``names`` be changed there as long as there are no ``islands``."""

    def __init__(self) -> None:
        self.names: list[bytes] = []
        # Where among them a drawing begins, or HTML inside of one: XML's rules hold and do not hold, in turn.
        self.islands: list[int] = []

    def is_in_drawing(self) -> bool:
        return len(self.islands) % 2 == 1

    def open(self, name: bytes) -> None:
        item = ITEMS.get(name)
        if item:
            if self.names[-1:] != [item]:
                self.names.append(item)
            return
        if name in DRAWINGS:
            self.islands.append(len(self.names))
        self.names.append(name)

    def close(self, name: bytes) -> None:
        names = self.names
        if names and names[-1] == ITEMS.get(name, name):
            names.pop()
        elif name in _HOLD_ITEMS and names[-2:-1] == [name] and names[-1] in ITEMS:
            del names[-2:]
        if self.islands:
            self._leave_island()

    def open_in_drawing(self, name: bytes) -> None:
        if name in _HTML_INSIDE:
            self.islands.append(len(self.names))
        self.names.append(name)

    def close_in_drawing(self, name: bytes) -> None:
        if name in self.names[self.islands[-1] :]:
            while self.names.pop() != name:
                pass
            self._leave_island()

    def end_drawing(self) -> None:
        del self.names[self.islands.pop() :]

    def _leave_island(self) -> None:
        if self.islands[-1] == len(self.names):
            self.islands.pop()


def ends_drawing(slash: bytes, name: bytes, attributes: bytes) -> bool:
    """Whether a tag within it is one of HTML, and what follows as well."""
    if name not in _END_DRAWINGS:
        return False
    if slash:
        return name in (b"p", b"br")
    return name != b"font" or not _FONT_OF_HTML.isdisjoint(read_names(attributes))
