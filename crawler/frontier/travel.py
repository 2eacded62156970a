"""How does an ordinary Scrapy request travel through the queue?

``pack`` turns what a spider yields into plain data, ``unpack`` makes the request again in the worker that leased it.
Plain means what msgpack can say, and six Python types beside (``_TAGS``); every value comes back with the type it had.
Nothing is pickled and nothing is imported by name: a callback is the name of a method that the spider's own class has.
"""

import sys
from collections.abc import Callable, Iterable
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import msgspec
from scrapy import Request, Spider
from scrapy.http.request import NO_CALLBACK

from crawler.errors import CannotTravel
from crawler.frontier.entry import RequestFields

MAX_NESTING = 100  # far below Python's recursion limit, so that neither side ever meets it

# Written by Scrapy's downloader and HTTP cache, by our scheduler and by scrapy-playwright for the process at hand: a
# slot, a clock, a response, a lease and a browser page mean nothing to the next one. Keys that record a request's
# history (redirect_urls, retry_times, depth) or a user's wish (download_timeout, cookiejar) stay.
_LOCAL_META = frozenset(
    {"download_slot", "download_latency", "cached_response", "cache_timestamp", "_dont_cache", "lease",
     "playwright_page", "politeness"}
)  # fmt: skip
# HttpProxyMiddleware took these from this process's environment; the next worker has its own proxy and password.
_ENVIRONMENT_PROXY_META = frozenset({"_scheme_proxy", "_auth_proxy", "proxy"})
_ENVIRONMENT_PROXY_HEADER = b"Proxy-Authorization"

_PAGE_METHODS = "playwright_page_methods"
_NO_CALLBACK_NAME = "<NO_CALLBACK>"  # no method can have this name
_SPIDER_BASES = frozenset(Spider.__mro__)

_PLAIN = frozenset({type(None), bool, float, bytes})
_KEYS = frozenset({str, int, bytes})
_TUPLE, _SET, _FROZENSET, _DATETIME, _DATE, _DECIMAL = range(1, 7)
_TAGS: dict[type, int] = {tuple: _TUPLE, set: _SET, frozenset: _FROZENSET}
_COLLECTIONS: dict[int, Callable[[Iterable[Any]], Any]] = {_TUPLE: tuple, _SET: set, _FROZENSET: frozenset}
_HINT = "use None, bool, int, float, str, bytes, list, tuple, set, dict, datetime, date or Decimal"

_encode = msgspec.msgpack.Encoder().encode
_decode_list = msgspec.msgpack.Decoder(list[Any]).decode


def pack(request: Request, spider: Spider) -> RequestFields:
    """The URL is not in it: the queue entry has that. Raises CannotTravel, which names the field."""
    meta = request.meta
    headers: dict[bytes, Any] = dict(request.headers)  # the lists: items() of Headers is another thing
    if "_scheme_proxy" in meta:
        meta = {key: value for key, value in meta.items() if key not in _ENVIRONMENT_PROXY_META}
        headers.pop(_ENVIRONMENT_PROXY_HEADER, None)
    if not _LOCAL_META.isdisjoint(meta):
        meta = {key: value for key, value in meta.items() if key not in _LOCAL_META}
    if _PAGE_METHODS in meta:
        meta = {**meta, _PAGE_METHODS: _pack_page_methods(meta[_PAGE_METHODS])}
    return RequestFields(
        # Interned, because msgspec leaves out a default only when it is the same object.
        method=sys.intern(_check_type("method", request.method, str)),
        callback=_name_method("callback", request.callback, spider),
        errback=_name_method("errback", request.errback, spider),
        headers=_check_headers(headers) or None,
        body=_check_type("body", request.body, bytes),
        cookies=_pack_field("cookies", request.cookies) or None,
        meta=_pack_field("meta", meta) or None,
        cb_kwargs=_pack_field("cb_kwargs", _check_kwargs(request.cb_kwargs)) or None,
        flags=_check_flags(request.flags) or None,
        encoding=sys.intern(_check_type("encoding", request.encoding, str)),
        priority=_pack_field("priority", int(request.priority)),
        dont_filter=bool(request.dont_filter),
    )


