"""Are plain text and PDF read as what they are, and does a file that breaks its reader break nothing else?"""

import os
import signal
import zlib

import pytest

from crawler.parsing import find_kind, parse, parse_pdf, parse_plain, pdf
from crawler.parsing.text import MAX_TEXT_LENGTH
from crawler.robots.directives import Obedience

URL = "https://example.com/file"


# --- Which reader ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "body", "kind"),
    [
        ("text/html", b"%PDF-1.4", "html"),
        ("", b"<p>", "html"),
        ("", b"\n%PDF-1.4", "pdf"),
        ("application/octet-stream", b"%PDF-1.4", "pdf"),
        ("Application/PDF; x=y", b"", "pdf"),
        ("text/plain; charset=utf-8", b"<p>", "plain"),
        ("application/rss+xml", b"<rss>", "xml"),
        ("nonsense", b"", "html"),
    ],
)
def test_the_type_chooses_the_reader(content_type, body, kind):
    assert find_kind(body, content_type) == kind


def test_each_reader_is_reached():
    assert parse(b"<a href=/x>x</a>", URL, "text/html").links
    assert parse(b"<a href=/x>x</a>", URL, "text/plain").text == "<a href=/x>x</a>"
    assert parse(build_pdf(["Hello"]), URL, "application/pdf").text == "Hello"


@pytest.mark.parametrize("content_type", ["application/xhtml+xml", "Text/XML; charset=utf-8"])
def test_what_xhtml_closes_where_it_begins_is_empty(content_type):
    body = b"""<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title>
        <script src="a.js"/><style title='a/b' /><link rel="x" href="/y"/></head><body><a id="top"/><div class="a > b"/>
        <p>one<br/>two <a href="/x/">link</a></p><textarea/><i class="icon"/><p>three</p></body></html>"""
    page = parse(body, URL, content_type)
    assert (page.title, page.text) == ("t", "one\ntwo link\nthree")
    assert [link.text for link in page.links] == ["https://example.com/x/"]
    assert page.anchors == ["link"]
    assert parse(body, URL, "text/html").text == ""  # as browsers read it


# --- Plain text ------------------------------------------------------------------------------


def test_plain_text():
    page = parse_plain(b"\n  A  title\n\nthe text of it is\there, and that is all of it for you\n")
    assert page.title == "A title"
    assert page.text == page.main_text == "A title\nthe text of it is here, and that is all of it for you"
    assert (page.lang, page.charset, page.links, page.is_cut) == ("en", "utf-8", [], False)


def test_plain_text_in_another_charset_and_language():
    page = parse_plain("Grüße".encode("latin-1"), "text/plain; charset=latin-1", content_language="de-CH")
    assert (page.text, page.charset, page.lang) == ("Grüße", "cp1252", "de")


@pytest.mark.parametrize("body", [b"", b"\x00" * 100, b"\xff\xfe\x00\xd8", bytes(range(256)) * 50])
def test_any_bytes_are_a_plain_text(body):
    parse_plain(body).text.encode()


def test_a_plain_text_has_an_end():
    page = parse_plain(b"word " * 1_000_000)
    assert len(page.text) <= MAX_TEXT_LENGTH
    assert page.is_cut
    assert len(page.title) <= 200


def test_files_can_ask_not_to_be_kept():
    assert parse_plain(b"x", "", ["noindex"]).noindex
    assert not parse_plain(b"x", "", ["noindex"], Obedience(x_robots_tag=False)).noindex
    assert parse_pdf(build_pdf(["x"]), ["noindex"]).noindex


# --- PDF -------------------------------------------------------------------------------------


