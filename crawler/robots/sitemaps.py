"""Which pages does a sitemap name?

Sitemaps and their indexes (sitemaps.org), RSS and Atom feeds, and plain lists of URLs; each also as gzip. A body is
read piece by piece, so that memory stays flat whatever it unpacks to, and up to the first thing that is wrong with it:
``trouble`` then says what, and what came before is kept. Declared entities are refused: nothing expands, nothing is
fetched. Called by whoever seeds a host from its robots.txt.
"""

import codecs
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from xml.parsers import expat

from crawler.robots.dates import read_date
from crawler.urls import MAX_URL_LENGTH

MAX_DECODED_BYTES = 50 * 1024 * 1024  # both limits are those of sitemaps.org
MAX_URLS = 50_000
PIECE_BYTES = 64 * 1024
# Expat holds a tag or comment whole in memory, and before 2.6 reads it anew with every piece: quadratic.
MAX_TOKEN_BYTES = 1024 * 1024
MAX_GZIP_MEMBERS = 1000
MAX_NESTING = 100  # expat keeps what is open: 8 MB of "<a>" took it 336 MB
MAX_NAMES = 1000  # of elements and attributes; expat and its Python part keep every one
MAX_ELEMENTS = 1_000_000  # more than 50 MB of honest entries have, and a second's work


class SitemapPage(NamedTuple):
    url: str
    lastmod: datetime | None = None
    priority: float | None = None


@dataclass(slots=True)
class Sitemap:
    pages: list[SitemapPage] = field(default_factory=list)
    children: list[str] = field(default_factory=list)  # the sitemaps that an index names
    trouble: str | None = None  # why it was not read to its end; None when it was


class _Cut(Exception):
    """No error: a place to stop reading. Never leaves this module."""


def read_sitemap(body: bytes) -> Sitemap:
    """Never raises. URLs are as written, not yet canonical; what is no http or https URL is left out.

    The largest that are allowed take a second or two: not on an event loop.
    """
    sitemap = Sitemap()
    try:
        _read(_unpack(body), sitemap)
    except _Cut as cut:
        sitemap.trouble = str(cut)
    except zlib.error as error:
        sitemap.trouble = f"broken gzip: {error}"
    except expat.ExpatError as error:
        sitemap.trouble = f"broken XML: {error}"
    return sitemap


def _read(pieces: Iterator[bytes], sitemap: Sitemap) -> None:
    beginning = b""
    for piece in pieces:
        beginning = (beginning + piece).removeprefix(codecs.BOM_UTF8).lstrip()  # XML allows nothing before itself
        if len(beginning) >= 4:
            break
    if not beginning:
        raise _Cut("it is empty")
    is_utf16 = beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    is_xml = b"<" in beginning[2:4] if is_utf16 else beginning.startswith(b"<")
    reader: _XmlReader | _TextReader = (
        _XmlReader(sitemap, _find_encoding(beginning, is_utf16))
        if is_xml
        else _TextReader(sitemap, "utf-16" if is_utf16 else "utf-8")
    )
    reader.feed(beginning)
    for piece in pieces:
        reader.feed(piece)
    reader.close()


# --- Unpacking -------------------------------------------------------------------------------


def _unpack(body: bytes) -> Iterator[bytes]:
    """Pieces of at most PIECE_BYTES, and MAX_DECODED_BYTES in all."""
    room = MAX_DECODED_BYTES
    for piece in _gunzip(body) if body.startswith(b"\x1f\x8b") else _slice(body):
        yield piece[:room]
        room -= len(piece)
        if room < 0:
            raise _Cut(f"cut after {MAX_DECODED_BYTES} bytes")


def _slice(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), PIECE_BYTES):
        yield body[start : start + PIECE_BYTES]


def _gunzip(body: bytes) -> Iterator[bytes]:
    members = 1
    member = zlib.decompressobj(wbits=31)
    for packed in _slice(body):
        while packed:
            if member.eof:
                if not packed.startswith(b"\x1f"):  # padding after the end, as tape drives liked it
                    return
                members += 1
                if members > MAX_GZIP_MEMBERS:
                    raise _Cut(f"cut after {MAX_GZIP_MEMBERS} gzip members")
                member = zlib.decompressobj(wbits=31)
            yield member.decompress(packed, PIECE_BYTES)
            packed = member.unused_data if member.eof else member.unconsumed_tail
    while not member.eof:  # what fits into no piece yet
        piece = member.decompress(b"", PIECE_BYTES)
        if not piece:
            raise _Cut("broken gzip: it ends too early")
        yield piece


# --- URLs ------------------------------------------------------------------------------------

_URL = re.compile(rf"https?://[^\s<>\"\x00-\x1f\x7f]{{1,{MAX_URL_LENGTH}}}+", re.IGNORECASE)


def _add(sitemap: Sitemap, page: SitemapPage, is_child: bool = False) -> None:
    if len(page.url) > MAX_URL_LENGTH or not _URL.fullmatch(page.url):
        return
    if len(sitemap.pages) + len(sitemap.children) >= MAX_URLS:
        raise _Cut(f"cut after {MAX_URLS} URLs")
    if is_child:
        sitemap.children.append(page.url)
    else:
        sitemap.pages.append(page)