def unpack(url: str, fields: RequestFields | None, spider: Spider) -> Request:
    """Raises ValueError for fields that no ``pack`` of this spider wrote."""
    if fields is None:
        return Request(url)
    if not isinstance(fields.cookies, dict | list | None):
        raise ValueError(f"the queue has {fields.cookies!r:.100} as cookies of {url:.200}")
    try:
        return Request(
            url,
            method=fields.method,
            callback=_find_method("callback", fields.callback, spider),
            errback=_find_method("errback", fields.errback, spider),
            headers=fields.headers,
            body=fields.body,
            cookies=_unpack_value(fields.cookies, 0),
            meta=_unpack_value(fields.meta, 0),
            cb_kwargs=_unpack_value(fields.cb_kwargs, 0),
            flags=fields.flags,
            encoding=fields.encoding,
            priority=fields.priority,
            dont_filter=fields.dont_filter,
        )
    except (TypeError, AttributeError, LookupError) as error:
        raise ValueError(f"the queued request for {url:.200} cannot be made again: {error}") from error


# --- Callbacks -------------------------------------------------------------------------------


def _name_method(field: str, function: Callable[..., Any] | None, spider: Spider) -> str | None:
    if function is None:
        return None
    if function is NO_CALLBACK:
        return _NO_CALLBACK_NAME
    given = str(getattr(function, "__name__", ""))
    if _is_method(spider, given, function):
        return given
    if given.startswith("__"):  # a private method is called __x, but stands in its class as _Class__x
        for cls in type(spider).__mro__:
            mangled = f"_{cls.__name__.lstrip('_')}{given}"
            if _is_method(spider, mangled, function):
                return mangled
    # A decorator that does not pass on the name of what it wraps.
    for cls in type(spider).__mro__:
        for name in vars(cls):
            if _is_method(spider, name, function):
                return name
    raise CannotTravel(field, function, f"it must be a method of the spider {spider.name!r}")


def _is_method(spider: Spider, name: str, function: Callable[..., Any]) -> bool:
    # Bound methods are made anew at each access: equal, not identical.
    return _may_be_called(spider, name) and getattr(spider, name) == function


def _may_be_called(spider: Spider, name: str) -> bool:
    """Only what a spider adds to Scrapy's own class: a planted name must not reach ``close`` or ``__reduce__``."""
    if name.startswith("__") and name.endswith("__"):
        return False
    for cls in type(spider).__mro__:
        member = vars(cls).get(name)
        if member is not None:
            is_function = callable(member) or isinstance(member, classmethod | staticmethod)
            return is_function and not isinstance(member, type) and (cls not in _SPIDER_BASES or name == "parse")
    return False


def _find_method(field: str, name: str | None, spider: Spider) -> Callable[..., Any] | None:
    if name is None:
        return None
    if name == _NO_CALLBACK_NAME:
        return NO_CALLBACK
    if not _may_be_called(spider, name):
        raise ValueError(
            f"the queue names {name!r:.200} as {field}, but the spider {spider.name!r} has no such method; "
            "was the spider changed, or the request queued by another one?"
        )
    method: Callable[..., Any] = getattr(spider, name)
    return method


# --- Values ----------------------------------------------------------------------------------


class _Unfit(Exception):
    """Gathers the path to the offending value on its way up, so that values that fit cost no path."""

    def __init__(self, value: object, hint: str) -> None:
        super().__init__()
        self.value = value
        self.hint = hint
        self.steps: list[str] = []

    def passing(self, step: str) -> "_Unfit":
        self.steps.append(step)
        return self


def _pack_page_methods(methods: Any) -> Any:
    """What a browser is to do with a page, by name: an object of scrapy-playwright becomes what it was made of."""
    packed = []
    for method in methods.values() if isinstance(methods, dict) else methods or ():
        if hasattr(method, "method") and hasattr(method, "kwargs"):
            if not isinstance(method.method, str):
                raise CannotTravel(f"meta[{_PAGE_METHODS!r}]", method.method, "name a method of the page")
            packed.append([method.method, list(method.args), dict(method.kwargs)])
        else:
            packed.append(method)
    return packed


def _pack_field(field: str, value: Any) -> Any:
    try:
        return _pack_value(value, [])
    except _Unfit as unfit:
        raise CannotTravel(field + "".join(reversed(unfit.steps)), unfit.value, unfit.hint) from None


