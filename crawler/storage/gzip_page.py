"""How does a page become one file, and how is it read back? As a gzip member whose header carries the PageInfo.

One file says everything, so it is written in one step, and ``zcat`` still prints the body, byte for byte. The PageInfo
stands as ASCII JSON in the comment field of the header (RFC 1952: text that ends with a zero byte), and the header has
a checksum of its own, as the body has. What is read may be damaged or hostile: every size is bounded before it is used.
"""

import hashlib
import json
import struct
from typing import Any

import msgspec
from isal import isal_zlib

from crawler.errors import Damaged, EngineRefused
from crawler.storage.page import Page, PageInfo

# ms of CPU a page and ratio, on 400 pages of documentation of 94 kB: isal 0: 0.090, 5.49; 1: 0.101, 5.90; 2: 0.103,
# 5.96; 3: 0.220, 6.23; zlib 6: 1.22, 7.20. From 2 on size is bought dearly.
LEVEL = 2
HEAD_BYTES = 4096  # as much of a file as holds the header of nearly every page
MAX_HEADER_BYTES = 1024 * 1024  # the downloader keeps at most 64 kB of headers; as ASCII JSON they may be 6 times that
MAX_BODY_BYTES = 256 * 1024 * 1024
MAX_FILE_BYTES = MAX_BODY_BYTES + MAX_HEADER_BYTES + 1024 * 1024

_MAGIC = b"\x1f\x8b\x08"
_HEADER_CRC, _COMMENT = 0x02, 0x10
_FIXED = struct.Struct("<3sBIBB")
_TRAILER = struct.Struct("<II")
_UNKNOWN_SYSTEM = 255
_RAW_DEFLATE = -15
_INFLATE_ERROR: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub says that it is an instance


def complete(page: Page) -> PageInfo:
    """Its info, with the true size and sha256 of the body; a hash that is given is believed."""
    info = page.info
    if info.same_as:
        return info
    if len(page.body) > MAX_BODY_BYTES:
        raise EngineRefused(f"{info.url:.200} has {len(page.body)} bytes; at most {MAX_BODY_BYTES} are kept")
    if info.sha256 and info.body_bytes == len(page.body):
        return info
    sha256 = info.sha256 or hashlib.sha256(page.body).hexdigest()
    return msgspec.structs.replace(info, sha256=sha256, body_bytes=len(page.body))


def encode_info(info: PageInfo) -> bytes:
    """As JSON in ASCII, without a zero byte, whatever strings a server made us keep."""
    try:
        text = msgspec.json.encode(info)
    except UnicodeEncodeError:  # half a surrogate pair, which no encoding can carry
        text = json.dumps(_mend(msgspec.to_builtins(info))).encode()
    if not text.isascii():
        text = json.dumps(msgspec.json.decode(text), separators=(",", ":")).encode()
    if len(text) > MAX_HEADER_BYTES - 1024:
        if not info.headers:
            raise EngineRefused(f"what is known of {info.url:.200} takes {len(text)} bytes, more than a file can carry")
        return encode_info(msgspec.structs.replace(info, headers={}))
    return text


def decode_info(text: bytes, name: str) -> PageInfo:
    try:
        return msgspec.json.decode(text, type=PageInfo)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Damaged(f"{name} is damaged: it does not say which page it is ({error})") from None


def encode_page(info: PageInfo, body: bytes) -> bytes:
    """``info`` is complete. Equal pages make equal files: nothing in them comes from the clock."""
    seconds = info.fetched_at // 1000 & 0xFFFFFFFF
    header = _FIXED.pack(_MAGIC, _HEADER_CRC | _COMMENT, seconds, 0, _UNKNOWN_SYSTEM) + encode_info(info) + b"\0"
    return b"".join((
        header,
        struct.pack("<H", isal_zlib.crc32(header) & 0xFFFF),
        isal_zlib.compress(body, LEVEL, _RAW_DEFLATE),
        _TRAILER.pack(isal_zlib.crc32(body), len(body) & 0xFFFFFFFF),
    ))  # fmt: skip


def decode_head(head: bytes, name: str) -> tuple[PageInfo, int] | None:
    """The info and where the body begins; None if more than this beginning of the file is needed to tell."""
    if not _MAGIC.startswith(head[:3]):
        raise Damaged(f"{name} is damaged: it is no gzip file")
    if len(head) < _FIXED.size:
        return None
    if head[3] != _HEADER_CRC | _COMMENT:
        raise Damaged(f"{name} is a gzip file, but none of ours: its header carries no page")
    end = head.find(b"\0", _FIXED.size, MAX_HEADER_BYTES)
    if end < 0:
        if len(head) >= MAX_HEADER_BYTES:
            raise Damaged(f"{name} is damaged: its header has no end")
        return None
    if len(head) < end + 3:
        return None
    if int.from_bytes(head[end + 1 : end + 3], "little") != isal_zlib.crc32(head[: end + 1]) & 0xFFFF:
        raise Damaged(f"{name} is damaged: the checksum of its header is wrong")
    info = decode_info(head[_FIXED.size : end], name)
    if not 0 <= info.body_bytes <= MAX_BODY_BYTES:
        raise Damaged(f"{name} says that it holds {info.body_bytes} bytes; at most {MAX_BODY_BYTES} are read")
    return info, end + 3


def decode_page(data: bytes, name: str) -> Page:
    """``name`` is for the error if there is one: Damaged, whatever is wrong."""
    found = decode_head(data, name)
    if found is None:
        raise Damaged(f"{name} is damaged: it ends after {len(data)} bytes, within its header")
    info, start = found
    inflater = isal_zlib.decompressobj(_RAW_DEFLATE)
    try:
        # One byte more than it says: what goes on beyond that is a bomb, and is not unfolded.
        body = inflater.decompress(memoryview(data)[start:], info.body_bytes + 1)
    except _INFLATE_ERROR as error:
        raise Damaged(f"{name} is damaged: its body cannot be unfolded ({error})") from None
    if len(body) > info.body_bytes:
        raise Damaged(f"{name} is damaged: it unfolds into more than the {info.body_bytes} bytes that it should hold")
    if not inflater.eof:
        raise Damaged(f"{name} is damaged: it is cut off after {len(data)} bytes")
    if inflater.unused_data != _TRAILER.pack(isal_zlib.crc32(body), len(body)) or len(body) != info.body_bytes:
        raise Damaged(f"{name} is damaged: the checksum or the length of its body is wrong")
    return Page(info, body)


def _mend(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_mend(name): _mend(part) for name, part in value.items()}
    return value
