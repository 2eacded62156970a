"""How does a page become a WARC record, and how is it read back? By warcio, as a gzip member of its own (WARC 1.1).

Bodies are kept decoded, so headers that speak of the encoding on the wire get a name that no reader obeys. The PageInfo
stands whole in a field of the record: the index can be made anew from the WARC file alone.
"""

import http
import io
import re
import uuid
from base64 import b32encode
from datetime import UTC, datetime
from urllib.parse import quote

from isal import isal_zlib
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordbuilder import RecordBuilder
from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawler import __version__
from crawler.errors import Damaged
from crawler.storage import gzip_page
from crawler.storage.page import Page, PageInfo

PAGE_FIELD = "Orbweaver-Page"

_VERSION = "1.1"
_GZIP = 31
_WIRE_HEADERS = {"content-encoding", "content-length", "transfer-encoding"}
_WIRE_PREFIX = "X-Crawler-"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_URL_CHARACTERS = "".join(map(chr, range(0x21, 0x7F)))
_builder = RecordBuilder(warc_version=_VERSION)


def encode_record(info: PageInfo, body: bytes, original: PageInfo | None = None) -> bytes:
    """``original`` is the page that this one is a duplicate of, if it is one and that is known."""
    fields = {
        "WARC-Record-ID": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{info.id} {info.fetched_at}')}>",
        "WARC-Date": _date(info),
        PAGE_FIELD: gzip_page.encode_info(info).decode(),
    }
    if info.sha256:
        fields["WARC-Payload-Digest"] = f"sha256:{b32encode(bytes.fromhex(info.sha256)).decode()}"
    uri = _uri(info)
    headers = _http_headers(info, len(body))
    if not info.same_as:
        record = _builder.create_warc_record(
            uri, "response", io.BytesIO(body), len(body), warc_headers_dict=fields, http_headers=headers
        )
    else:
        fields["WARC-Profile"] = RecordBuilder.REVISIT_PROFILE_1_1
        if original is not None:
            fields["WARC-Refers-To-Target-URI"] = _uri(original)
            fields["WARC-Refers-To-Date"] = _date(original)
        record = _builder.create_warc_record(uri, "revisit", warc_headers_dict=fields, http_headers=headers)
    return _write(record)


def encode_warcinfo(name: str) -> bytes:
    info = {
        "software": f"Orbweaver/{__version__}",
        "format": f"WARC File Format {_VERSION}",
        "conformsTo": "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
    }
    return _write(_builder.create_warcinfo_record(name, info))


def decode_record(member: bytes, info: PageInfo, name: str) -> Page:
    """``info`` is what the index says; it bounds what is unfolded."""
    limit_bytes = info.body_bytes + 4 * gzip_page.MAX_HEADER_BYTES
    inflater = isal_zlib.decompressobj(_GZIP)
    try:
        text = inflater.decompress(member, limit_bytes)
        if not inflater.eof:
            raise Damaged(f"{name} is damaged: the record is cut off, or unfolds into more than {limit_bytes} bytes")
        record = next(ArchiveIterator(io.BytesIO(text)))
        kept = gzip_page.decode_info((record.rec_headers.get_header(PAGE_FIELD) or "").encode(), name)
        body = b"" if kept.same_as else record.raw_stream.read()
    except (isal_zlib.error, ArchiveLoadFailed, StopIteration, EOFError, ValueError) as error:  # type: ignore[misc]
        raise Damaged(f"{name} is damaged: the record cannot be read ({type(error).__name__})") from None
    if (kept.id, kept.fetched_at) != (info.id, info.fetched_at):
        raise Damaged(f"{name} is damaged: it holds {kept.url:.200}, and the index says {info.url:.200}")
    if not kept.same_as and len(body) != kept.body_bytes:
        raise Damaged(f"{name} is damaged: the body has {len(body)} bytes instead of {kept.body_bytes}")
    return Page(kept, body)


def find_info(head: bytes, name: str) -> PageInfo | None:
    """Of the beginning of a record as text; None if it holds no page: the record about the file itself."""
    found = re.search(rb"\r\n" + PAGE_FIELD.encode() + rb": ([^\r\n]*)\r\n", head)
    return None if found is None else gzip_page.decode_info(found[1], name)


def _http_headers(info: PageInfo, body_bytes: int) -> StatusAndHeaders:
    lines = []
    for name, value in info.headers.items():
        if _TOKEN.fullmatch(name):
            for one in value.split("\n") if name.lower() == "set-cookie" else [value]:
                text = quote(_CONTROL.sub(" ", one), safe=_URL_CHARACTERS + " ", errors="replace")
                lines.append((_WIRE_PREFIX + name if name.lower() in _WIRE_HEADERS else name, text))
    if not info.same_as:
        lines.append(("Content-Length", str(body_bytes)))
    try:
        phrase = http.HTTPStatus(info.status).phrase
    except ValueError:
        phrase = "Unknown"
    return StatusAndHeaders(f"{info.status} {phrase}", lines, protocol="HTTP/1.1")


def _uri(info: PageInfo) -> str:
    return quote(info.url, safe=_URL_CHARACTERS, errors="replace")


def _date(info: PageInfo) -> str:
    return datetime.fromtimestamp(info.fetched_at / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _write(record: ArcWarcRecord) -> bytes:
    plain = io.BytesIO()
    WARCWriter(plain, gzip=False, warc_version=_VERSION).write_record(record)
    return isal_zlib.compress(plain.getvalue(), gzip_page.LEVEL, _GZIP)  # warcio's own gzip is zlib's slowest
