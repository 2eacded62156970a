"""Does a page say here what it says in a browser? Chromium reads the same bytes, and is the judge."""

import asyncio
import shutil
from typing import Any, NamedTuple

import pytest

from crawler.parsing import parse_page
from crawler.render.chromium import find_chromium
from crawler.urls import canonicalise

pytestmark = pytest.mark.skipif(
    not shutil.which("chromium"), reason="needs chromium: apt install chromium, or ./run test, which does it"
)
URL = "http://page.example/folder/page.html"
QUESTION = """() => ({
    title: document.title,
    links: [...document.querySelectorAll("a,area,iframe,frame")].map(node => node.href ?? node.src),
    text: document.body.innerText ?? "",
})"""


class Case(NamedTuple):
    body: bytes
    content_type: str = "text/html; charset=utf-8"


MARKUP = [
    "<p>one<p>two<div>three<b>four</div>five</b>six<a href=/a>seven<a href=/b>eight",
    "<table>lost<tr><td>a <td>b<tr><th>c</table><table><div>in a table</div><tr><a href=/x>link</a><td>d</table>",
    "<table><colgroup><col>x</colgroup><tr><td>1<tfoot><tr><td>foot<tbody><tr><td>body</table>",
    "<form>a<form>b</form>c</form>d",
    "<frameset cols='*,*'><frame src=/f1><frame src=/f2><noframes>no <a href=/f3>frames</a></noframes></frameset>",
    "<template>hidden <a href=/t>x</a><title>t</title></template>shown",
    "<svg><title>icon</title></svg><title>page</title>",
    "<details open><summary>Sum</summary>inside <a href=/d>d</a></details>",
    "<p hidden>no<p>yes<span hidden>no</span>yes<div hidden=''>no</div><div hidden=false>no</div>",
    "<p style='display:none'>no<p>yes<i style='color:red; display:none !important'>no</i>yes",
    "<body hidden>all", "<body style='display: none'><p>all",
    "one<br>two<br/>three</br>four<wbr>five&shy;six", "<pre>\nline one\n  line   two\n\nthree</pre>",
    "<ul><li>a<ul><li>b<li>c</ul><li>d</ul><ol><li>e<p>f</ol><li>g<dl><dt>t<dd>d<dt>u</dl>",
    "<b>one</b><i>two</i> <span>three</span><span>four</span><my-element>five</my-element>",
    "a<iframe src=/if>fallback <a href=/in>x</a></iframe>b", "<dialog>closed</dialog><dialog open>open</dialog>",
    "a<!-- x -- y -->b<!-->c<!--->d<!--e--!>f<!g>h<?i?>j</ k>l<![CDATA[m]]>n",
    "&copy;&copy &notit; &amp;lt; &#x41;&#65 &#128; &nbsp;x&ensp;y &lt;b&gt; &AMP; &hellip;",
    "<a href=x>1</a><base target=_top><base href=/d/><base href=/e/><a href=y>2</a>",
    "<base href=''><base href=/z/><a href=y>2</a>", "<base href='data:text/html,x'><a href=y>2</a>",
    "<template><base href=/t/></template><base href=' /s/ '><a href=y>2</a>",
    "<a href=' /s p '>1</a><a href='/a\nb'>2</a><a href='//other.example/x'>3</a><a href='\\back\\x'>4</a>"
    "<a href='http:rel'>5</a><a href='/%zz'>6</a><a href='/ü?ü'>7</a><a href='HTTPS://X.Example:443/Y'>8</a>",
    "<title>a &lt;b&gt; &amp; <i>c</i></title><title>b</title>x", "<body><p>x<title> late \n title</title>",
    "<b>1<i>2</b>3</i>4<p>5<b>6<p>7</b>8<a href=/1>one<div>two<a href=/2>three</div>four</a>five",
    "<a href=/h><h2>Head</h2><p>para</p></a>tail<script>'<p>'<!-- x --></script>after",
    "before<style>p{} <p>never",
]  # fmt: skip
CHARSETS = [
    *(
        Case("мир и труд..".encode("koi8-r"), f"text/html; charset={label}")
        for label in ("koi8-r", '"KOI8-R"', "koi", "x-mac-cyrillic", "iso88595", "x-cp1251", "l1", "iso-8859-8-i",
                      "x-gbk", "windows-949", "dos-874", "sun_eu_greek", "utf-16be", "ucs-2", "x-x-big5", "ascii")
    ),
    *(
        Case(start.encode() + "мир и труд..".encode("cp1251"), "text/html")
        for start in (
            "<meta charset=windows-1251>", "<META\ncharset\n= 'CP1251'\n>",
            "<meta charset=nonsense><meta charset=cp1251>",
            "<meta http-equiv=Content-Type content='text/html; charset=windows-1251'>",
            "<meta content='text/html; charset=windows-1251' http-equiv=Content-Type>",
            "<!-- <meta charset=koi8-r> --><meta charset=windows-1251>",
            "<script>'<meta charset=koi8-r>'</script><meta charset=windows-1251>",
            "<title>x</title><p title='<meta charset=koi8-r>'><meta charset=windows-1251>",
            "<meta data-charset=koi8-r><meta charset=windows-1251>",
            "<meta name=description content='to write charset=koi8-r'><meta charset=windows-1251>",
            f"<head><script>{'x' * 1500}</script><meta charset=windows-1251></head>",
            "<?xml version='1.0' encoding='windows-1251'?>",
            "<?xml version='1.0' encoding='koi8-r'?><meta charset=windows-1251>",
        )
    ),
    Case("<meta charset=utf-16le>мир".encode(), "text/html"), Case(b"<meta charset=x-user-defined>\xe4.", "text/html"),
    Case("\ufeff<meta charset=koi8-r>мир".encode(), "text/html; charset=koi8-r"),
    Case("\ufeff<p>мир".encode("utf-16-be"), "text/html; charset=koi8-r"),
    Case("<?xml version='1.0'?><p>мир".encode("utf-16-le"), "text/html"),
    Case("<meta charset=koi8-r>мир".encode(), "text/html; charset=utf-8"),
    Case("<meta charset=koi8-r>мир".encode("koi8-r"), "text/html; charset=none-such"),
    Case(b"<p>Un caf\xe9, s'il vous pla\xeet.", "text/html"),
]  # fmt: skip
CASES = [*(Case(markup.encode()) for markup in MARKUP), *CHARSETS]


