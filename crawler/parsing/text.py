"""What does a reader of a page see? Its visible text line by line, its headings, and what its links are called.

Lexbor writes the tree out again: that is regular markup, whatever the page was, in which ``<`` and ``>`` stand for tags
alone. So one pass over the tags is enough, and takes linear time for any page.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

from crawler.parsing.elements import HAVE_NO_END, INLINE, KINDS, RAW, REPLACED, ROLES, ZONES, Kind, Zone

MAX_TEXT_LENGTH = 1_000_000
MAX_HEADINGS = 200
MAX_HEADING_LENGTH = 300
MAX_ANCHORS = 10_000
MAX_ANCHOR_LENGTH = 100
MAX_ALTS = 10  # of the images in one link
_MAX_TIMES = 5
_WINDOW = 200_000  # characters of markup whose tags are in memory at a time
_PERMALINK = "¶"  # which documentation shows beside a heading that is pointed at

_TAG = re.compile(r"([^<]*+)<([^ >]++)([^>]*+)>")
_MAY_HIDE = (' hidden="', "display:", "display :", "DISPLAY:")  # capitals: as old browsers wrote what scripts had set
_FEW_HIDDEN = 50
# A space or the end follows an attribute: a value that looks like another attribute does not pass for one.
_HIDES = re.compile(
    r' (?:hidden="(?!until-found)[^"]*+|style="(?:[^";]*+;)*?\s*+display\s*+:\s*+none\s*+(?:[!;][^"]*+)?+)"(?= |$)',
    re.IGNORECASE,
)
# React sends what was slow at the end of a page, in elements that its script moves to their places.
_COMES_LATE = re.compile(r' id="S:[0-9a-f]++"')
_HREF = re.compile(r' href="([^"]++)"(?= |$)')
_ALT = re.compile(r' alt="([^"]++)"')
_OTHER_NAME = re.compile(r' (?:aria-label|title)="([^"]++)"')
_DATETIME = re.compile(r' datetime="([^"]{4,64})"')
_ROLE = re.compile(r' role="([a-z]++)"', re.IGNORECASE)
# Where a word may be broken, in the middle of it; and byte-order marks that files brought with them.
_INVISIBLE = str.maketrans("", "", "\xad\u200b\u2060\ufeff")
_RARE_SPACES = "\v\x1c\x1d\x1e\x1f"  # as Python sees it; looked for once a page, and not in every line


@dataclass(slots=True)
class Text:
    lines: list[str] = field(default_factory=list)
    link_lengths: list[int] = field(default_factory=list)  # for each line: how much of it is links
    zones: list[Zone] = field(default_factory=list)  # for each line: where it stands
    headings: list[str] = field(default_factory=list)
    heading_lines: set[int] = field(default_factory=set)
    anchors: dict[str, str] = field(default_factory=dict)  # what links are called, by their href
    times: list[str] = field(default_factory=list)  # <time datetime> within the content
    is_cut: bool = False

    def __str__(self) -> str:
        return "\n".join(self.lines)


def read_text(html: str) -> Text:
    """``html`` is what lexbor wrote of a body."""
    html = RAW.sub("", html)
    html = strip_invisible(html)
    for space in _RARE_SPACES:
        html = html.replace(space, " ")
    may_hide = list(islice(_find_hiding(html), _FEW_HIDDEN))
    # An inline element that is hidden must not lose its tags.
    if len(may_hide) < _FEW_HIDDEN and not any(INLINE.match(html, html.rfind("<", 0, at)) for at in may_hide):
        html = INLINE.sub("", html)
    reader = _Reader()
    reader.read(html, bool(may_hide))
    return reader.text


def strip_invisible(text: str) -> str:
    if "\xad" in text or "\u200b" in text or "\ufeff" in text or "\u2060" in text:
        return text.translate(_INVISIBLE)
    return text


def _find_hiding(html: str) -> Iterator[int]:
    for mark in _MAY_HIDE:
        at = html.find(mark)
        while at >= 0:
            yield at
            at = html.find(mark, at + 1)


def _is_hidden(name: str, attributes: str) -> bool:
    # A body that is hidden waits for a script to show it.
    if name in HAVE_NO_END or name == "body" or not _HIDES.search(attributes):
        return False
    return not _COMES_LATE.search(attributes)


def unescape(text: str) -> str:
    """Of what lexbor escapes; its own output has no other entities."""
    if "&" not in text:
        return text
    text = text.replace("&nbsp;", " ").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
    return text.replace("&amp;", "&")


def _tidy(text: str) -> str:
    """Unescaped, and with one space where there are any."""
    text = unescape(text).replace("\n", " ")
    # Most texts are tidy now, and to see that costs a sixth of taking them apart and putting them together again.
    if "  " in text or "\t" in text or "\r" in text or "\f" in text or not text.isascii():
        return " ".join(text.split())
    return text.strip(" ")


def _tags(html: str) -> Iterator[tuple[str, str, str]]:
    """The text before a tag, its name, its attributes."""
    return chain.from_iterable(_TAG.findall(html, *window) for window in _windows(html))


def _windows(html: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(html):
        end = html.find(">", start + _WINDOW) + 1 or len(html)
        yield start, end
        start = end


def _read_href(attributes: str) -> str:
    """Of a link. One within the page leads nowhere else, and needs no name."""
    href = _HREF.search(attributes)
    return unescape(href[1]).strip() if href and href[1][0] != "#" else ""


def _skip(tags: Iterator[tuple[str, str, str]], name: str) -> None:
    """To the end of an element that is open."""
    depth = 1
    name_end = f"/{name}"
    for _, other, _ in tags:
        if other == name:
            depth += 1
        elif other == name_end:
            depth -= 1
            if not depth:
                return


class _Link(NamedTuple):
    """An open one. ``line`` and ``piece`` say where it began: how many lines there were, and pieces of its line."""

    href: str
    attributes: str
    line: int
    piece: int
    alts: list[str]  # of the images in it


class _Reader:
    def __init__(self) -> None:
        self.text = Text()
        self._pieces: list[str] = []  # of the line that is being read
        self._length = 0
        self._link_length = 0
        self._links: list[_Link] = []  # that are open
        self._heading_at = -1  # the line that the open heading began with
        self._zone = Zone.UNKNOWN
        # The element that made the zone, and how many of its name are open. Markup is balanced: no other name counts.
        self._zone_name = self._zone_end = ""
        self._zone_depth = 0
        self._outer_zones: list[tuple[Zone, str, int]] = []

    def read(self, html: str, may_hide: bool) -> None:
        pieces, links, lines = self._pieces, self._links, self.text.lines
        find_kind, block, link, link_end = KINDS.get, Kind.BLOCK, Kind.LINK, Kind.LINK_END
        tags = _tags(html)
        for before, name, attributes in tags:
            if before and (pieces or not before.isspace()):  # a line does not begin with the space between two tags
                pieces.append(before)
                if links:
                    self._link_length += len(before)
            kind = find_kind(name)
            if may_hide and attributes and _is_hidden(name, attributes):
                _skip(tags, name)
            elif kind is None:
                continue
            elif kind is block:
                if pieces:
                    self._end_line()
                if name == self._zone_name:
                    self._zone_depth += 1
                elif name == self._zone_end:
                    self._leave_zone()
                elif attributes and " role=" in attributes and (role := _ROLE.search(attributes)):
                    self._enter_zone(name, ROLES.get(role[1].lower(), Zone.UNKNOWN))
            elif kind is link:
                links.append(_Link(_read_href(attributes), attributes, len(lines), len(pieces), []))
            elif kind is link_end:
                if links:
                    self._close_link(links.pop())
            else:
                self._read_special(kind, name, attributes, tags)
            if self._length > MAX_TEXT_LENGTH:
                self.text.is_cut = True
                break
        self._end_line()

    def _read_special(self, kind: Kind, name: str, attributes: str, tags: Iterator[tuple[str, str, str]]) -> None:
        if kind is Kind.GAP:
            self._pieces.append(" ")
        elif kind is Kind.IMAGE:
            self._pieces.append(" ")
            if self._links and (alt := _ALT.search(attributes)):
                alts = self._links[-1].alts
                if len(alts) < MAX_ALTS:
                    alts.append(alt[1])
        elif kind is Kind.HEADING:
            self._end_line()
            self._heading_at = len(self.text.lines)
        elif kind is Kind.HEADING_END:
            self._end_line()
            self._end_heading()
        elif kind is Kind.UNSEEN:
            if name == "dialog" and " open=" in attributes:
                self._end_line()
                return
            _skip(tags, name)
            if name in REPLACED:
                self._pieces.append(" ")
        elif kind is Kind.ZONE:
            self._end_line()
            if name == self._zone_name:
                self._zone_depth += 1
            elif name != "header" or self._zone is not Zone.CONTENT:  # an article's header has its title
                self._enter_zone(name, ZONES[name])
        elif self._zone is Zone.CONTENT and len(self.text.times) < _MAX_TIMES:  # of a time
            self.text.times.extend(_DATETIME.findall(attributes)[:1])

    # --- Lines -------------------------------------------------------------------------------

    def _end_line(self) -> None:
        pieces = self._pieces
        line = pieces[0] if len(pieces) == 1 else "".join(pieces)
        pieces.clear()
        if line and (line := _tidy(line)):
            text = self.text
            line = line[: MAX_TEXT_LENGTH - self._length]
            self._length += len(line) + 1
            text.lines.append(line)
            text.link_lengths.append(self._link_length)
            text.zones.append(self._zone)
        self._link_length = 0

    def _end_heading(self) -> None:
        text = self.text
        if 0 <= self._heading_at < len(text.lines):
            text.heading_lines.update(range(self._heading_at, len(text.lines)))
            # The headings of a menu say nothing about the page.
            if self._zone is not Zone.BOILERPLATE and len(text.headings) < MAX_HEADINGS:
                heading = " ".join(
                    line[:MAX_HEADING_LENGTH] for line in text.lines[self._heading_at : self._heading_at + 10]
                )
                text.headings.append(heading[:MAX_HEADING_LENGTH])
        self._heading_at = -1

    def _close_link(self, link: _Link) -> None:
        lines, pieces = self.text.lines, self._pieces
        is_one_line = link.line == len(lines)
        first = link.piece if is_one_line else 0
        is_one_piece = len(pieces) == first + 1
        if is_one_piece and pieces[first] == _PERMALINK:
            pieces.pop()
            is_one_piece = False
        anchors = self.text.anchors
        if not link.href or link.href in anchors or len(anchors) >= MAX_ANCHORS:
            return
        if is_one_line and is_one_piece:
            name = _tidy(pieces[first][:1000])
        else:
            # Enough for the longest anchor, and a bound: links may hold each other, and all of the page.
            words = [piece[:1000] for piece in pieces[first : first + 50]]
            if not is_one_line:
                words = [*(f"{line[:1000]} " for line in lines[link.line : link.line + 10]), *words]
            name = _tidy("".join(words))
        if link.alts:
            alt = _tidy(" ".join(link.alts)[:1000])
            name = name if alt in name else f"{alt} {name}".rstrip()
        elif not name and (other := _OTHER_NAME.search(link.attributes)):
            name = _tidy(other[1][:1000])
        if name:
            anchors[link.href] = name[:MAX_ANCHOR_LENGTH].rstrip()

    # --- Zones -------------------------------------------------------------------------------

    def _enter_zone(self, name: str, zone: Zone) -> None:
        """Of elements that are open: what is in a menu is a menu, whatever it calls itself."""
        if zone is not Zone.UNKNOWN and self._zone is not Zone.BOILERPLATE:
            self._outer_zones.append((self._zone, self._zone_name, self._zone_depth))
            self._zone, self._zone_name, self._zone_end, self._zone_depth = zone, name, f"/{name}", 1

    def _leave_zone(self) -> None:
        self._zone_depth -= 1
        if not self._zone_depth:
            self._zone, self._zone_name, self._zone_depth = self._outer_zones.pop()
            self._zone_end = f"/{self._zone_name}" if self._zone_name else ""
