"""What is the one form of a URL, and which number stands for it?

Parsing follows the WHATWG rules (ada-url: what browsers do); on top of that the query is sorted, and the fragment,
tracking parameters and session ids are dropped. A change of these rules changes fingerprints, so it must raise
``CANONICAL_VERSION``, which every frontier remembers.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import ada_url
import xxhash

from crawler.errors import BadUrl

CANONICAL_VERSION = 2
MAX_URL_LENGTH = 2083  # what the browsers of the last twenty years agreed on

_TRACKING_PREFIXES = ("utm_", "mtm_", "pk_")
_TRACKING_NAMES = frozenset({"fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "_ga"})
# A server that meets a visitor without cookies writes a new session into every link: the same page under ever new
# names. Without the session it answers with the same page. What cannot be helped so is a trap, see traps.py.
_SESSION_PREFIXES = ("ASPSESSIONID", "ASP.NET_SessionId")
_SESSION_NAMES = frozenset(
    {"PHPSESSID", "phpsessid", "JSESSIONID", "jsessionid", "CFID", "cfid", "CFTOKEN", "cftoken", "osCsid", "zenid"}
)
_NOISE_NAMES = _TRACKING_NAMES | _SESSION_NAMES
_NOISE_PREFIXES = _TRACKING_PREFIXES + _SESSION_PREFIXES
_HASH_NAMES = frozenset({"sid", "s"})  # of forums: a session if it is a hash, and somebody's own word if not
_HASH = re.compile(r"[0-9a-fA-F]{32}(?:[0-9a-fA-F]{8})?")
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid)=[^/;]*+", re.IGNORECASE)


class Url(NamedTuple):
    text: str
    host: str  # with the port, when it is not the scheme's own: politeness and robots.txt are per server

    @property
    def fingerprint(self) -> int:
        return fingerprint(self.text)


def fingerprint(text: str) -> int:
    """A signed 64-bit integer, because Redis keeps sets of those in eight bytes a member."""
    number: int = xxhash.xxh3_64_intdigest(text.encode())
    return number - (1 << 64) if number >> 63 else number


def canonicalise(text: str, base: str | None = None) -> Url:
    """The canonical form of a link found on ``base``, or of a seed. Raises BadUrl with the reason for dropping it."""
    if base and (place := _place(base)) is not None:
        prefix = place.root if text[:1] == "/" else place.folder
        append = _append_again if len(text) <= _SHORT_LINK else _append
        url = append(prefix, text, place.host)
        if url is not None:
            return url
    return _canonicalise_any(text, base)


def _canonicalise_any(text: str, base: str | None) -> Url:
    try:
        joined: str = ada_url.join_url(base, text) if base else normalise(text)
    except ValueError:
        raise BadUrl("bad_url", f"{text!r:.200} is not a URL; a seed looks like https://example.com/") from None
    return _tidy(joined)


def normalise(text: str) -> str:
    """As the parser writes it, with all that is noise to us. Raises ValueError."""
    return _normalise_again(text) if len(text) <= MAX_URL_LENGTH else str(ada_url.normalize_url(text))


# Every middleware asks for the URL of a page, which is in a few hands at a time.
_normalise_again = lru_cache(maxsize=1024)(ada_url.normalize_url)


# Most links are a path of characters that nothing escapes, without a segment that is dots, even escaped ones, and
# without a semicolon, which may begin a session. For those joining is appending, at a third of the cost of a call into
# the parser. A test holds the two ways equal.
_SEGMENT = r"(?!%2[eE])[A-Za-z0-9_~%!$&'()*+,=@-][A-Za-z0-9_~%!$&'()*+,=@.-]*+"
_PLAIN_LINK = re.compile(rf"(/?(?:{_SEGMENT}/)*+(?:{_SEGMENT})?)(?:\?([A-Za-z0-9_~%!$()*+,;=@.&:/?-]*+))?(?:#[!-~]*+)?")


class _Place(NamedTuple):
    """Where a page is, for the links on it."""

    root: str
    folder: str
    host: str


@lru_cache(maxsize=64)  # pages are parsed one after the other
def _place(base: str) -> _Place | None:
    try:
        page = _tidy(normalise(base))
    except (ValueError, BadUrl):
        return None
    path_at = page.text.index("/", len("https://"))
    folder = page.text[: page.text.find("?")] if "?" in page.text else page.text
    return _Place(page.text[:path_at], folder[: folder.rindex("/") + 1], page.host)


def _append(prefix: str, text: str, host: str) -> Url | None:
    """None when it is not that simple after all."""
    plain = _PLAIN_LINK.fullmatch(text)
    if plain is None or not plain[1]:  # no path: the page itself, or another query of it
        return None
    url = prefix + plain[1]
    query = _tidy_query(plain[2]) if plain[2] else ""
    if query:
        url = f"{url}?{query}"
    return Url(url, host) if len(url) <= MAX_URL_LENGTH else None


# The pages of a site lead to each other: most links are those of the last pages.
_SHORT_LINK = 200  # characters: a bound on what is remembered
_append_again = lru_cache(maxsize=8192)(_append)


@lru_cache(maxsize=4096)  # navigation links repeat on every page of a site
def _tidy(url: str) -> Url:
    cut = url.find("#")
    if cut >= 0:
        url = url[:cut]
    scheme, _, rest = url.partition("://")
    if scheme not in {"http", "https"} or not rest:
        raise BadUrl("bad_scheme", f"{url!r:.200} is not crawled: only http and https are")
    slash = rest.find("/")
    authority = rest[:slash]
    if "@" in authority:  # credentials are nobody's business, least of all a log's
        authority = authority.rpartition("@")[2]
        url = f"{scheme}://{authority}{rest[slash:]}"
    path, mark, query = url.partition("?")
    if ";" in path:
        path = _PATH_SESSION.sub("", path)
    query = _tidy_query(query) if mark else ""
    url = f"{path}?{query}" if query else path
    if len(url) > MAX_URL_LENGTH:
        raise BadUrl("too_long", f"{url[:80]!r}… has {len(url)} characters; the limit is {MAX_URL_LENGTH}")
    return Url(url, authority)


def _tidy_query(query: str) -> str:
    kept = [part for part in query.split("&") if part and not _is_noise(part)]
    return "&".join(sorted(kept))


def _is_noise(part: str) -> bool:
    name, _, value = part.partition("=")
    if name in _NOISE_NAMES or name.startswith(_NOISE_PREFIXES):
        return True
    return name in _HASH_NAMES and _HASH.fullmatch(value) is not None
