"""Are feeds read as feeds, also those that are no XML at all, and other XML as text and links?"""

import codecs
import time
import tracemalloc
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from crawler.parsing import Page, feeds, find_kind, markup, parse
from crawler.robots.directives import Obedience

URL = "https://example.com/news/feed.xml"


def read(text: str | bytes, content_type: str = "text/xml", **more: object) -> Page:
    body = text.encode() if isinstance(text, str) else text
    assert find_kind(body, content_type) == "xml"
    page = parse(body, URL, content_type, **more)
    assert len(page.links) == len(page.anchors)
    return page


def links(page: Page) -> list[str]:
    return [link.text for link in page.links]


def rss(*items: str, head: str = "<title>News</title>") -> str:
    inside = "".join(f"<item>{item}</item>" for item in items)
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{head}{inside}</channel></rss>'


def atom(*entries: str, head: str = "<title>News</title>") -> str:
    inside = "".join(f"<entry>{entry}</entry>" for entry in entries)
    return f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">{head}{inside}</feed>'


# --- What is XML -----------------------------------------------------------------------------

PAGE = '<?xml version="1.0"?>\n<!-- x -->\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x.dtd">\n<html>'


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (PAGE, "application/xhtml+xml", "html"),
        (PAGE, "text/xml", "html"),
        (PAGE, "text/html", "html"),
        (PAGE, "", "html"),
        ("<html>", "application/xml; charset=utf-8", "html"),
        ("no markup", "application/xhtml+xml", "html"),
        ("<rss>", "text/html", "xml"),
        ("\ufeff \n<?xml version='1.0'?><!-- <html> --><?style?><rss>", "text/html", "xml"),
        ("<rdf:RDF>", "text/html", "xml"),
        ("<!DOCTYPE rss [ <!ENTITY a '>'> ]><rss>", "", "xml"),
        ("<feed", "application/octet-stream", "xml"),
        ("<feedback>", "text/html", "html"),
        ("<p><rss>", "text/html", "html"),
        ("<opml>", "text/html", "html"),
        ("<opml>", "Text/XML", "xml"),
        ("x", "application/atom+xml", "xml"),
        ("", "application/rdf+xml", "xml"),
        ("<rss>", "text/plain", "plain"),
    ],
)
def test_what_is_read_as_xml(body, content_type, kind):
    assert find_kind(body.encode(), content_type) == kind
    assert find_kind(body.lstrip("\ufeff").encode("utf-16"), content_type) == kind


def test_a_page_in_xhtml_is_a_page():
    body = f"{PAGE}<head><title>A &amp; b</title></head><body><a href='/x'>x</a></body></html>".encode()
    page = parse(body, URL, "text/xml")
    assert (page.title, page.text, links(page)) == ("A & b", "x", ["https://example.com/x"])


# --- Feeds -----------------------------------------------------------------------------------


def test_rss():
    page = read(
        """<?xml version="1.0" encoding="utf-8"?>
        <rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"
             xmlns:content="http://purl.org/rss/1.0/modules/content/">
        <channel>
          <title>News of webs</title>
          <link>https://example.com/</link>
          <atom:link rel="self" type="application/rss+xml" href="https://example.com/self"/>
          <atom:link rel="hub" href="https://hub.example/"/>
          <atom:link rel="next" href="?page=2"/>
          <description>Spiders &amp; &lt;b&gt;silk&lt;/b&gt;</description>
          <language>en-gb</language>
          <pubDate>Mon, 06 May 2024 02:00:00 +0200</pubDate>
          <lastBuildDate>Tue, 07 May 2024 00:00:00 GMT</lastBuildDate>
          <category>silk</category><category>webs</category><category>silk</category>
          <docs>https://www.rssboard.org/rss-specification</docs>
          <image><title>A picture</title>
            <url>https://example.com/p.png</url><link>https://example.com/picture</link></image>
          <textInput><title>Search</title><link>https://example.com/search</link></textInput>
          <item>
            <title>First &amp; best</title>
            <link>https://example.com/first?a=1&amp;b=2</link>
            <guid isPermaLink="false">urn:x</guid>
            <description>The summary</description>
            <content:encoded><![CDATA[<p>All of it, <a href="/more">and more</a><script>x</script>]]></content:encoded>
            <comments>https://example.com/first?a=1&amp;b=2#comments</comments>
            <enclosure url="https://example.com/talk.mp3" length="1" type="audio/mpeg"/>
          </item>
          <item>
            <title>&lt;em&gt;Second&lt;/em&gt; &amp;#8211; by &lt;template&gt;</title>
            <guid>https://example.com/second</guid>
            <description>&lt;p&gt;Two&lt;p&gt;lines</description>
            <enclosure url="notes.pdf" type="application/pdf"/>
            <source url="https://elsewhere.example/feed">Elsewhere</source>
          </item>
        </channel></rss>"""
    )
    assert (page.title, page.description, page.lang) == ("News of webs", "Spiders & silk", "en")
    assert (page.published_at, page.modified_at) == (1714953600000, 1715040000000)
    assert page.keywords == ["silk", "webs"]
    assert page.headings == ["News of webs", "First & best", "Second – by <template>"]
    assert dict(zip(links(page), page.anchors, strict=True)) == {
        "https://example.com/": "News of webs",
        "https://example.com/news/feed.xml?page=2": "",
        "https://example.com/first?a=1&b=2": "First & best",
        "https://example.com/more": "and more",
        "https://example.com/second": "Second – by <template>",
        "https://example.com/news/notes.pdf": "",
    }
    assert page.text.splitlines() == [
        "News of webs", "Spiders & silk", "First & best", "All of it, and more", "Second – by <template>", "Two",
        "lines",
    ]  # fmt: skip
    assert page.main_text.startswith("First & best")


