"""How does a URL look while it waits in the queue?

Eight bytes of identity, then a msgpack array: ``[version, url, depth, attempt, redirects, request]``, and for a page
that was fetched before, as the seventh, what is known of it. Never a pickle: what is read back can be wrong, but it
cannot run. The identity is the URL's fingerprint, or random for a request that asked not to be filtered, so that no
two entries of a crawl are equal.

Whoever has an entry knows its host, so ``https://`` and the host are written as ``s``, and ``http://`` as ``h``. That
is not for the bytes themselves: Redis keeps a short queue of members below 64 bytes in one block, at half the memory
and half the time of a long one.
"""

import os
import sys
from typing import Any

import msgspec
from scrapy import Request

from crawler.urls import Url, canonicalise, fingerprint

VERSION = 2
ID_BYTES = 8


class RequestFields(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an ordinary Scrapy request has beyond a URL; see ``travel.py``."""

    method: str = "GET"
    callback: str | None = None
    errback: str | None = None
    headers: dict[bytes, list[bytes]] | None = None
    body: bytes = b""
    cookies: Any = None
    meta: dict[Any, Any] | None = None
    cb_kwargs: dict[str, Any] | None = None
    flags: list[str] | None = None
    encoding: str = sys.intern("utf-8")
    priority: int = 0
    dont_filter: bool = False


class Known(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of a page until it is crawled again; see ``recrawl.py``."""

    fetches: int  # that brought the page, or the answer that it is as it was
    interval_ms: int
    hash: int  # of the body
    unchanged: int = 0  # so many times in a row
    missed: int = 0  # could not be had, so many times in a row
    etag: str = ""
    last_modified: str = ""


_SCHEMES = {"s": "https://", "h": "http://"}


class Entry(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    version: int = VERSION
    url: str
    depth: int = 0
    attempt: int = 0
    redirects: int = 0
    request: RequestFields | None = None
    known: Known | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Entry)


def identity(number: int) -> bytes:
    return number.to_bytes(ID_BYTES, "big", signed=True)


def encode(entry: Entry, identity: bytes, host: str) -> bytes:
    """``host`` is that of the queue, with its port. The URL of a user's own request may be spelt differently."""
    url = entry.url
    for letter, scheme in _SCHEMES.items():
        if url.startswith(f"{scheme}{host}/"):
            url = letter + url[len(scheme) + len(host) :]
            break
    fields = (VERSION, url, entry.depth, entry.attempt, entry.redirects, entry.request)
    # Left out of most entries, for their size; and by the length of the array lease.lua tells the two apart.
    return identity + _encoder.encode(fields if entry.known is None else (*fields, entry.known))


def decode(raw: bytes, host: str) -> Entry:
    """Raises ValueError for anything that this version did not write."""
    try:
        entry = _decoder.decode(raw[ID_BYTES:])
    except RecursionError:
        raise ValueError("entry is nested too deep") from None
    if entry.version != VERSION:
        raise ValueError(f"entry has version {entry.version}, this program reads {VERSION}")
    if entry.url[1:2] != "/":
        return entry
    scheme = _SCHEMES.get(entry.url[0])
    if scheme is None or not host:
        raise ValueError(f"entry has the URL {entry.url!r:.80} of {host or 'an unknown host'}")
    return msgspec.structs.replace(entry, url=scheme + host + entry.url[1:])


def request_fingerprint(request: Request) -> int:
    """Requests that differ in method or body are different pages of one URL. Raises BadUrl."""
    return page_fingerprint(canonicalise(request.url), request.method, request.body)


def page_fingerprint(url: Url, method: str, body: bytes) -> int:
    if method == "GET" and not body:
        return url.fingerprint
    return fingerprint(f"{method} {url.text} {body!r}")


def random_fingerprint() -> int:
    """For a request that asked not to be filtered: unlike any other, so that it is always new, and still once."""
    return int.from_bytes(os.urandom(ID_BYTES), "big", signed=True)
