"""Which characters do these bytes mean? By byte-order mark, header, the page itself; if nobody says, by their looks.

Called for every page and plain text.
"""

import codecs
import re
from functools import lru_cache

from w3lib.encoding import resolve_encoding

_HEADER_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
# As nearly all pages have it: found ten times as quickly as by looking at every tag.
_USUAL_META = re.compile(
    rb"""<meta\s++(?:http-equiv=["']?content-type["']?\s++content=["'][^"'>]*?)?charset="""
    rb"""["']?\s*+([\w.:-]+)""",
    re.IGNORECASE,
)
_HIDING = re.compile(rb"<(?:!--|script|style)", re.IGNORECASE)
_DECLARES = re.compile(rb"charset", re.IGNORECASE)
# What says it is a meta element, and not what looks like one in a comment, a script or an attribute's value. Every
# alternative takes all that it looked at, so that nothing is looked at twice.
_ATTRIBUTES = rb"""((?:[^>"']|"[^"]*+"?+|'[^']*+'?+)*+)"""
_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)|<(script|style|title|textarea)\b.*?(?:</\1|\Z)|<meta[\s/]"
    + _ATTRIBUTES
    + rb"|</?[a-z]"
    + _ATTRIBUTES,
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(rb"""([^\s=/"'>]++)(?:\s*+=\s*+(?:"([^"]*+)|'([^']*+)|([^\s"'>]++)))?+""")
_CONTENT_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"""\s*<\?xml\s[^>]*?encoding\s*=\s*["']?\s*([\w.:-]+)""")
_META_WITHIN = 1024  # where the HTML standard stops to look
_LATE_META_WITHIN = 65_536  # where browsers do, in a long head
# The encodings of the web, and no others: Python's codecs also hold some that take quadratic time, or that yield text
# which no parser accepts (utf-7, unicode_escape, punycode, …), and a page may name any of them.
_WEB_CODEC_NAMES = """
    utf-8 utf-16-le utf-16-be utf-16 big5hkscs big5 euc_jp cp932 iso2022_jp cp949 gb18030 cp866 koi8-r koi8-u
    mac-roman mac-cyrillic cp874 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258
    iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15
    iso8859-16
"""
# Labels that browsers know, and w3lib and Python do not.
_OTHER_LABELS = {
    label: codec
    for codec, labels in {
        "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
        "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff",
        "utf-16-be": "unicodefffe",
        "iso8859-2": "iso88592",
        "iso8859-5": "iso88595",
        "iso8859-6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
        "iso8859-7": "sun_eu_greek",
        "iso8859-8": "csiso88598e iso-8859-8-e visual csiso88598i iso-8859-8-i logical",
        "iso8859-15": "csisolatin9",
        "koi8-r": "koi koi8",
        "koi8-u": "koi8-ru",
        "mac-roman": "csmacintosh mac macintosh x-mac-roman",
        "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
        "cp874": "dos-874",
        "cp1250": "x-cp1250",
        "cp1251": "x-cp1251",
        "cp1252": "iso88591 x-cp1252 x-user-defined",
        "cp1253": "x-cp1253",
        "cp1254": "x-cp1254",
        "cp1255": "x-cp1255",
        "cp1256": "x-cp1256",
        "cp1257": "x-cp1257",
        "cp1258": "x-cp1258",
        "gb18030": "csgb2312 gb_2312 x-gbk",
        "big5hkscs": "cn-big5 x-x-big5",
        "euc_jp": "cseucpkdfmtjapanese x-euc-jp",
        "cp949": "cseuckr csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601 windows-949",
    }.items()
    for label in labels.split()
}
_WEB_CODECS = frozenset(codecs.lookup(name).name for name in _WEB_CODEC_NAMES.split())