def build_pdf(pages: list[str], info: str = "", *, content: bytes | None = None) -> bytes:
    """As small as a PDF can be. ``content`` replaces the drawing of the text of every page."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for text in pages:
        stream = content if content is not None else f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode()
        packed = zlib.compress(stream)
        objects.append(b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed))
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R/Resources<</Font<</F1 3 0 R>>>>>>"
            % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<</Type/Pages/Kids[%s]/Count %d>>" % (b" ".join(kids), len(kids))
    objects.append(f"<<{info}>>".encode())
    body = b"%PDF-1.4\n"
    places = []
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (len(objects) + 1, table, len(objects) + 1, len(objects), len(body))
    )


def test_a_pdf_has_text_title_and_dates():
    info = (
        "/Title(About webs)/Subject(Silk)/Keywords(spider; web)"
        "/CreationDate(D:20240506020000+02'00')/ModDate(D:99991231)"
    )
    page = parse_pdf(build_pdf(["The first page", "and the second one"], info))
    assert page.trouble == ""
    assert page.text == "The first page\nand the second one"
    assert (page.title, page.description, page.keywords) == ("About webs", "Silk", ["spider", "web"])
    assert (page.published_at, page.modified_at) == (1714953600000, 0)
    assert not page.is_cut


def test_a_pdf_is_read_up_to_its_limits():
    page = parse_pdf(build_pdf(["one", "two", "three"]), max_pages=2)
    assert page.text == "one\ntwo"
    assert page.is_cut
    assert page.title == "one"


@pytest.mark.parametrize(
    "body",
    [b"", b"%PDF-1.4", b"nonsense", build_pdf(["x"])[:200], b"%PDF-1.4\n" + bytes(range(256)) * 1000,
     b"%PDF-1.4\n1 0 obj" + b"<<" * 100_000],
)  # fmt: skip
def test_a_broken_pdf_says_so(body):
    page = parse_pdf(body)
    assert "PDF" in page.trouble
    assert page.text == ""


def test_one_broken_page_does_not_hide_the_others():
    body = build_pdf(["one", "two", "three"])
    assert body.count(b"[5 0 R 7 0 R 9 0 R]") == 1
    page = parse_pdf(body.replace(b"[5 0 R 7 0 R 9 0 R]", b"[5 0 R 99 0 R 9 0 R]"))
    assert (page.text, page.trouble, page.is_cut) == ("one\nthree", "", True)
    assert "PDF" in parse_pdf(body.replace(b"[5 0 R 7 0 R 9 0 R]", b"[95 0 R 97 0 R 99 0 R]")).trouble


def test_a_word_that_a_pdf_breaks_at_the_end_of_a_line_is_one_word():
    draw = b"BT /F1 12 Tf 14 TL 50 700 Td (An exam-) Tj T* (ple of silk) Tj ET"
    assert parse_pdf(build_pdf(["x"], content=draw)).text == "An example of silk"


def test_a_pdf_that_takes_too_long_is_left():
    draw = b"BT /F1 12 Tf 50 700 Td (word) Tj ET\n" * 3_000_000
    page = parse_pdf(build_pdf(["x"], content=draw), max_seconds=0.5)
    assert "0.5 s" in page.trouble


def test_a_pdf_that_is_too_large_is_not_read(monkeypatch):
    monkeypatch.setattr(pdf, "MAX_PDF_BYTES", 100)
    assert "at most 100" in parse_pdf(build_pdf(["x"])).trouble


@pytest.mark.parametrize(
    "fault",
    [f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})", "import os; os.abort()", "print('[1]')",
     "print('no JSON')", "raise SystemExit(3)", "import sys; sys.stdin.close(); print('{')"],
)  # fmt: skip
def test_a_reader_that_dies_is_told_and_harms_nobody(monkeypatch, fault):
    monkeypatch.setattr(pdf, "_reader_source", lambda: fault)
    page = parse_pdf(build_pdf(["x"]) + b"\n" * 1_000_000)
    assert "the process that reads PDF ended" in page.trouble


def test_a_reader_cannot_take_all_memory(monkeypatch):
    source = pdf._reader_source()
    greedy = source.replace("document = pypdfium2", "hoard = bytearray(3 << 30); document = pypdfium2")
    assert greedy != source
    monkeypatch.setattr(pdf, "_reader_source", lambda: greedy)
    assert "more than 1024 MB" in parse_pdf(build_pdf(["x"])).trouble


def test_a_reader_knows_no_secrets(monkeypatch):
    monkeypatch.setitem(os.environ, "CRAWLER_REDIS_URL", "redis://:secret@host")
    tell = "import json, os; print(json.dumps({'text': ' '.join(os.environ)}))"
    monkeypatch.setattr(pdf, "_reader_source", lambda: tell)
    assert "CRAWLER" not in parse_pdf(b"x").text
