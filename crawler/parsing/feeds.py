"""What does a feed say? RSS 0.9 to 2.0 and Atom: its title, and its entries as pieces of HTML. Asked by ``xml``.

What an entry says is HTML as a rule, so that the reader of HTML reads all of it: an entry is written as an article
whose heading is a link. Only the direct children of a feed and of its entries are looked at: the title of a feed's
picture is not that of the feed.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import ada_url

from crawler.parsing.elements import HAVE_NO_END
from crawler.parsing.markup import Event, Kind, TooMuch, escape, read_attributes, unescape

MAX_ENTRIES = 5000
_WORDS_WITHIN = 10_000  # characters of what stands on one line
ROOTS = frozenset({"rss", "feed", "rdf", "channel", "entry"})

# A prefix may be anything, and need not be declared: a known namespace tells what it stands for, else its name does.
_PREFIXES = {
    "http://www.w3.org/2005/atom": "atom", "http://purl.org/atom/ns#": "atom",
    "http://purl.org/rss/1.0/": "rss", "http://my.netscape.com/rdf/simple/0.9/": "rss",
    "http://backend.userland.com/rss2": "rss", "http://purl.org/rss/1.0/modules/content/": "content",
    "http://purl.org/dc/elements/1.1/": "dc", "http://purl.org/dc/terms/": "dcterms",
    "http://search.yahoo.com/mrss/": "media", "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://www.w3.org/1999/xhtml": "xhtml",
}  # fmt: skip
_OWN_PREFIXES = frozenset({"", "atom", "rss"})  # of a feed's own elements; those of others keep theirs
_FEEDS = frozenset({"rss", "channel", "feed"})
_ENTRIES = frozenset({"item", "entry"})
# The first that says something counts.
_TITLES = ("title", "dc:title", "media:title", "itunes:title")
_SUBTITLES = ("description", "subtitle", "tagline", "dc:description", "itunes:summary", "itunes:subtitle")
_CONTENTS = (
    "content:encoded", "content", "xhtml:body", "xhtml:div", "description", "summary", "media:description",
    "itunes:summary", "dc:description",
)  # fmt: skip
_LINKS = ("link", "comments")
_GUIDS = ("guid",)
_LANGUAGES = ("language", "dc:language")
_PUBLISHED = ("published", "pubdate", "issued", "dc:date", "dcterms:issued", "created", "dcterms:created")
_MODIFIED = ("updated", "lastbuilddate", "modified", "dcterms:modified")
_KEYWORDS = ("category", "dc:subject")
_FIELDS = frozenset(
    {*_TITLES, *_SUBTITLES, *_CONTENTS, *_LINKS, *_GUIDS, *_LANGUAGES, *_PUBLISHED, *_MODIFIED, *_KEYWORDS}
)
_DEEPER = frozenset({"media:title", "media:description"})  # in a group, as video sites have it

# Where a link of Atom leads to a page, or to the next part of the feed. Others do not: self, hub, edit, license, …
_LEADING = frozenset({"alternate", "related", "via", "next", "previous", "prev", "prev-archive", "next-archive"})
_PAGE_TYPE = re.compile(r"text/|application/(?:pdf|xml|[a-z]+\+xml)", re.IGNORECASE)  # and no film
_INLINE_TAG = re.compile(
    r"</?(?:abbr|a|big|br|b|cite|code|em|font|img|i|q|small|span|strike|strong|sub|sup|s|tt|u)(?:\s[^<>]*+)?/?>",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Piece:
    """Some HTML, and what its links are relative to."""

    markup: str
    base: str


@dataclass(slots=True)
class Contents:
    title: str = ""
    description: str = ""  # HTML
    lang: str = ""
    keywords: list[str] = field(default_factory=list)
    published: list[str] = field(default_factory=list)  # dates as they are written, the better ones first
    modified: list[str] = field(default_factory=list)
    wishes: list[tuple[str, str]] = field(default_factory=list)  # who is asked, and what for
    pieces: list[Piece] = field(default_factory=list)
    is_cut: bool = False


@dataclass(slots=True)
class _Field:
    name: str
    kind: str  # text, html, xhtml, or a media type
    base: str
    depth: int
    events: list[Event] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(_decode(event) for event in self.events).strip()

    @property
    def words(self) -> str:
        """On one line. Titles have markup in them, and that escaped once more than the rules say."""
        text = self.text[:_WORDS_WITHIN]
        if self.kind in ("html", "text/html"):
            text = unescape(_INLINE_TAG.sub("", text))
        return " ".join(text.split())

    @property
    def markup(self) -> str:
        if any(event.kind is Kind.START for event in self.events):
            return "".join(_write(event, is_html=self.kind != "xhtml") for event in self.events)
        if self.kind in ("text", "text/plain"):
            return escape(self.text)
        return self.text if "html" in self.kind else ""  # a picture, say


def _decode(event: Event) -> str:
    if event.kind is Kind.TEXT:
        return unescape(event.text)
    return event.text if event.kind is Kind.CDATA else ""


def _write(event: Event, *, is_html: bool) -> str:
    """As HTML has it: without prefixes, and elements that are empty end where they begin."""
    if event.kind is Kind.TEXT:
        return event.text
    if event.kind is Kind.CDATA:
        return event.text if is_html else escape(event.text)
    name = event.text.rpartition(":")[2].lower()
    if event.kind is Kind.START:
        return f"<{name}{event.attributes.rstrip('/')}>"
    return "" if name in HAVE_NO_END else f"</{name}>"


@dataclass(slots=True)
class _Part:
    """A feed without its entries, or one of them."""

    fields: list[_Field] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # links to something else than what it is about
    labels: list[str] = field(default_factory=list)

    def find(self, names: Iterable[str]) -> _Field | None:
        return next((one for name in names for one in self.fields if one.name == name and one.events), None)

    def say_all(self, names: Iterable[str]) -> list[str]:
        return [words for name in names for one in self.fields if one.name == name and (words := one.words)]

    def say(self, names: Iterable[str]) -> str:
        return next(iter(self.say_all(names)), "")

    def write(self, zone: str, heading: str, contents: Sequence[str], url: str) -> Piece:
        """The first link has the title's words, and others have none."""
        title, content = escape(self.say(_TITLES)), self.find(contents)
        addresses = self.links or [text for text in self.say_all(_GUIDS) if text.lower().startswith("http")]
        links = [escape(link) for link in dict.fromkeys([*addresses, *self.others])]
        named = f'<a href="{links[0]}">{title}</a>' if links else title
        others = "".join(f'<a href="{link}"></a>' for link in links[1:])
        beginning = f"<{zone}><{heading}>{named}</{heading}>{others}<div>"
        return Piece(beginning + (content.markup if content else ""), content.base if content else url)