def test_rss_that_is_rdf():
    page = read(
        """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
                    xmlns:d="http://purl.org/dc/elements/1.1/">
        <channel rdf:about="https://example.com/about"><title>News</title><link>https://example.com/</link>
          <description>All</description><d:language>de</d:language><d:date>2024-05-06</d:date>
          <items><rdf:Seq><rdf:li rdf:resource="https://example.com/resource"/></rdf:Seq></items></channel>
        <image><title>Picture</title><link>https://example.com/picture</link></image>
        <item rdf:about="https://example.com/1"><title>One</title><link>https://example.com/1</link></item></rdf:RDF>"""
    )
    assert (page.title, page.description, page.lang, page.published_at) == ("News", "All", "de", 1714953600000)
    assert links(page) == ["https://example.com/", "https://example.com/1"]
    assert page.anchors == ["News", "One"]


def test_atom():
    page = read(
        """<?xml version="1.0"?>
        <a:feed xmlns:a="http://www.w3.org/2005/Atom" xml:lang="fr" xml:base="https://example.com/deep/">
        <a:title type="html">L&amp;#8217;actualité</a:title><a:subtitle>a &lt;b> c</a:subtitle>
        <a:updated>2024-05-06T00:00:00Z</a:updated><a:category term="soie" label="La soie"/>
        <a:link href="."/><a:link rel="self" href="feed"/><a:link rel="license" href="license"/>
        <a:entry xml:base="one/">
          <a:title>Use &lt;em> for this</a:title>
          <a:link rel="alternate" type="text/html" href="page"/><a:link rel="edit" href="edit"/>
          <a:link rel="enclosure" type="video/mp4" href="film"/><a:link rel="enclosure" type="text/plain" href="notes"/>
          <a:source><a:title>Elsewhere</a:title><a:link href="https://elsewhere.example/"/></a:source>
          <a:summary>short</a:summary>
          <a:content type="xhtml" xml:base="in/"><h:div xmlns:h="http://www.w3.org/1999/xhtml"><h:p>Some
            <h:i>text</h:i><h:br/>
            and <h:a name="x"/> &lt;not markup&gt;, <h:a href="there">a link</h:a>
            <h:a href="#x">up</h:a></h:p></h:div></a:content>
        </a:entry>
        <a:entry><a:title type="xhtml"><div>Two <b>three</b></div></a:title>
          <a:content type="html">&lt;p>four</a:content></a:entry>
        <a:entry><a:title>Five</a:title><a:content type="image/png">iVBORw0KGgo=</a:content></a:entry>
        <a:entry><a:title>Six</a:title><a:content type="text/html" src="six.html"/></a:entry>
        </a:feed>"""
    )
    assert (page.title, page.description, page.lang) == ("L’actualité", "a <b> c", "fr")
    assert (page.published_at, page.modified_at, page.keywords) == (0, 1714953600000, ["La soie"])
    assert dict(zip(links(page), page.anchors, strict=True)) == {
        "https://example.com/deep/": "L’actualité",
        "https://example.com/deep/one/page": "Use <em> for this",
        "https://example.com/deep/one/notes": "",
        "https://example.com/deep/one/in/there": "a link",
        "https://example.com/deep/six.html": "Six",
    }
    assert page.text.splitlines()[2:] == [
        "Use <em> for this", "Some text", "and <not markup>, a link up", "Two three", "four", "Five", "Six",
    ]  # fmt: skip


