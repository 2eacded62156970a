"""Which characters do these bytes mean? By byte-order mark, header, the page itself; if nobody says, by their looks.

Called for every page and plain text.
"""

import codecs
import re
from functools import lru_cache

from w3lib.encoding import resolve_encoding

_HEADER_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_META_CHARSET = re.compile(rb"""<(?:meta|\?xml)\s[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_META_WITHIN = 1024  # where the HTML standard stops to look
# The encodings of the web, and no others: Python's codecs also hold some that take quadratic time, or that yield text
# which no parser accepts (utf-7, unicode_escape, punycode, …), and a page may name any of them.
_WEB_CODEC_NAMES = """
    utf-8 utf-16-le utf-16-be utf-16 big5hkscs big5 euc_jp cp932 iso2022_jp cp949 gb18030 cp866 koi8-r koi8-u
    mac-roman mac-cyrillic cp874 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258
    iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15
    iso8859-16
"""
_WEB_CODECS = frozenset(codecs.lookup(name).name for name in _WEB_CODEC_NAMES.split())

# Detection costs a millisecond, so it is given only what tells most: the text around bytes that are not ASCII.
_DETECT_WITHIN_BYTES = 65_536
_DETECT_BYTES = 4096
_FEWEST_FOREIGN_BYTES = 6  # fewer may be anything: they are read as UTF-8 with replacements, as before
_MARKUP = re.compile(rb"<(?:script|style)\b.*?(?:</(?:script|style)|\Z)|<[^>]*+>?", re.DOTALL | re.IGNORECASE)
_FOREIGN_RUN = re.compile(rb"[\x80-\xff].{0,400}", re.DOTALL)
_JAPANESE_ESCAPE = b"\x1b$B"  # of ISO-2022-JP, which is all ASCII; browsers look for it as well
_FOREIGN = re.compile(rb"[\x80-\xff]")


def to_utf8(body: bytes, content_type: str = "") -> tuple[bytes, str]:
    """The body as UTF-8, and the name of the encoding it was in. Order of the Encoding standard: byte-order mark,
    header, the page itself; then UTF-8 if it is valid, then what it looks like, then UTF-8 all the same. What is not
    valid UTF-8 is left to the parser, which replaces it.
    """
    if body.startswith(codecs.BOM_UTF8):
        return body[len(codecs.BOM_UTF8) :], "utf-8"
    codec = None
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        codec = "utf-16"
    elif header := _HEADER_CHARSET.search(content_type):
        codec = _find_codec(header[1])
    if codec is None and (meta := _META_CHARSET.search(body, 0, _META_WITHIN)):
        codec = _find_codec(meta[1].decode("ascii", "replace"))
        if codec and codec.startswith("utf-16"):  # in a page whose tags can be read as ASCII
            codec = "utf-8"
    if codec is None:
        if body.isascii():
            codec = "iso2022_jp" if _JAPANESE_ESCAPE in body else "utf-8"
        else:
            codec = "utf-8" if _is_utf8(body) else _detect(body)
    if codec == "utf-8":
        return body, codec
    return body.decode(codec, "replace").encode(), codec


def _is_utf8(body: bytes) -> bool:
    try:
        codecs.utf_8_decode(body, "strict", False)  # a body that was cut may end within a character
    except UnicodeDecodeError:
        return False
    return True


def _detect(body: bytes) -> str:
    """What the text looks like; UTF-8 when there is too little of it, or when most of it is valid UTF-8."""
    text = _MARKUP.sub(b" ", body[:_DETECT_WITHIN_BYTES])
    sample = b" ".join(_FOREIGN_RUN.findall(text))[:_DETECT_BYTES]
    foreign = len(_FOREIGN.findall(sample))
    if foreign < _FEWEST_FOREIGN_BYTES:
        return "utf-8"
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    if broken * 10 < foreign:  # UTF-8 with a few bytes broken, as when strings were cut by length
        return "utf-8"
    from chardet import detect  # its models take 60 ms to load, and most crawls never need them

    label = detect(sample).get("encoding")
    return (_find_codec(label) if label else None) or "utf-8"


@lru_cache(maxsize=256)
def _find_codec(label: str) -> str | None:
    try:
        name = resolve_encoding(label)
    except ValueError:  # a null character
        return None
    return name if name in _WEB_CODECS else None