class FeedReader:
    def __init__(self, url: str) -> None:
        self._url = url
        self._contents = Contents()
        self._feed = _Part()
        self._entry: _Part | None = None
        self._entry_depth = 0
        self._field: _Field | None = None  # that is being read
        self._usual_kind = "html"  # of a field that does not say which it has
        self._path: list[tuple[str, str]] = []  # of open elements: their names, and what links in them are relative to
        self._prefixes: dict[str, str] = {}

    def read(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.kind is Kind.START:
                self._start(event)
            elif event.kind is Kind.END:
                self._end(event)
            elif self._field:
                self._field.events.append(event)

    def close(self) -> Contents:
        """Also where the reading broke off."""
        if self._field and self._field.name in (*_LINKS, *_GUIDS):  # half an address leads elsewhere
            self._field = None
        self._end_entry()
        contents, feed = self._contents, self._feed
        description = feed.find(_SUBTITLES)
        contents.title = feed.say(_TITLES)
        contents.description = description.markup if description else ""
        contents.lang = contents.lang or feed.say(_LANGUAGES)
        contents.keywords = [*feed.labels, *feed.say_all(_KEYWORDS)]
        contents.published, contents.modified = feed.say_all(_PUBLISHED), feed.say_all(_MODIFIED)
        contents.pieces.insert(0, feed.write("header", "h1", (*_SUBTITLES, *_CONTENTS), self._url))
        return contents

    # --- Elements ----------------------------------------------------------------------------

    def _start(self, event: Event) -> None:
        parent, base = self._path[-1] if self._path else ("", self._url)
        name = self._find_name(event.text)
        if self._field and name not in _ENTRIES:
            self._field.events.append(event)
            self._path.append((name, base))
            return
        attributes = read_attributes(event.attributes) if event.attributes else {}
        if "xmlns:" in event.attributes:
            self._declare(attributes)
            name = self._find_name(event.text)
        if xml_base := attributes.get("xml:base"):
            base = join(base, xml_base)
        if not self._path and name in ("feed", "entry"):
            self._usual_kind = "text"
        if name in _ENTRIES and self._path:
            self._begin_entry()
        elif parent in _FEEDS or parent in _ENTRIES or name in _DEEPER:
            self._begin_field(name, attributes, base)
        if self._entry is None and "xml:lang" in attributes:
            self._contents.lang = self._contents.lang or attributes["xml:lang"]
        self._path.append((name, base))

    def _end(self, event: Event) -> None:
        depth = len(self._path)
        self._path.pop()
        if self._field and depth > self._field.depth:
            self._field.events.append(event)
        elif self._field:
            self._end_field(self._field)
        elif depth == self._entry_depth:
            self._end_entry()

    def _declare(self, attributes: dict[str, str]) -> None:
        for name, value in attributes.items():
            if name.startswith("xmlns:") and (prefix := _PREFIXES.get(value.lower())):
                self._prefixes[name[6:]] = prefix

    def _find_name(self, written: str) -> str:
        prefix, _, name = written.lower().rpartition(":")
        prefix = self._prefixes.get(prefix, prefix)
        return name if prefix in _OWN_PREFIXES else f"{prefix}:{name}"

    def _begin_entry(self) -> None:
        self._end_entry()  # of one whose end was forgotten
        self._entry, self._entry_depth = _Part(), len(self._path) + 1

    def _end_entry(self) -> None:
        if self._field:
            self._end_field(self._field)
        entry, pieces = self._entry, self._contents.pieces
        self._entry = None
        if entry:
            if len(pieces) == MAX_ENTRIES:
                raise TooMuch
            pieces.append(entry.write("article", "h2", _CONTENTS, self._url))

    # --- Fields ------------------------------------------------------------------------------

    def _begin_field(self, name: str, attributes: dict[str, str], base: str) -> None:
        part, media = self._entry or self._feed, attributes.get("type", "")
        if name == "link" and "href" in attributes:
            rel = attributes.get("rel", "alternate").lower()
            if rel in _LEADING or (rel == "enclosure" and _PAGE_TYPE.match(media)):
                (part.links if rel == "alternate" else part.others).append(join(base, attributes["href"]))
        elif name in ("enclosure", "content") and (address := attributes.get("url") or attributes.get("src")):
            if _PAGE_TYPE.match(media):
                part.others.append(join(base, address))
        elif name == "category" and (label := attributes.get("label") or attributes.get("term")):
            part.labels.append(label)
        elif name.endswith("meta") and "name" in attributes:  # of XHTML, with which feeds ask not to be kept
            self._contents.wishes.append((attributes["name"].lower(), attributes.get("content", "")))
        elif name in _FIELDS and (name != "guid" or attributes.get("ispermalink", "true").lower() == "true"):
            self._field = _Field(name, media.lower() or self._usual_kind, base, len(self._path) + 1)

    def _end_field(self, field: _Field) -> None:
        self._field = None
        part = self._entry or self._feed
        if field.name not in _LINKS:
            part.fields.append(field)
        elif text := field.text:
            (part.links if field.name == "link" else part.others).append(join(field.base, text))


def join(base: str, href: str) -> str:
    """What cannot be joined is left as it is, and counted as the bad link that it is."""
    try:
        joined: str = ada_url.join_url(base, href)
    except ValueError:
        return href
    return joined