@pytest.fixture(scope="module")
def answers() -> dict[Case, dict[str, Any]]:
    return asyncio.run(ask_browser(CASES))


async def ask_browser(cases: list[Case]) -> dict[Case, dict[str, Any]]:
    """Without scripts, as we read pages, and without any network."""
    from playwright.async_api import Route, async_playwright

    answers = {}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
        page = await (await browser.new_context(java_script_enabled=False)).new_page()
        served: list[Case] = []

        async def answer(route: Route) -> None:
            if route.request.url == URL:
                await route.fulfill(body=served[-1].body, headers={"Content-Type": served[-1].content_type})
            else:
                await route.abort()

        await page.route("**/*", answer)
        for case in cases:
            served.append(case)
            await page.goto(URL, wait_until="domcontentloaded")
            answers[case] = await page.evaluate(QUESTION)
        await browser.close()
    return answers


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.body.decode("ascii", "replace")[:60])
def test_a_page_is_read_as_a_browser_reads_it(case, answers):
    answer = answers[case]
    page = parse_page(case.body, URL, case.content_type)
    assert page.title == answer["title"]
    # Where words are parted is a matter of style sheets.
    assert squeeze(page.text) == squeeze(answer["text"])
    links = {canonicalise(link).text for link in answer["links"] if link.startswith("http")}
    assert {link.text for link in page.links} == links


def squeeze(text: str) -> str:
    return "".join(text.replace("\xad", "").split())


def test_links_of_old_drawings_are_followed():
    page = parse_page(
        b"<svg><a xlink:href='/old'>x</a><a href='/new'>y</a><base xlink:href='/b'></svg><a href=/a>z</a>", URL
    )
    assert [link.text for link in page.links] == [f"http://page.example/{name}" for name in ("old", "new", "a")]