# Detection costs a millisecond, so it is given only what tells most: the text around bytes that are not ASCII.
_DETECT_WITHIN_BYTES = 65_536
_DETECT_BYTES = 4096
_FEWEST_FOREIGN_BYTES = 6  # fewer may be anything
# In languages with Latin letters few others stand side by side; detectors take short texts of them for anything.
_LATIN_RUN = 2.0
_LATIN_NAMES = """
    cp1250 cp1252 cp1254 cp1257 cp1258 mac-roman iso8859-2 iso8859-3 iso8859-4 iso8859-10 iso8859-13 iso8859-14
    iso8859-15 iso8859-16
"""
_LATIN = frozenset(_LATIN_NAMES.split())
_MARKUP = re.compile(rb"<(?:script|style)\b.*?(?:</(?:script|style)|\Z)|<[^>]*+>?", re.DOTALL | re.IGNORECASE)
_FOREIGN_RUN = re.compile(rb"[\x80-\xff].{0,400}", re.DOTALL)
_JAPANESE_ESCAPE = b"\x1b$B"  # of ISO-2022-JP, which is all ASCII; browsers look for it as well
_FOREIGN = re.compile(rb"[\x80-\xff]++")


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
    if codec is None:
        codec = _read_meta(body, _META_WITHIN) or _read_xml(body)
    if codec is None:
        if body.isascii():
            codec = "iso2022_jp" if _JAPANESE_ESCAPE in body else "utf-8"
        else:
            codec = "utf-8" if _is_utf8(body) else _read_meta(body, _LATE_META_WITHIN) or _detect(body)
    if codec == "utf-8":
        return body, codec
    return _decode(body, codec).encode(), codec


def _decode(body: bytes, codec: str) -> str:
    text = body.decode(codec, "replace")
    if codec == "euc_jp" and "\ufffd" in text:
        return body.decode("euc_jis_2004", "replace")  # has the ① of all browsers, but not all that the other has
    return text


def _read_meta(body: bytes, within: int) -> str | None:
    if usual := _USUAL_META.search(body, 0, within):
        before = body[: usual.start()].rstrip()
        if (
            before[-1:] in (b"", b">")
            and not _HIDING.search(before)
            and (codec := _find_codec(usual[1].decode("ascii")))
        ):
            return _as_ascii(codec)
    if not _DECLARES.search(body, 0, within):
        return None
    for tag in _TAG.finditer(body, 0, within):
        if not tag[2]:
            continue
        attributes = {name.lower(): b"".join(values) for name, *values in _ATTRIBUTE.findall(tag[2])}
        label = attributes.get(b"charset")
        if label is None and attributes.get(b"http-equiv", b"").strip().lower() == b"content-type":
            content = _CONTENT_CHARSET.search(attributes.get(b"content", b""))
            label = content and content[1]
        if label and (codec := _find_codec(label.decode("ascii", "replace"))):
            return _as_ascii(codec)
    return None


def _read_xml(body: bytes) -> str | None:
    if body.startswith((b"<\0?\0", b"\0<\0?")):
        return "utf-16-le" if body[0] else "utf-16-be"
    declared = _XML_CHARSET.match(body, 0, _META_WITHIN)
    return _as_ascii(_find_codec(declared[1].decode("ascii", "replace"))) if declared else None


def _as_ascii(codec: str | None) -> str | None:
    """UTF-16 cannot be what a page is in whose tags can be read as ASCII."""
    return "utf-8" if codec and codec.startswith("utf-16") else codec


def _is_utf8(body: bytes) -> bool:
    try:
        codecs.utf_8_decode(body, "strict", False)  # a body that was cut may end within a character
    except UnicodeDecodeError:
        return False
    return True


def _detect(body: bytes) -> str:
    """What the text looks like; UTF-8 when most of it is that. Too little to tell is windows-1252, as in browsers."""
    text = _MARKUP.sub(b" ", body[:_DETECT_WITHIN_BYTES])
    sample = b" ".join(_FOREIGN_RUN.findall(text))[:_DETECT_BYTES]
    runs = _FOREIGN.findall(sample)
    foreign = sum(map(len, runs))
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    if broken * 10 < foreign:  # UTF-8 with a few bytes broken, as when strings were cut by length
        return "utf-8"
    if foreign < _FEWEST_FOREIGN_BYTES:
        return "cp1252" if broken == foreign else "utf-8"
    from chardet import detect  # its models take 60 ms to load, and most crawls never need them

    label = detect(sample).get("encoding")
    codec = (_find_codec(label) if label else None) or "utf-8"
    return "cp1252" if foreign < _LATIN_RUN * len(runs) and codec not in _LATIN else codec


@lru_cache(maxsize=256)
def _find_codec(label: str) -> str | None:
    label = label.strip().lower()
    if label in _OTHER_LABELS:
        return _OTHER_LABELS[label]
    try:
        name = resolve_encoding(label)
    except ValueError:  # a null character
        return None
    return name if name in _WEB_CODECS else None
