"""Which pages does a sitemap name? All its forms, broken ones, and bodies made to do harm."""

import gzip
import tracemalloc
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.robots import sitemaps
from crawler.robots.sitemaps import MAX_URLS, Sitemap, SitemapPage, read_sitemap

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def write(*urls: str, root: str = f"urlset {NAMESPACE}", entry: str = "url") -> bytes:
    entries = "".join(f"<{entry}><loc>{url}</loc></{entry}>\n" for url in urls)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}>\n{entries}</{root.split()[0]}>\n'.encode()


def urls_of(sitemap: Sitemap) -> list[str]:
    return [page.url for page in sitemap.pages]


# --- Forms -----------------------------------------------------------------------------------


def test_a_sitemap():
    body = f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset {NAMESPACE} xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml">
  <url>
    <loc> https://example.com/a?b=1&amp;c=%C3%BC </loc>
    <lastmod>2024-02-29T12:00:00+01:00</lastmod>
    <changefreq>daily</changefreq>
    <priority>0.8</priority>
    <image:image><image:loc>https://example.com/a.png</image:loc></image:image>
    <xhtml:link rel="alternate" hreflang="de" href="https://example.com/de/a"/>
  </url>
  <url><loc><![CDATA[https://example.com/b?c&d]]></loc><lastmod>never</lastmod><priority>high</priority></url>
  <url><lastmod>2024-01-01</lastmod></url>
</urlset>""".encode()
    assert read_sitemap(body) == Sitemap(
        pages=[
            SitemapPage("https://example.com/a?b=1&c=%C3%BC", datetime(2024, 2, 29, 11, tzinfo=UTC), 0.8),
            SitemapPage("https://example.com/b?c&d"),
        ]
    )


def test_an_index():
    body = write("https://example.com/1.xml", "https://example.com/2.xml.gz", root="sitemapindex", entry="sitemap")
    assert read_sitemap(body) == Sitemap(children=["https://example.com/1.xml", "https://example.com/2.xml.gz"])


@pytest.mark.parametrize(
    "root", ["urlset", f"urlset {NAMESPACE}", 'urlset xmlns="https://wrong.example/"', 's:urlset xmlns:s="x"']
)
@pytest.mark.parametrize("prefix", ["", "s:", "unknown:"])
def test_namespaces_do_not_matter(root, prefix):
    body = f"<{root}><{prefix}url><{prefix}loc>https://a.example/</{prefix}loc></{prefix}url></{root.split()[0]}>"
    assert read_sitemap(body.encode()) == Sitemap([SitemapPage("https://a.example/")])


def test_rss():
    body = b"""<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>News</title><link>https://example.com/</link><atom:link href="https://example.com/feed" rel="self"/>
<image><link>https://example.com/logo</link></image>
<item><title>A</title><atom:link href="https://example.com/no"/><link>https://example.com/a</link>
<pubDate>Thu, 29 Feb 2024 11:00:00 GMT</pubDate><guid>https://example.com/?p=1</guid></item>
<item><guid isPermaLink="true">https://example.com/b</guid></item>
<item><guid isPermaLink="false">https://example.com/no</guid></item>
</channel></rss>"""
    assert read_sitemap(body) == Sitemap(
        [
            SitemapPage("https://example.com/a", datetime(2024, 2, 29, 11, tzinfo=UTC)),
            SitemapPage("https://example.com/b"),
        ]
    )


def test_rss_1_0():
    body = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel><link>https://example.com/</link></channel>
<item><link>https://example.com/a</link><dc:date>2024-02-29</dc:date></item></rdf:RDF>"""
    assert read_sitemap(body).pages == [SitemapPage("https://example.com/a", datetime(2024, 2, 29, tzinfo=UTC))]


def test_atom():
    body = b"""<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://example.com/"/><updated>2020-01-01T00:00:00Z</updated>
<entry><link rel="edit" href="https://example.com/edit"/><link href="https://example.com/a"/>
<link rel="enclosure" href="https://example.com/a.mp3"/><id>urn:x</id><published>2023-01-01T00:00:00Z</published>
<updated>2024-02-29T11:00:00Z</updated></entry>
<entry><link rel="alternate" href="https://example.com/b"/><published>2023-01-01T00:00:00Z</published>
<source><link href="https://example.com/no"/></source></entry></feed>"""
    assert read_sitemap(body) == Sitemap(
        [
            SitemapPage("https://example.com/a", datetime(2024, 2, 29, 11, tzinfo=UTC)),
            SitemapPage("https://example.com/b", datetime(2023, 1, 1, tzinfo=UTC)),
        ]
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_list_of_urls(end, encoding):
    body = end.join(["https://example.com/a", "", " https://example.com/ü ", "# no", "ftp://example.com/"]).encode(
        encoding
    )
    assert read_sitemap(body) == Sitemap([SitemapPage("https://example.com/a"), SitemapPage("https://example.com/ü")])


@pytest.mark.parametrize(
    "body",
    [write("https://a.example/"), b"https://a.example/\n", write("https://a.example/").decode().encode("utf-16")],
)
def test_gzip_is_known_by_its_first_bytes(body):
    assert read_sitemap(gzip.compress(body)) == read_sitemap(body) == Sitemap([SitemapPage("https://a.example/")])
    assert read_sitemap(gzip.compress(body) + b"\0" * 512) == read_sitemap(body)


def test_gzip_in_several_members():
    body = write(*(f"https://a.example/{number}" for number in range(1000)))
    packed = b"".join(gzip.compress(body[start : start + 1000]) for start in range(0, len(body), 1000))
    assert read_sitemap(packed) == read_sitemap(body)


@pytest.mark.parametrize(
    ("declared", "written"),
    [("UTF-8", "utf-8"), ("utf-16", "utf-16"), ("utf-16", "utf-8"), ("ISO-8859-1", "latin-1"), ("windows-1252",
     "cp1252"), ("gbk", "gbk"), ("rot13", "ascii"), ("zlib", "ascii"), ("nonsense", "ascii"), ("undefined", "ascii")],
)  # fmt: skip
def test_encodings(declared, written):
    text = f'<?xml version="1.0" encoding="{declared}"?><urlset><url><loc>https://a.example/</loc></url></urlset>'
    assert read_sitemap(text.encode(written)) == Sitemap([SitemapPage("https://a.example/")])


@pytest.mark.parametrize("before", [b"\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf \r\n\t", b" " * 200_000])
def test_what_stands_before_the_xml_is_passed_over(before):
    assert urls_of(read_sitemap(before + write("https://a.example/"))) == ["https://a.example/"]


@pytest.mark.parametrize(
    "url",
    ["", "/relative", "javascript:alert(1)", "ftp://a.example/", "file:///etc/passwd", "https://",
     "https://a.example/ b", "https://a.example/\tb", "https://a.example/" + "x" * 2100, "mailto:a@example.com"],
)  # fmt: skip
def test_what_is_no_web_address_is_left_out(url):
    assert read_sitemap(write(url, "https://a.example/")) == Sitemap([SitemapPage("https://a.example/")])


@pytest.mark.parametrize(
    ("text", "priority"),
    [
        ("0.5", 0.5),
        ("0", 0.0),
        ("1.0", 1.0),
        (" 1 ", 1.0),
        ("1.1", None),
        ("-0.1", None),
        ("nan", None),
        ("inf", None),
        ("x", None),
    ],
)
def test_priorities(text, priority):
    body = f"<urlset><url><loc>https://a.example/</loc><priority>{text}</priority></url></urlset>"
    assert read_sitemap(body.encode()).pages == [SitemapPage("https://a.example/", None, priority)]


# --- Broken ones -----------------------------------------------------------------------------

TWO = write("https://a.example/1", "https://a.example/2")


@pytest.mark.parametrize(
    "body",
    [
        TWO.replace(b"/2<", b"/2?a&b<"),
        TWO.replace(b"/2</loc>", b"/2</lok>"),
        TWO[: TWO.index(b"/2<")],
        TWO.replace(b"/2<", b"/2\xff<"),
        TWO.replace(b"/2<", b"/2&nbsp;<"),
        TWO.replace(b"/2<", b"/2\0<"),
    ],
)
def test_broken_xml_gives_what_came_before_the_break(body):
    sitemap = read_sitemap(body)
    assert urls_of(sitemap) == ["https://a.example/1"]
    assert (sitemap.trouble or "").startswith("broken XML: ")


def test_broken_gzip_gives_what_came_before_the_break():
    urls = [f"https://a.example/{number * 7919 % 10007}" for number in range(5000)]
    packed = gzip.compress(write(*urls))
    cut = read_sitemap(packed[: len(packed) // 2])
    assert 0 < len(cut.pages) < 5000
    assert urls_of(cut) == urls[: len(cut.pages)]
    assert (cut.trouble or "").startswith("broken gzip: ")
    assert (read_sitemap(b"\x1f\x8bnonsense").trouble or "").startswith("broken gzip: ")


@pytest.mark.parametrize(
    ("body", "trouble"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"\xef\xbb\xbf", "it is empty"),
        (gzip.compress(b"", mtime=0), "it is empty"),  # the time would be part of the name of the test
        (b"Not found", "no URL in it"),
        (b"<!DOCTYPE html><html><body>Not found</body></html>", "no sitemap: its outermost element is 'html'"),
        (b"<x/>", "no sitemap: its outermost element is 'x'"),
        (b"<", "broken XML: "),
        (bytes(range(128, 256)), "no URL in it"),
    ],
)
def test_what_is_no_sitemap_says_so(body, trouble):
    sitemap = read_sitemap(body)
    assert (sitemap.pages, sitemap.children) == ([], [])
    assert (sitemap.trouble or "").startswith(trouble)


# --- Made to do harm -------------------------------------------------------------------------


def peak_bytes(body: bytes) -> tuple[Sitemap, int]:
    tracemalloc.start()
    try:
        sitemap = read_sitemap(body)
        return sitemap, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LAUGHS = "".join(f'<!ENTITY l{number} "{f"&l{number - 1};" * 10}">' for number in range(1, 10))


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE urlset [<!ENTITY l0 "https://a.example/">{LAUGHS}]>',
        '<!DOCTYPE urlset [<!ENTITY l9 SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE urlset [<!ENTITY l9 PUBLIC "x" "http://127.0.0.1:9/">]>',
        '<!DOCTYPE urlset [<!ENTITY % p SYSTEM "http://127.0.0.1:9/p.dtd"> %p;]>',
        "<!DOCTYPE urlset [<!ENTITY % p '<!ENTITY l9 \"x\">'> %p;]>",
        '<!DOCTYPE urlset [<!ENTITY l9 SYSTEM "x" NDATA gif>]>',
    ],
    ids=["laughs", "file", "network", "parameter", "nested", "unparsed"],
)
def test_entities_are_refused(doctype):
    body = f"<?xml version='1.0'?>{doctype}<urlset><url><loc>https://a.example/</loc></url><url><loc>&l9;</loc></url></urlset>"
    sitemap, peak = peak_bytes(body.encode())
    assert sitemap.pages == []
    assert "entities are refused" in (sitemap.trouble or "")
    assert peak < 1_000_000


@pytest.mark.parametrize("subset", ["", ' SYSTEM "http://127.0.0.1:9/sitemap.dtd"', " [<!ELEMENT urlset ANY>]"])
def test_a_doctype_alone_is_harmless(subset):
    body = f"<!DOCTYPE urlset{subset}><urlset><url><loc>https://a.example/</loc></url></urlset>"
    assert read_sitemap(body.encode()) == Sitemap([SitemapPage("https://a.example/")])


def test_urls_are_counted():
    urls = [f"https://a.example/{number}" for number in range(MAX_URLS + 1)]
    assert read_sitemap(write(*urls[:-1])).trouble is None
    for body in (write(*urls), write(*urls, root="sitemapindex", entry="sitemap"), "\n".join(urls).encode()):
        sitemap = read_sitemap(body)
        assert len(sitemap.pages) + len(sitemap.children) == MAX_URLS
        assert sitemap.trouble == "cut after 50000 URLs"


def pack_bomb(beginning: bytes, filling: bytes, megabytes: int = 200) -> bytes:
    packer = zlib.compressobj(wbits=31)
    chunk = filling * (1024 * 1024 // len(filling))
    return b"".join([packer.compress(beginning), *(packer.compress(chunk) for _ in range(megabytes)), packer.flush()])


HEAD = b"<urlset><url><loc>https://a.example/</loc></url>"


@pytest.mark.parametrize(
    ("beginning", "filling"),
    [
        (b"", b" "),
        (b"", b"\0"),
        (b"", b"a"),
        (b"https://a.example/\n", b"b"),
        (b"https://a.example/\n", b"\n"),
        (HEAD, b" "),
        (HEAD, b"<a/>"),
        (HEAD, b"<a>"),
        (HEAD + b"<url><loc>https://", b"a"),
        (HEAD + b"<url><loc><![CDATA[", b"a"),
        (HEAD + b"<url><loc>", b"&#97;"),
        (HEAD + b"<", b"a"),
        (HEAD + b"<a b='", b"c"),
        (HEAD + b"<a ", b" "),
        (HEAD + b"<!--", b"a"),
        (HEAD + b"<?a ", b"b"),
        (b"<!DOCTYPE urlset [<!--", b"a"),
        (b"<!DOCTYPE urlset [", b" "),
        (b"<!DOCTYPE urlset [", b"<!ELEMENT a ANY>"),
        (b"<", b"a"),
        (HEAD + b"<a ", b"b='c' "),
    ],
)
def test_a_bomb_is_read_in_flat_memory(beginning, filling, monkeypatch):
    monkeypatch.setattr(sitemaps, "MAX_DECODED_BYTES", 8 * 1024 * 1024)  # tracing is slow; flat is flat
    sitemap, peak = peak_bytes(pack_bomb(beginning, filling, megabytes=20))
    assert sitemap.trouble
    assert urls_of(sitemap) == ["https://a.example/"] * (b"https://a.example/" in beginning)
    assert peak < 4_000_000


@pytest.mark.parametrize("filling", ["<a%d/>", "<a b%d=''/>", "<a%d b%d=''/>"])
def test_a_million_names_are_not_kept(filling):
    body = HEAD + "".join(filling.replace("%d", str(number)) for number in range(300_000)).encode()
    sitemap, peak = peak_bytes(body)
    assert urls_of(sitemap) == ["https://a.example/"]
    assert "names" in (sitemap.trouble or "")
    assert peak < 4_000_000


def test_a_million_declarations_are_not_kept():
    body = b"<!DOCTYPE urlset [" + "".join(f"<!ELEMENT a{number} ANY>" for number in range(300_000)).encode() + b"]>"
    sitemap, peak = peak_bytes(body + HEAD)
    assert sitemap.trouble == "cut at a tag of more than 1048576 bytes"
    assert peak < 20_000_000


def test_a_bomb_ends_at_fifty_megabytes():
    assert read_sitemap(pack_bomb(HEAD, b" ")) == Sitemap(
        [SitemapPage("https://a.example/")], [], "cut after 52428800 bytes"
    )


def test_a_body_of_empty_gzip_members_ends():
    assert read_sitemap(gzip.compress(b"") * 10_000).trouble == "cut after 1000 gzip members"


def test_nested_elements_are_no_trouble():
    sitemap = read_sitemap(HEAD + b"<url>" * 100_000 + b"<loc>https://a.example/2</loc>")
    assert sitemap == Sitemap([SitemapPage("https://a.example/")], [], "cut after 103 elements, 101 deep, with 3 names")


xml_pieces = st.sampled_from(
    [b"<urlset>", b"</urlset>", b"<sitemapindex>", b"<url>", b"</url>", b"<sitemap>", b"</sitemap>", b"<loc>",
     b"</loc>", b"https://a.example/", b"<rss><channel>", b"<item>", b"</item>", b"<link>", b"</link>",
     b"<link href='http://a/'/>", b"<feed>", b"<entry>", b"</entry>", b"<guid>", b"</guid>", b"<lastmod>",
     b"</lastmod>", b"2024-01-01", b"<priority>", b"</priority>", b"1", b"<![CDATA[", b"]]>", b"<!--", b"-->",
     b"&amp;", b"&x;", b"<?xml version='1.0' encoding='", b"'?>", b"<!DOCTYPE a [", b"<!ENTITY x 'y'>", b"]>", b"\n",
     b"\xff\xfe", b"\xef\xbb\xbf", b"\x1f\x8b", b"\x1f\x8b\x08\0\0\0\0\0\0\0"]
)  # fmt: skip


@settings(max_examples=1000, deadline=None)
@given(body=st.lists(xml_pieces | st.binary(max_size=5), max_size=40).map(b"".join), packed=st.booleans())
def test_nothing_ever_raises(body, packed):
    sitemap = read_sitemap(gzip.compress(body) if packed else body)
    assert all(page.url.startswith("http") for page in sitemap.pages)
    assert sitemap.pages or sitemap.children or sitemap.trouble or b"<" in body


@settings(max_examples=200, deadline=None)
@given(cut=st.integers(0, 400), flip=st.integers(0, 400), packed=st.booleans())
def test_damage_anywhere_never_raises(cut, flip, packed):
    body = bytearray(gzip.compress(TWO) if packed else TWO)
    body[flip % len(body)] ^= 0x15
    assert len(read_sitemap(bytes(body[:cut] or body)).pages) <= 2