def _pack_value(value: Any, above: list[int]) -> Any:
    kind = type(value)
    if kind is str:
        return _check_text(value)
    if kind in _PLAIN:
        return value
    if kind is int:
        if not -(1 << 63) <= value < 1 << 64:
            raise _Unfit(value, "whole numbers must fit in 64 bits; a str or a Decimal holds any")
        return value
    if kind is dict or kind is list or kind in _TAGS:
        return _pack_container(value, kind, above)
    if kind is datetime:
        # Python reads back no offset below a second, though it writes one.
        offset = value.utcoffset()
        is_odd = offset is not None and offset.microseconds != 0
        if is_odd or (value.tzinfo is not None and type(value.tzinfo) is not timezone):
            raise _Unfit(value, "of time zones only fixed offsets travel: value.astimezone(datetime.timezone.utc)")
        return msgspec.msgpack.Ext(_DATETIME, f"{value.fold}{value.isoformat()}".encode())
    if kind is date:
        return msgspec.msgpack.Ext(_DATE, value.isoformat().encode())
    if kind is Decimal:
        return msgspec.msgpack.Ext(_DECIMAL, str(value).encode())
    if isinstance(value, str) and kind.__module__ == "lxml.etree":
        # The link_text of every CrawlSpider: text that knows its document. Here it is text.
        return _check_text(str(value))
    raise _Unfit(value, _HINT)


def _pack_container(value: Any, kind: type, above: list[int]) -> Any:
    if id(value) in above:
        raise _Unfit(value, "it contains itself")
    if len(above) == MAX_NESTING:
        raise _Unfit(value, f"it is nested more than {MAX_NESTING} deep")
    above.append(id(value))
    packed: Any
    if kind is dict:
        packed = {}
        for key, member in value.items():
            if type(key) not in _KEYS:
                raise _Unfit(key, "keys must be str, int or bytes").passing(" key")
            try:
                packed[_pack_value(key, above)] = _pack_value(member, above)
            except _Unfit as unfit:
                raise unfit.passing(f"[{key!r:.100}]") from None
    else:
        packed = []
        for position, member in enumerate(value):
            try:
                packed.append(_pack_value(member, above))
            except _Unfit as unfit:
                raise unfit.passing(f"[{position}]" if kind is list or kind is tuple else "{…}") from None
        if kind is not list:
            packed = msgspec.msgpack.Ext(_TAGS[kind], _encode(packed))
    above.pop()
    return packed


def _unpack_value(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind in _PLAIN or kind is int:
        return value
    if depth == MAX_NESTING:
        raise ValueError(f"a queued value is nested more than {MAX_NESTING} deep")
    if kind is list:
        return [_unpack_value(member, depth + 1) for member in value]
    if kind is dict:
        for key in value:
            if type(key) not in _KEYS:
                raise ValueError(f"a queued value has the key {key!r:.100}")
        return {key: _unpack_value(member, depth + 1) for key, member in value.items()}
    if kind is msgspec.msgpack.Ext:
        return _unpack_extension(value.code, bytes(value.data), depth)
    raise ValueError(f"a queued value is of type {kind.__name__}, which this program does not write")


def _unpack_extension(code: int, data: bytes, depth: int) -> Any:
    try:
        if code in _COLLECTIONS:
            return _COLLECTIONS[code]([_unpack_value(member, depth + 1) for member in _decode_list(data)])
        if code == _DATETIME:
            return datetime.fromisoformat(data[1:].decode()).replace(fold=int(data[:1]))
        if code == _DATE:
            return date.fromisoformat(data.decode())
        if code == _DECIMAL:
            return Decimal(data.decode())
    except (TypeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"a queued value of type {code} holds {data!r:.100}: {error}") from None
    raise ValueError(f"a queued value is of type {code}, which this program does not know")


# --- Fields with a fixed shape ---------------------------------------------------------------


def _check_text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _Unfit(value, "it is not valid Unicode (a lone surrogate); use bytes") from None
    return value


def _check_type(field: str, value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise CannotTravel(field, value, f"it must be {kind.__name__}")
    return _pack_field(field, value)


def _check_headers(headers: dict[bytes, Any]) -> dict[bytes, list[bytes]]:
    for name, values in headers.items():
        for value in values:
            if type(value) is not bytes:
                raise CannotTravel(f"headers[{name!r:.100}]", value, "header values must be bytes")
    return headers


def _check_kwargs(cb_kwargs: dict[str, Any]) -> dict[str, Any]:
    for key in cb_kwargs:
        if type(key) is not str:
            raise CannotTravel("cb_kwargs key", key, "names of arguments must be str")
    return cb_kwargs


def _check_flags(flags: Iterable[str]) -> list[str]:
    return [_check_type(f"flags[{position}]", flag, str) for position, flag in enumerate(flags)]