def test_an_entry_by_itself():
    page = read(
        '<entry xmlns="http://www.w3.org/2005/Atom"><title>One</title><link href="/1"/><content>two</content></entry>'
    )
    assert (page.title, page.text, links(page), page.anchors) == ("One", "One\ntwo", ["https://example.com/1"], ["One"])


def test_a_video_s_description_is_in_a_group():
    page = read(
        atom(
            "<title>A</title><link href='/v'/>"
            "<media:group><media:description>About it</media:description></media:group>"
        )
    )
    assert page.text == "News\nA\nAbout it"


words = st.text(st.sampled_from("ab<>&\"' ü]é雪;#"), min_size=1, max_size=20).filter(lambda text: "]]>" not in text)


@given(titles=st.lists(words, min_size=1, max_size=4), is_cdata=st.booleans())
def test_titles_are_those_that_a_parser_of_xml_finds(titles, is_cdata):
    feed = ElementTree.Element("feed")
    ElementTree.SubElement(feed, "title").text = "News"
    for title in titles:
        entry = ElementTree.SubElement(feed, "entry")
        ElementTree.SubElement(entry, "link", href="/x")
        ElementTree.SubElement(entry, "title").text = title
    text = ElementTree.tostring(feed, encoding="unicode")
    if is_cdata:
        written = text.split("<title>")[2].split("</title>")[0]
        text = text.replace(f"<title>{written}</title>", f"<title><![CDATA[{titles[0]}]]></title>", 1)
    expected = [" ".join(title.text.split()) for title in ElementTree.fromstring(text).findall("entry/title")]
    assert read(text).headings == ["News", *filter(None, expected)]


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<b>", "</b>", "<a href='/x'>", "</a>", "x ", "&amp;", "<br>", "ü", "<!-- y -->"]
        )
    ).map("".join)
)
def test_what_an_entry_says_is_what_a_browser_would_show_of_it(markup):
    """Escaped, in CDATA or both in parts."""
    half = len(markup) // 2
    escaped = ElementTree.tostring(_element("description", markup), encoding="unicode")
    mixed = f"<description><![CDATA[{markup[:half]}]]>{_element_text(markup[half:])}</description>"
    expected = "".join(LexborHTMLParser(markup).body.text().split()) if markup else ""
    for description in (escaped, f"<description><![CDATA[{markup}]]></description>", mixed):
        assert "".join(read(rss(description)).text.split()) == "News" + expected


def _element(name: str, text: str) -> ElementTree.Element:
    element = ElementTree.Element(name)
    element.text = text
    return element


def _element_text(text: str) -> str:
    return ElementTree.tostring(_element("x", text), encoding="unicode").removeprefix("<x />")[3:-4] if text else ""


# --- Feeds in the wild -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "text", "link"),
    [
        ("<title>A & B</title><link>/x?a=1&copy=2&b</link>", "A & B", "/x?a=1&b&copy=2"),
        ("<title>A&nbsp;&mdash;&hellip; &bogus;</title><link> \n/x </link>", "A —… &bogus;", "/x"),
        ("<title>A</title><dc:date>now</dc:date><wfw:x><link>/y</link></wfw:x><link>/x</link>", "A", "/x"),
        ("<TITLE>A</TITLE><Link>/x</Link>", "A", "/x"),
        ("<title><![CDATA[A]]> <![CDATA[&amp; B]]></title><link><![CDATA[/x]]></link>", "A & B", "/x"),
        ("<title>A</title><link>/x</link><description>one<br>two <b>three</description>", "A\none\ntwo three", "/x"),
        ("<title>A</title><link>/x</link></oops></b><description>2 < 3</description>", "A\n2 < 3", "/x"),
        ("<title>A</title><link href='/x' /><media:title>B</media:title>", "A", "/x"),
        ("<title/><description>A</description><link>/x</link>", "A", "/x"),
        ("<title>A</title><link>/x</link><description><!-- no -->yes<?no?></description>", "A\nyes", "/x"),
        ("<title>&#65;&#x42;&#0;&#xD800;&#99999999;</title><link>/x</link>", "AB\ufffd\ufffd&#99999999;", "/x"),
        ("<title>A</title><link>/x</link><description>&lt;textarea&gt;&lt;!-- &lt;plaintext></description>", "A", "/x"),
    ],
)  # fmt: skip
def test_what_is_no_xml_is_read_all_the_same(item, text, link):
    page = read(rss(item, "<title>The next</title><link>/next</link>"))
    assert page.text == f"News\n{text}\nThe next"
    assert links(page) == [f"https://example.com{link}", "https://example.com/next"]
    assert page.anchors[-1] == "The next"


