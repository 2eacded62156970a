"""Does a page have one URL, whatever session a server writes into it?"""

import pytest

from crawler.urls import canonicalise

HASH = "0123456789abcdef0123456789ABCDEF"


@pytest.mark.parametrize(
    "text",
    [
        "/a/b.jsp?x=1;jsessionid=no",
        "/a/b.jsp;jsessionid=1F2E3D.node1?x=1",
        "/a;JSESSIONID=1F2E3D/b.jsp?x=1",
        "/a/b.jsp?PHPSESSID=r2t5uvjq435r4q7ib3vtdjq120&x=1",
        "/a/b.jsp?jsessionid=0000abc&x=1",
        f"/a/b.jsp?sid={HASH}&x=1",
        f"/a/b.jsp?s={HASH}&x=1",
        "/a/b.jsp?CFID=123&CFTOKEN=456&x=1&osCsid=abc&zenid=def",
        "/a/b.jsp?ASPSESSIONIDAQABTCCD=NKPKLEDAGFBMLJ&ASP.NET_SessionId=x&x=1",
    ],
)
def test_a_session_is_not_part_of_a_url(text):
    plain = "https://example.com/a/b.jsp?x=1" + (";jsessionid=no" if text.endswith("no") else "")
    assert canonicalise(f"https://example.com{text}").text == plain
    assert canonicalise(text, "https://example.com/").text == plain


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/story?sid=12/05/1234",
        "https://example.com/?s=search+words",
        "https://example.com/?sid=beefcafe",
        "https://example.com/a;v=2/b",
        "https://example.com/?session=12",
        "https://example.com/sessions/PHPSESSID",
    ],
)
def test_what_only_looks_like_a_session_stays(text):
    assert canonicalise(text).text == text