_LINE = re.compile(r"^[ \t]*+(https?://\S++)[ \t]*+$", re.IGNORECASE | re.MULTILINE)


class _TextReader:
    """One URL a line. Lines that are none are passed over; a file without any is no sitemap."""

    def __init__(self, sitemap: Sitemap, encoding: str) -> None:
        self._sitemap = sitemap
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._rest = ""

    def feed(self, piece: bytes) -> None:
        self._read(self._decoder.decode(piece))

    def close(self) -> None:
        self._read(self._decoder.decode(b"", True) + "\n")
        if not self._sitemap.pages:
            raise _Cut("no URL in it")

    def _read(self, text: str) -> None:
        lines, _, rest = (self._rest + text.replace("\r", "\n")).rpartition("\n")
        for found in _LINE.finditer(lines):
            _add(self._sitemap, SitemapPage(found[1]))
        self._rest = rest[: MAX_URL_LENGTH * 2]  # a longer line is no URL, and its beginning is neither


# --- XML -------------------------------------------------------------------------------------

_ROOTS = frozenset({"urlset", "sitemapindex", "rss", "feed", "RDF"})
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
# Which field of an entry says what; an earlier name is better than a later one.
_URLS = ("loc", "link", "guid")
_DATES = ("lastmod", "updated", "pubDate", "date", "published")
_FIELDS = frozenset({*_URLS, *_DATES, "priority"})


class _XmlReader:
    """Namespaces are not looked at: too many sitemaps have a wrong one. An entry's fields are its direct children, so
    that the ``image:loc`` further inside is no page."""

    def __init__(self, sitemap: Sitemap, encoding: str) -> None:
        self._sitemap = sitemap
        self._depth = 0
        self._elements = 0
        self._entry = ""
        self._entry_depth = 0
        self._fields: dict[str, str] = {}
        self._field = ""
        self._text: list[str] | None = None
        self._text_length = 0
        self._fed_bytes = 0
        self._names: dict[str, str] = {}
        self._parser = parser = expat.ParserCreate(encoding, None, self._names)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text
        parser.EntityDeclHandler = self._refuse_entity

    def feed(self, piece: bytes) -> None:
        self._parser.Parse(piece, False)
        self._fed_bytes += len(piece)
        done_bytes = max(self._parser.CurrentByteIndex, 0) if self._elements else 0  # a DTD counts as one tag
        if self._fed_bytes - done_bytes > MAX_TOKEN_BYTES:
            raise _Cut(f"cut at a tag of more than {MAX_TOKEN_BYTES} bytes")

    def close(self) -> None:
        self._parser.Parse(b"", True)

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise _Cut(f"it declares the entity {name[:50]!r}; entities are refused")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > MAX_NESTING or self._elements > MAX_ELEMENTS or len(self._names) > MAX_NAMES:
            raise _Cut(f"cut after {self._elements} elements, {self._depth} deep, with {len(self._names)} names")
        name = tag.rpartition(":")[2]
        if self._depth == 1:
            if name not in _ROOTS:
                raise _Cut(f"no sitemap: its outermost element is {name[:50]!r}")
        elif not self._entry:
            if self._depth <= 3 and name in _ENTRIES:
                self._entry, self._entry_depth, self._fields = name, self._depth, {}
        elif self._depth == self._entry_depth + 1 and name in _FIELDS:
            href = attributes.get("href")
            if href is None:
                self._field, self._text, self._text_length = name, [], 0
                if name == "guid" and attributes.get("isPermaLink", "true").lower() != "true":
                    self._text = None
            elif self._entry == "entry" and attributes.get("rel", "alternate") == "alternate":  # Atom
                self._fields.setdefault("link", href)

    def _add_text(self, text: str) -> None:
        if self._text is not None and self._text_length <= MAX_URL_LENGTH:
            self._text.append(text[: MAX_URL_LENGTH + 1])
            self._text_length += len(text)

    def _end(self, tag: str) -> None:
        if self._entry and self._depth == self._entry_depth + 1:
            if self._text:
                self._fields.setdefault(self._field, "".join(self._text))
            self._text = None
        elif self._entry and self._depth == self._entry_depth:
            self._add_entry()
            self._entry = ""
        self._depth -= 1

    def _add_entry(self) -> None:
        fields = self._fields
        url = next((fields[name].strip() for name in _URLS if name in fields), "")
        date = next((found for name in _DATES if name in fields and (found := read_date(fields[name]))), None)
        page = SitemapPage(url, date, _read_priority(fields.get("priority", "")))
        _add(self._sitemap, page, is_child=self._entry == "sitemap")


def _find_encoding(beginning: bytes, is_utf16: bool) -> str:
    """Never left to the XML declaration alone: it may name a codec of Python that is not made for text, or lie."""
    if is_utf16:
        return "utf-16"
    declared = re.match(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.-]+)", beginning[:200])
    # Others than these are mostly supersets of ASCII, which is what URLs are written in.
    is_unicode = declared is None or declared[1].lower().startswith((b"utf-8", b"utf8", b"utf-16", b"us-ascii"))
    return "utf-8" if is_unicode else "iso-8859-1"


def _read_priority(text: str) -> float | None:
    try:
        priority = float(text)
    except ValueError:
        return None
    return priority if 0 <= priority <= 1 else None
