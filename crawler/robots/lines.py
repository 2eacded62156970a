"""Which directives does a robots.txt have, line by line?

Protego reads lines more freely than Google's parser: it splits them at characters that only Unicode calls a line end,
keeps bytes after a NUL, takes "user agent foo bar" without a colon. Site owners test their files with Google, so lines
are read here as Google reads them. Called by ``rules`` only.
"""

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

MAX_LINE_BYTES = 2083 * 8 - 1  # Google's: eight times the longest URL; the rest of the line is not read

_BOM = b"\xef\xbb\xbf"


class Kind(Enum):
    AGENT = auto()
    ALLOW = auto()
    DISALLOW = auto()
    SITEMAP = auto()
    DELAY = auto()


class Directive(NamedTuple):
    line_number: int
    kind: Kind
    value: bytes
    line: bytes  # without its comment


# Only the beginning of a key counts: "Disallowed:" and "User-agents:" are understood. The typos are those that Google
# takes. It knows no Crawl-delay; that one is read as Protego reads it.
_KEYS = (
    ((b"user-agent", b"useragent", b"user agent"), Kind.AGENT),
    ((b"allow",), Kind.ALLOW),
    ((b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"), Kind.DISALLOW),
    ((b"sitemap", b"site-map"), Kind.SITEMAP),
    ((b"crawl-delay", b"crawl delay"), Kind.DELAY),
)


def read_directives(body: bytes) -> Iterator[Directive]:
    for number, raw in enumerate(_drop_bom(body).splitlines(), 1):  # of bytes: at CR, LF and CRLF, nowhere else
        line = raw[:MAX_LINE_BYTES].partition(b"\0")[0].partition(b"#")[0].strip()
        if not line:
            continue
        key, value = _split(line)
        key = key.lower()
        for beginnings, kind in _KEYS:
            if key.startswith(beginnings):
                yield Directive(number, kind, value, line)
                break


def _split(line: bytes) -> tuple[bytes, bytes]:
    key, colon, value = line.partition(b":")
    if colon:
        return key.strip(), value.strip()
    words = re.split(rb"[ \t]+", line)
    # A forgotten colon is forgiven when there is no doubt where it belongs.
    return (words[0], words[1].strip()) if len(words) == 2 else (b"", b"")


def _drop_bom(body: bytes) -> bytes:
    """Also the beginning of one: files are cut and pasted together by tools that do not know it."""
    for length in (3, 2, 1):
        if body.startswith(_BOM[:length]):
            return body[length:]
    return body
