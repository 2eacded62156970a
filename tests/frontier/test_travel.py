"""Does a request come out of the queue as it went in, or say which part of it cannot?"""

import contextlib
import dataclasses
import functools
import math
from collections import OrderedDict, namedtuple
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import FormRequest, Request, Spider
from scrapy.http import HtmlResponse, JsonRequest, XmlRpcRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from scrapy_playwright.page import PageMethod

from crawler.errors import CannotTravel
from crawler.frontier import entry
from crawler.frontier.entry import Entry, RequestFields
from crawler.frontier.travel import MAX_NESTING, pack, unpack

URL = "https://example.com/a?b=c"
HOST = "example.com"


def whole_seconds(offset: int) -> timezone:
    return timezone(timedelta(seconds=offset))


def undecorated(function):
    def wrapper(self, response):
        return function(self, response)

    return wrapper


class Base(Spider):
    def parse_inherited(self, response): ...

    def __private(self, response): ...

    def base_private(self):
        return self.__private

    def overridden(self, response): ...


class Shop(Base):
    name = "shop"

    def parse(self, response): ...

    def parse_item(self, response, number=0): ...

    def __private(self, response): ...

    def own_private(self):
        return self.__private

    def failed(self, failure): ...

    def overridden(self, response): ...

    @classmethod
    def parse_class(cls, response): ...

    @staticmethod
    def parse_static(response): ...

    @undecorated
    def parse_decorated(self, response): ...

    parse_alias = parse_item

    @property
    def explosive(self):
        raise AssertionError("a property was read")

    Inner = dict


@pytest.fixture
def spider():
    return Shop()


def travel(request: Request, spider: Spider) -> Request:
    """Through the bytes that Redis would hold."""
    raw = entry.encode(Entry(url=request.url, request=pack(request, spider)), b"12345678", HOST)
    found = entry.decode(raw, HOST)
    return unpack(found.url, found.request, spider)