@pytest.mark.parametrize(
    "date", ["Mon, 6 May 2024 00:00 GMT", "6 May 2024", "2024-05-06T02:00:00+02:00", "May 6, 2024"]
)
def test_dates_as_they_are_written(date):
    head = (
        f"<title>x</title><pubDate>soon</pubDate><dc:date>0000-00-00</dc:date><dcterms:created>{date}</dcterms:created>"
    )
    assert read(rss(head=head)).published_at == 1714953600000


def test_entries_whose_end_was_forgotten():
    page = read(
        "<rss><channel><title>T</title><item><title>A</title><link>/a</link><item><title>B</title><link>/b</link>"
    )
    assert page.headings == ["T", "A", "B"]
    assert links(page) == ["https://example.com/a", "https://example.com/b"]


def test_what_came_before_the_end_of_a_truncated_feed():
    whole = rss(
        "<title>A</title><link>https://example.com/a</link>", "<title>B</title><link>https://example.com/bbb</link>"
    )
    for length in range(whole.index("https://example.com/bbb"), len(whole)):
        page = read(whole[:length])
        assert page.headings == ["News", "A", "B"]
        assert links(page) in (["https://example.com/a"], ["https://example.com/a", "https://example.com/bbb"])


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (
            b'<?xml version="1.0" encoding="koi8-r"?>' + rss(head="<title>мир</title>").encode("koi8-r"),
            "text/xml",
        ),
        (codecs.BOM_UTF8 + rss(head="<title>мир</title>").encode(), "text/xml; charset=latin-1"),
        (rss(head="<title>мир</title>").encode("utf-16"), "text/xml"),
        (rss(head="<title>мир</title>").encode("cp1251"), "application/rss+xml; charset=windows-1251"),
        (rss(head="<title>мир</title>").encode(), "application/rss+xml"),
    ],
)
def test_charsets(body, content_type):
    assert read(body, content_type).title == "мир"


# --- What a feed asks ------------------------------------------------------------------------


def test_what_feeds_ask_of_crawlers():
    head = '<title>x</title><xhtml:meta xmlns:xhtml="http://www.w3.org/1999/xhtml" name="robots" content="noindex"/>'
    item = "<title>a</title><link>/a</link><description>&lt;a href=/b rel=nofollow&gt;</description>"
    page = read(rss(item, head=head))
    assert page.noindex
    assert (links(page), page.bad_links) == (["https://example.com/a"], {"nofollow": 1})
    assert not read(rss(item, head=head), obey=Obedience(meta_robots=False)).noindex
    page = read(rss(item), x_robots_tag=["none"])
    assert (page.noindex, page.links, page.bad_links) == (True, [], {"nofollow": 2})


def test_what_an_entry_quotes_is_no_wish_of_the_feed():
    quoted = "&lt;meta name=robots content=none&gt;&lt;base href=//evil.example/&gt;"
    item = f"<title>a</title><description>{quoted}</description>"
    page = read(rss(item, "<title>b</title><link>/b</link>"))
    assert (page.noindex, links(page)) == (False, ["https://example.com/b"])


# --- Other XML -------------------------------------------------------------------------------


