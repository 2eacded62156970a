"""What does formatting cost that is left open? Asked by ``nesting``.

Elements that only say how words look, and links, are made anew in every block after the one in which they were left
open: the HTML standard has a list of them (13.2.4.3), and all of it is opened again at the next text or tag.
"""

# Of elements that are alike browsers make no more than three anew, either.
_MAX_FORMATTING = 3  # open at a time
_MAX_FORMATTING_BYTES = 1000  # of the attributes of one, which are made anew with it
MAX_LINK_BYTES = 10_000  # the same; no address that is crawled is nearly as long
ELEMENT_BYTES = 450  # of memory, as measured; and its attributes

FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())


class OpenFormatting:
    """The list, as far as it costs anything. Each link ends the one before, so that there is one at a time."""

    def __init__(self) -> None:
        self.bytes_each = 0  # of memory, at most, at each tag from here on
        self._elements: list[tuple[bytes, int]] = []  # names, and their parts of it
        self._link_bytes = 0
        self._link_depth = 0

    def has_room(self, attributes: bytes) -> bool:
        return len(self._elements) < _MAX_FORMATTING and len(attributes) <= _MAX_FORMATTING_BYTES

    def open(self, name: bytes, attributes: bytes) -> None:
        cost_bytes = ELEMENT_BYTES + len(attributes)
        self._elements.append((name, cost_bytes))
        self.bytes_each += cost_bytes

    def close(self, name: bytes) -> None:
        for at in reversed(range(len(self._elements))):
            if self._elements[at][0] == name:
                self.bytes_each -= self._elements.pop(at)[1]
                break

    def open_link(self, attributes: bytes, depth: int) -> None:
        if not self._link_bytes:
            self._link_depth = depth
        cost_bytes = ELEMENT_BYTES + len(attributes)
        # In a cell it ends none that is outside: that one comes back behind the table, and the larger counts.
        if cost_bytes > self._link_bytes:
            self.bytes_each += cost_bytes - self._link_bytes
            self._link_bytes = cost_bytes

    def close_link(self, depth: int) -> None:
        if depth == self._link_depth:  # else it may be in a cell, too
            self.bytes_each -= self._link_bytes
            self._link_bytes = 0