def assert_same(a: object, b: object) -> None:
    """Equal in value and, all the way down, in type."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        assert [type(key) for key in a] == [type(key) for key in b]
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, set | frozenset):
        # Of members that have an order of their own to print: a set has none.
        assert {(type(x), repr(x)) for x in a if "frozenset" not in repr(x)} == {
            (type(x), repr(x)) for x in b if "frozenset" not in repr(x)
        }
        assert len(a) == len(b)
    elif isinstance(a, float) and math.isnan(a):
        assert math.isnan(b)
    elif isinstance(a, Decimal):
        assert str(a) == str(b)
    elif isinstance(a, datetime):
        assert (a.isoformat(), a.fold) == (b.isoformat(), b.fold)
    else:
        assert a == b


def assert_same_request(a: Request, b: Request) -> None:
    for name in ("url", "method", "body", "encoding", "priority", "dont_filter", "callback", "errback"):
        assert getattr(a, name) == getattr(b, name), name
    for name in ("meta", "cb_kwargs", "cookies", "flags"):
        assert_same(getattr(a, name), getattr(b, name))
    assert dict(a.headers) == dict(b.headers)
    assert a.headers.encoding == b.headers.encoding


# --- What survives ---------------------------------------------------------------------------

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats()
    | st.text()
    | st.binary()
    | st.dates()
    | st.datetimes(
        timezones=st.none() | st.just(UTC) | st.integers(-82_800, 82_800).map(whole_seconds),
    )
    | st.decimals()
)
keys = st.text() | st.integers(-(1 << 63), (1 << 64) - 1) | st.binary()
# Signalling NaNs cannot be hashed, and True and 1 are one element.
hashables = st.recursive(
    st.text() | st.binary() | st.integers(2, 1 << 63) | st.dates() | st.none(),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
values = st.recursive(
    scalars | st.sets(hashables, max_size=4) | st.frozensets(hashables, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=12,
)
own_meta = st.text().filter(lambda key: key not in {"download_slot", "lease", "verbatim_url", "_scheme_proxy"})


@settings(deadline=None)  # other tests run beside it
@given(
    meta=st.dictionaries(own_meta, values, max_size=4),
    cb_kwargs=st.dictionaries(st.text(), values, max_size=3),
    headers=st.dictionaries(st.binary(min_size=1), st.lists(st.binary(), max_size=3), max_size=3),
    body=st.binary(),
    cookies=st.dictionaries(st.text(), st.text() | st.binary() | st.booleans() | st.integers(0, 9), max_size=3)
    | st.lists(st.dictionaries(st.sampled_from(["name", "value", "domain"]), st.text(), min_size=1), max_size=3),
    flags=st.lists(st.text(), max_size=3),
    priority=st.integers(-(1 << 63), (1 << 63) - 1),
    dont_filter=st.booleans(),
    method=st.sampled_from(["GET", "POST", "head", "PROPFIND"]),
    encoding=st.sampled_from(["utf-8", "latin-1", "cp1251"]),
)
def test_a_request_survives_exactly(
    meta, cb_kwargs, headers, body, cookies, flags, priority, dont_filter, method, encoding
):
    spider = Shop()
    request = Request(
        URL, spider.parse_item, method, headers, body, cookies, meta, encoding, priority, dont_filter, spider.failed,
        flags, cb_kwargs,
    )  # fmt: skip
    assert_same_request(travel(request, spider), request)
    assert_same_request(unpack(request.url, pack(request, spider), spider), request)


@settings(deadline=None)  # other tests run beside it
@given(value=values)
def test_a_value_survives_with_its_types(value):
    spider = Shop()
    assert_same(travel(Request(URL, meta={"value": value}), spider).meta["value"], value)


def test_a_named_zone_offset_and_a_fold_survive(spider):
    value = datetime(2026, 10, 25, 2, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)), fold=1)
    found = travel(Request(URL, meta={"at": value}), spider).meta["at"]
    assert (found, found.utcoffset(), found.fold) == (value, value.utcoffset(), 1)


def test_a_bare_request_is_a_few_bytes(spider):
    assert pack(Request(URL), spider) == RequestFields()
    assert len(entry.encode(Entry(url=URL, request=pack(Request(URL), spider)), b"12345678", HOST)) < len(URL)
    assert_same_request(unpack(URL, None, spider), Request(URL))


def test_keys_of_meta_may_be_numbers_and_bytes(spider):
    assert_same(travel(Request(URL, meta={1: "a", b"b": "c"}), spider).meta, {1: "a", b"b": "c"})


def test_repeated_headers_keep_their_order(spider):
    request = Request(URL, headers={"Accept": ["a", "b"], "X-Empty": [], "X-Bytes": b"\xff"})
    assert travel(request, spider).headers.getlist("accept") == [b"a", b"b"]
    assert dict(travel(request, spider).headers) == dict(request.headers)


@pytest.mark.parametrize(
    "request_",
    [
        FormRequest(URL, formdata={"a": "1", "b": ["2", "3"]}),
        FormRequest(URL, method="GET", formdata={"a": "1"}),
        JsonRequest(URL, data={"a": [1, None]}),
        XmlRpcRequest(URL, methodname="add", params=(1, 2)),
    ],
    ids=lambda request: f"{type(request).__name__}-{request.method}",
)
def test_subclasses_travel_as_what_they_send(request_, spider):
    found = travel(request_, spider)
    assert type(found) is Request
    assert_same_request(found, request_)


# --- Callbacks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["parse", "parse_item", "parse_inherited", "parse_class", "parse_static", "parse_decorated", "parse_alias",
     "overridden", "_Shop__private", "_Base__private"],
)  # fmt: skip
def test_methods_of_the_spider_are_found_again(name, spider):
    method = getattr(spider, name)
    found = travel(Request(URL, callback=method, errback=method), spider)
    assert found.callback == method
    assert found.errback == method


def test_private_methods_of_one_name_are_told_apart(spider):
    for method in (spider.own_private(), spider.base_private()):
        assert travel(Request(URL, callback=method), spider).callback == method
    assert spider.own_private() != spider.base_private()


def test_no_callback_survives(spider):
    assert travel(Request(URL, callback=NO_CALLBACK), spider).callback is NO_CALLBACK


def test_rules_of_a_crawl_spider_survive():
    class Rules(CrawlSpider):
        name = "rules"
        rules = (Rule(LinkExtractor(), callback="parse_item"),)

        def parse_item(self, response): ...

    spider = Rules()
    request = spider._build_request(0, type("L", (), {"url": URL, "text": "a"})())
    assert_same_request(travel(request, spider), request)


def plain_function(response): ...


@pytest.mark.parametrize("field", ["callback", "errback"])
@pytest.mark.parametrize(
    "make",
    [
        lambda spider: lambda response: None,
        lambda spider: plain_function,
        lambda spider: functools.partial(spider.parse_item, number=1),
        lambda spider: Shop().parse_item,
        lambda spider: super(Shop, spider).overridden,
        lambda spider: spider.close,
        lambda spider: spider.logger.info,
        lambda spider: dict,
        lambda spider: Shop.parse_item,
    ],
    ids=["lambda", "function", "partial", "other spider", "overridden", "close", "logger", "class", "unbound"],
)
def test_other_callables_cannot_travel(field, make, spider):
    with pytest.raises(CannotTravel, match=f"its {field} is .*method of the spider 'shop'") as caught:
        pack(Request(URL, **{field: make(spider)}), spider)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "name",
    ["gone", "", "__init__", "__class__", "__reduce__", "close", "from_crawler", "update_settings", "explosive",
     "Inner", "name", "logger", "parse.__func__", "os.system", "<lambda>", "log"],
)  # fmt: skip
@pytest.mark.parametrize("field", ["callback", "errback"])
def test_a_planted_or_forgotten_name_is_refused(field, name, spider):
    with pytest.raises(ValueError, match=f"as {field}, but the spider 'shop' has no such method"):
        unpack(URL, RequestFields(**{field: name}), spider)


# --- What cannot travel ----------------------------------------------------------------------


@dataclasses.dataclass
class Thing:
    a: int = 1


class Unspeakable:
    def __repr__(self):
        raise RuntimeError("no")


class Colour(IntEnum):
    RED = 1


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("meta", "path"),
    [
        ({"a": [0, 1, 1 << 64]}, "meta['a'][2]"),
        ({"a": -(1 << 63) - 1}, "meta['a']"),
        ({"a": 10**5000}, "meta['a']"),
        ({"a": object()}, "meta['a']"),
        ({"a": Thing()}, "meta['a']"),
        ({"a": Unspeakable()}, "meta['a']"),
        ({"a": lambda: 1}, "meta['a']"),
        ({"a": {"b": [{"c": (1, print)}]}}, "meta['a']['b'][0]['c'][1]"),
        ({"a": {frozenset({1, Thing})}}, "meta['a']{…}{…}"),
        ({"a": {1.5: 1}}, "meta['a'] key"),
        ({"a": [{True: 1}]}, "meta['a'][0] key"),
        ({(1, 2): 1}, "meta key"),
        ({"a": {1 << 70: 1}}, f"meta['a'][{1 << 70}]"),
        ({"a": {b"k": Colour.RED}}, "meta['a'][b'k']"),
        ({"a": Point(1, 2)}, "meta['a']"),
        ({"a": OrderedDict(b=1)}, "meta['a']"),
        ({"a": bytearray(b"x")}, "meta['a']"),
        ({"a": 1j}, "meta['a']"),
        ({"a": "\ud800"}, "meta['a']"),
        ({"\ud800": 1}, "meta['\\ud800']"),
        ({"a": datetime(2026, 1, 1, tzinfo=ZoneInfo("Europe/Berlin"))}, "meta['a']"),
        ({"a": (x for x in ())}, "meta['a']"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_the_error_names_the_path(meta, path, spider):
    with pytest.raises(CannotTravel) as caught:
        pack(Request(URL, meta=meta), spider)
    assert caught.value.field == path
    assert str(caught.value).startswith(f"this request cannot be queued: its {path} is ")
    assert len(str(caught.value)) < 600


def test_an_open_file_cannot_travel(spider, tmp_path):
    with (tmp_path / "f").open("w") as file, pytest.raises(CannotTravel, match=r"its cb_kwargs\['f'\] is <_io"):
        pack(Request(URL, cb_kwargs={"f": file}), spider)


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        ("cookies", {"a": Thing()}, "cookies['a']"),
        ("cookies", [{"name": "a", "value": Thing()}], "cookies[0]['value']"),
        ("flags", ["a", b"b"], "flags[1]"),
        ("priority", 1 << 70, "priority"),
        ("cb_kwargs", {1: 2}, "cb_kwargs key"),
    ],
)
def test_every_field_is_named(name, value, path, spider):
    with pytest.raises(CannotTravel) as caught:
        pack(Request(URL, **{name: value}), spider)
    assert caught.value.field == path


def test_a_header_that_is_no_bytes_is_named(spider):
    request = Request(URL, headers={"X-A": "1"})
    request.headers.getlist("X-A").append("2")
    with pytest.raises(CannotTravel, match=r"its headers\[b'X-A'\] is '2'"):
        pack(request, spider)


def test_meta_that_contains_itself_is_named(spider):
    meta = {"list": [1]}
    meta["list"].append(meta["list"])
    with pytest.raises(CannotTravel, match=r"its meta\['list'\]\[1\] is .* it contains itself"):
        pack(Request(URL, meta=meta), spider)
    request = Request(URL)
    request.meta["me"] = request.meta
    with pytest.raises(CannotTravel, match=r"its meta\['me'\] is .* it contains itself"):
        pack(request, spider)


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (x,), lambda x: {"a": x}, lambda x: frozenset({x})])
def test_deep_nesting_is_an_error_and_no_recursion(wrap, spider):
    value = 1
    for _ in range(MAX_NESTING - 1):
        value = wrap(value)
    assert_same(travel(Request(URL, meta={"a": value}), spider).meta["a"], value)
    value = wrap(value)
    with pytest.raises(CannotTravel, match="nested more than"):
        pack(Request(URL, meta={"a": value}), spider)


def test_nesting_beyond_the_recursion_limit_is_an_error(spider):
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(CannotTravel, match="nested more than"):
        pack(Request(URL, meta={"a": value}), spider)


def test_one_value_in_two_places_travels(spider):
    shared = [1, 2]
    assert travel(Request(URL, meta={"a": shared, "b": [shared, shared]}), spider).meta["b"] == [shared, shared]


# --- What belongs to one process -------------------------------------------------------------


def test_keys_of_this_process_stay_behind(spider):
    meta = {
        "download_slot": "example.com", "download_latency": 0.1, "cached_response": object(), "cache_timestamp": 1.0,
        "_dont_cache": True, "lease": object(), "playwright_page": object(),
    }  # fmt: skip
    kept = {"download_timeout": 3.0, "depth": 2, "cookiejar": 1, "redirect_urls": [URL], "proxy": "http://p:1"}
    request = Request(URL, meta=meta | kept)
    assert travel(request, spider).meta == kept
    assert request.meta == meta | kept


def test_a_proxy_of_the_environment_stays_behind_with_its_password(spider):
    meta = {"_scheme_proxy": True, "_auth_proxy": "http://p:1", "proxy": "http://p:1", "a": 1}
    request = Request(URL, meta=meta, headers={"Proxy-Authorization": "Basic secret", "A": "b"})
    found = travel(request, spider)
    assert found.meta == {"a": 1}
    assert dict(found.headers) == {b"A": [b"b"]}
    assert b"Proxy-Authorization" in request.headers


def test_a_proxy_of_the_user_travels_with_its_password(spider):
    meta = {"_auth_proxy": "http://p:1", "proxy": "http://p:1"}
    request = Request(URL, meta=meta, headers={"Proxy-Authorization": "Basic secret"})
    assert_same_request(travel(request, spider), request)


# --- What someone else wrote -----------------------------------------------------------------


def extension(code: int, data: bytes) -> RequestFields:
    return RequestFields(meta={"a": msgspec.msgpack.Ext(code, data)})


@pytest.mark.parametrize(
    "fields",
    [
        extension(99, b""),
        extension(-5, b"x"),
        extension(1, b""),
        extension(1, b"\xc1"),
        extension(1, msgspec.msgpack.encode({"a": 1})),
        extension(1, b"\x91" * 100_000 + b"\x90"),
        extension(2, msgspec.msgpack.encode([[1]])),
        extension(4, b""),
        extension(4, b"02026-13-01T00:00:00"),
        extension(4, b"92026-01-01T00:00:00"),
        extension(5, b"\xff"),
        extension(6, b"one"),
        RequestFields(meta={"a": {1.5: 2}}),
        RequestFields(meta={"a": datetime(2026, 1, 1, tzinfo=UTC)}),
        RequestFields(cookies=7),
        RequestFields(cookies=msgspec.msgpack.Ext(3, b"\x90")),
        RequestFields(encoding="no-such-encoding"),
        RequestFields(encoding="../../x"),
        RequestFields(encoding="rot13", body=b"x"),
    ],
)
def test_poison_is_a_value_error(fields, spider):
    raw = entry.encode(Entry(url=URL, request=fields), b"12345678", HOST)
    with pytest.raises(ValueError):  # noqa: PT011
        unpack(URL, entry.decode(raw, HOST).request, spider)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com/", "example.com"),
        ("http://example.com/a?b#c", "example.com"),
        ("https://example.com:8443/a", "example.com:8443"),
        ("http://[::1]:80/a", "[::1]"),
        ("https://user:secret@example.com/", "example.com"),
        ("https://EXAMPLE.com/a", "example.com"),
        ("https://example.com", "example.com"),
        ("https://example.com?a", "example.com"),
        ("https://example.community/", "example.com"),
        ("data:,x", "example.com"),
    ],
)
def test_every_spelling_of_a_url_comes_back(url, host):
    raw = entry.encode(Entry(url=url, depth=1, attempt=2, redirects=3), b"12345678", host)
    assert entry.decode(raw, host) == Entry(url=url, depth=1, attempt=2, redirects=3)


def test_the_url_of_sixty_characters_is_below_sixty_four_bytes():
    url = "https://www.example.com/articles/2026/11/a-title-of-some-le"
    assert len(url) == 60 - 1
    assert len(entry.encode(Entry(url=url + "n"), b"12345678", "www.example.com")) < 64


@pytest.mark.parametrize(("url", "host"), [("s/a", ""), ("x/a", "example.com")])
def test_an_entry_without_a_host_or_scheme_is_a_value_error(url, host):
    raw = b"12345678" + msgspec.msgpack.encode([entry.VERSION, url, 0, 0, 0, None])
    with pytest.raises(ValueError, match="entry has the URL"):
        entry.decode(raw, host)


def test_an_entry_nested_without_end_is_a_value_error():
    with pytest.raises(ValueError, match="nested too deep"):
        entry.decode(
            b"12345678" + b"\x96\x01\xa1a\x00\x00\x00\x81\xa4meta\x81\xa1a" + b"\x91" * 200_000 + b"\x90", HOST
        )


def test_extensions_nested_without_end_are_a_value_error(spider):
    data = msgspec.msgpack.encode([])
    for _ in range(2 * MAX_NESTING):
        data = msgspec.msgpack.encode([msgspec.msgpack.Ext(1, data)])
    with pytest.raises(ValueError, match="nested more than"):
        unpack(URL, extension(1, data), spider)


def test_a_url_without_a_scheme_is_a_value_error(spider):
    with pytest.raises(ValueError, match="scheme"):
        unpack("nonsense", RequestFields(), spider)


@settings(deadline=None)  # other tests run beside it
@given(raw=st.binary(max_size=60), code=st.integers(-128, 127))
def test_garbage_is_a_value_error_or_a_value(raw, code):
    spider = Shop()
    for attempt in (
        lambda: entry.decode(raw, HOST),
        lambda: unpack(URL, extension(code, raw), spider),
        lambda: unpack(URL, msgspec.msgpack.decode(raw, type=RequestFields), spider),
    ):
        with contextlib.suppress(ValueError):
            attempt()


def test_text_that_knows_its_document_travels_as_text(spider):
    """What CrawlSpider puts into the meta of each of its requests."""
    page = HtmlResponse("http://a.example/", body=b"<a href=x>caf\xc3\xa9</a>", encoding="utf-8")
    [link] = LinkExtractor().extract_links(page)
    assert type(link.text) is not str
    fields = pack(Request("http://a.example/", meta={"link_text": link.text}), spider)
    found = unpack("http://a.example/", fields, spider).meta["link_text"]
    assert type(found) is str
    assert found == "caf\u00e9"


def test_what_a_browser_is_to_do_travels_by_name(spider):
    methods = [PageMethod("click", "#more", timeout=500), PageMethod("wait_for_timeout", 10)]
    request = Request(URL, meta={"playwright": True, "playwright_page_methods": methods, "playwright_page": object()})
    found = travel(request, spider).meta
    assert found == {
        "playwright": True,
        "playwright_page_methods": [["click", ["#more"], {"timeout": 500}], ["wait_for_timeout", [10], {}]],
    }
    assert travel(Request(URL, meta=found), spider).meta == found  # and once more, from the next worker


def test_a_function_for_a_browser_cannot_travel(spider):
    with pytest.raises(CannotTravel, match="playwright_page_methods"):
        pack(Request(URL, meta={"playwright_page_methods": [PageMethod(print)]}), spider)