def test_other_xml_is_text_and_links():
    page = read(
        """<?xml version="1.0"?><!DOCTYPE book SYSTEM "docbook.dtd" [<!ENTITY v "1.0">]>
        <book xml:lang="de" xmlns:xlink="http://www.w3.org/1999/xlink">
        <info><title>Das  Buch</title><title>x</title></info>
        <para>Ein <emphasis>kurzer</emphasis> Satz mit <link xlink:href="/ziel">einem Ziel</link>.</para>
        <row><cell>1</cell><cell>2 &lt; 3</cell></row><![CDATA[<b>]]></book>"""
    )
    assert (page.title, page.lang) == ("Das Buch", "de")
    assert page.text == "Das Buch\nx\nEin kurzer Satz mit einem Ziel.\n1\n2 < 3\n<b>"
    assert (links(page), page.anchors) == (["https://example.com/ziel"], ["einem Ziel"])


def test_outlines_and_sitemaps_lead_somewhere():
    page = read(
        "<opml><head><title>Blogs</title></head><body>"
        '<outline text="One" htmlUrl="/one" xmlUrl="/one.xml"/></body></opml>'
    )
    assert (page.title, page.text) == ("Blogs", "Blogs\nOne")
    assert dict(zip(links(page), page.anchors, strict=True)) == {
        "https://example.com/one": "One", "https://example.com/one.xml": "",
    }  # fmt: skip
    page = read("<urlset><url><loc>\nhttps://example.com/a?b=1&amp;c=2 </loc><lastmod>2024</lastmod></url></urlset>")
    assert links(page) == ["https://example.com/a?b=1&c=2"]


def test_what_is_only_called_as_a_feed_is():
    page = read("<feed><product><name>Silk</name><url>https://example.com/silk</url></product></feed>")
    assert (page.text, links(page)) == ("Silk\nhttps://example.com/silk", ["https://example.com/silk"])


# --- Made to harm ----------------------------------------------------------------------------

BOMB = """<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
    <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d SYSTEM "file:///etc/passwd">
    <!ENTITY % e SYSTEM "http://127.0.0.1/">%e;]>"""


def test_entities_neither_expand_nor_fetch():
    page = read(BOMB + rss("<title>&c;&d;</title>").removeprefix('<?xml version="1.0"?>'))
    assert page.text == "News\n&c;&d;"


START = "<rss><channel><title>News</title><item><title>One</title><link>/1</link></item>"
SIZE = 300_000
FLOODS = [
    "<a>", "</a>", "<a/>", "<item>", "<item></item>", "<item><title>x</title></item>", "<", "<a b='", '<a "',
    "<a =", "<!", "<!D[", "<![CDATA[", "<![CDATA[]]>", "<!--", "<!---->", "<?", "<title>",
    "<item><link>/x</link>", "&", "&amp;", "]]>", "<item xml:base='x/'>", "<category>x</category>",
    "<description>&lt;div>", "<item><description>&lt;plaintext>",
]  # fmt: skip


@pytest.mark.parametrize("flood", [*FLOODS, "<link ", "<link a", "<item><description>", "<item><description>&lt;b>x"])
def test_a_flood_ends_and_what_came_before_is_kept(flood):
    last = flood[-1] if flood not in FLOODS else flood
    body = (START + flood + last * (SIZE // len(last))).encode()
    started = time.process_time()
    page = read(body)
    assert time.process_time() - started < 4  # of CPU; the quadratic ways that these are about take minutes
    assert page.headings[:2] == ["News", "One"]
    assert "https://example.com/1" in links(page)


@pytest.mark.parametrize(
    ("module", "limit", "flood"),
    [(markup, "MAX_NESTING", "<a>"), (markup, "MAX_TAGS", "<x></x>"), (feeds, "MAX_ENTRIES", "<item></item>")],
)
def test_what_has_no_end_is_cut(monkeypatch, module, limit, flood):
    monkeypatch.setattr(module, limit, 1000)
    body = (START + flood * (5_000_000 // len(flood))).encode()
    tracemalloc.start()
    page = read(body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * len(body)  # it and its text
    assert page.is_cut
    assert page.headings == ["News", "One"]


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([*FLOODS, "<feed>", "</item>", "</title>", "<content type='xhtml'>", "<link href='", ">", "'",
                         "x", "\x00", "http://[", "\ud800", "<p:title xmlns:p=''>", "<media:title>", "<b>", "</b>"]),
        max_size=30,
    ).map("".join)
)  # fmt: skip
def test_any_mixture_is_a_page(text):
    for start in ("<rss>", "<feed>", "<x>"):
        page = read((start + text).encode("utf-8", "replace"))
        for one in (page.title, page.description, page.text, *page.headings, *page.anchors):
            one.encode()
            assert one == one.strip()
