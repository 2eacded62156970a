"""Where are the tags of XML, however broken? Asked by ``xml``.

A parser of XML must stop at the first fault, and a tenth of all feeds have one: a bare ``&``, ``&nbsp;``, a prefix that
nobody declared. So tags are found as a reader of HTML would, and what does not fit counts for nothing. No entity can be
declared, so that nothing expands and nothing is fetched. Takes linear time for any text.
"""

import html
import re
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from crawler.parsing.nesting import MAX_NESTING

MAX_TAGS = 200_000  # of one document, and other marks; a second's work
_ATTRIBUTES_WITHIN = 20_000  # characters of a tag; what is longer is made to harm

# Each alternative takes all that it looked at, whatever is missing at its end: nothing is looked at twice.
_TOKEN = re.compile(
    r"""
    ([^<]*+)
    (?: <!\[CDATA\[(.*?)(?:\]\]>|\Z)
      | <!--.*?(?:-->|\Z)
      | <\?.*?(?:\?>|\Z)
      | <!(?:[^<>\["']|"[^"]*+"?+|'[^']*+'?+)*+(?:\[.*?(?:\]\s*+>|\Z))?+>?+
      | <(/?)([^\W\d][^\s/<>]*+)((?:[^<>"']|"[^"<]*+"?+|'[^'<]*+'?+)*+)>?+
      | (<)
      | \Z
    )""",
    re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE = re.compile(r"""([^\s=/"'<>]++)(?:\s*+=\s*+(?:"([^"]*+)"?+|'([^']*+)'?+|([^\s"'>]++)))?+""")
_ENTITY = re.compile(r"&(?!(?:lt|gt|quot|apos|amp);)(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?+(?:\s++|<!--.*?-->|<\?.*?\?>|<![A-Za-z][^<>\[]*+(?:\[.*?\]\s*+)?>)*+<([A-Za-z_][^\s/<>]*+)",
    re.DOTALL,
)
_ROOT_WITHIN = 65_536


class Kind(IntEnum):
    TEXT = 0
    CDATA = 1
    START = 2
    END = 3


class Event(NamedTuple):
    kind: Kind
    text: str  # as it is written; of a tag its name
    attributes: str = ""


class TooMuch(Exception):
    """No error: a place to stop reading."""


def find_root(body: bytes) -> str:
    """The name of the outermost element, without its prefix and in lower case."""
    if b"\x00" in body[:4]:  # UTF-16
        body = body[: 2 * _ROOT_WITHIN].replace(b"\x00", b"").lstrip(b"\xff\xfe")
    found = _ROOT.match(body, 0, _ROOT_WITHIN)
    return found[1].rpartition(b":")[2].lower().decode("latin-1") if found else ""


def read_events(text: str) -> Iterator[Event]:
    """Every end has its start; what is open where a document breaks off stays open. Raises TooMuch where it goes beyond
    reason."""
    open_names: list[str] = []
    for number, found in enumerate(_TOKEN.finditer(text)):
        before, cdata, slash, name, attributes, less = found.groups()
        if before or less:
            yield Event(Kind.TEXT, before + (less or ""))
        if cdata:
            yield Event(Kind.CDATA, cdata)
        if number == MAX_TAGS or (name and len(open_names) == MAX_NESTING):
            raise TooMuch
        if name is None:
            continue
        if not slash:
            yield Event(Kind.START, name, attributes)
            if attributes.endswith("/"):
                yield Event(Kind.END, name)
            else:
                open_names.append(name)
        elif name in open_names:
            while True:  # what was left open inside ends with it
                ended = open_names.pop()
                yield Event(Kind.END, ended)
                if ended == name:
                    break


def read_attributes(text: str) -> dict[str, str]:
    """By their names in lower case."""
    found = _ATTRIBUTE.findall(text[:_ATTRIBUTES_WITHIN])
    return {name.lower(): unescape("".join(values)).strip() for name, *values in found}


def unescape(text: str) -> str:
    """Also the entities of HTML, which many feeds use; but only whole ones: ``?a=1&copy=2`` is an address."""
    if "&" not in text:
        return text
    text = _ENTITY.sub(_decode, text)
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&apos;", "'")
    return text.replace("&amp;", "&")


def _decode(entity: re.Match[str]) -> str:
    text = html.unescape(entity[0])
    return "&amp;" if text == "&" else text


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
