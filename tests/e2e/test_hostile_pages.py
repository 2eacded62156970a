"""Can a page speak to the browser or the terminal of whoever searches? Scripts, quotes, control characters and terminal
escapes in everything that a page can say of itself.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from crawler.search.opening import IndexConfig, open_index
from crawler.search.searching import Results, search, suggest
from tests.faults.keeping import Engines
from tests.fleet import Fleet
from tests.search.engine_server import remove_index
from tests.web import Answer, Host, Site, WebServer, loopback

EVIL = "</title><script>alert('kumquat')</script>"
BELL = "\x1b]0;owned\x07\x1b[31mred\x1b[0m\x9b2J\u202egnp.exe\u2066\x00"
QUOTED = "\"'><img src=x onerror=alert(1)>"
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069]")
# As it stands in the link, and the path as it is asked for.
LINK = "/p'onload=x&quot;%3Cscript%3E?q=%3Csvg/onload=alert(1)%3E"
PATH = "/p'onload=x%22%3Cscript%3E"


def hostile_site() -> Site:
    """What is escaped in the HTML comes out of the parser as a script in the title or the text."""
    safe = EVIL.replace("<", "&lt;")
    head = (
        f'<meta name="description" content="kumquat {QUOTED.replace(chr(34), "&quot;")} {BELL}">'
        f'<meta name="keywords" content="kumquat, &lt;b&gt;{BELL}">'
    )
    pages = {
        "/": f"<title>kumquat {safe} {BELL}</title>{head}"
        f"<p>start kumquat &lt;script&gt;alert(2)&lt;/script&gt; {BELL}</p>"
        f'<a href="{LINK}">kumquat &lt;script&gt;anchor()&lt;/script&gt; {BELL}</a>'
        '<a href="javascript:alert(3)">kumquat js</a><a href="data:text/html,kumquat">kumquat data</a>',
        PATH.partition("?")[
            0
        ]: f"<title>{QUOTED} kumquat</title>{head}<h1>{safe}</h1><p>second kumquat {safe} {BELL}</p>",
    }
    return Site({loopback(1): Host(answers={path: [Answer(body=body)] for path, body in pages.items()})})


@pytest.fixture(params=["embedded", "opensearch"])
def crawled(request: pytest.FixtureRequest, redis_url: str, tmp_path: Path) -> Iterator[tuple[Engines, Fleet]]:
    engines = Engines(tmp_path)
    name = ""
    if request.param == "opensearch":
        url = request.getfixturevalue("opensearch_url")
        name = engines.use_index("opensearch", url, url)
    with WebServer(hostile_site(), tmp_path) as web, engines.fleet(redis_url) as fleet:
        fleet.seed(web.seeds())
        fleet.start()
        fleet.wait()
        assert len(web.served()) == 2, web.pages()
        yield engines, fleet
    if name:
        remove_index(url, name)


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


def check(results: Results) -> None:
    assert results.total_results == 2
    for result in results.results:
        assert set(Tags(result.title_html).found) <= {("mark", ())}, result.title_html
        assert set(Tags(result.snippet).found) <= {("mark", ())}, result.snippet
        assert "<mark>kumquat</mark>" in result.title_html + result.snippet
        for text in (result.url, result.title, result.title_html, result.snippet, result.host):
            assert not CONTROLS.search(text), ascii(text)
        assert result.url.startswith("http://127.0.0.1:")
        assert not set(result.url) & set("<>\"' ") - {"'"}, result.url


def test_what_pages_say_comes_out_escaped(crawled: tuple[Engines, Fleet]) -> None:
    engines, fleet = crawled

    async def ask() -> list[str]:
        index = open_index(IndexConfig.from_settings(engines.read()))
        await index.open()
        try:
            await index.refresh()
            documents = [document async for document in index.documents()]
            for field in ("title", "content", "anchors", "description"):  # it did come so far
                assert any("<" in getattr(document, field) for document in documents), field
            for text in ("kumquat", "title:kumquat", "alert kumquat", "kumqat~"):
                check(await search(index, text))
            return await suggest(index, "kum")
        finally:
            await index.close()

    suggestions = asyncio.run(ask())
    assert suggestions
    assert not any(CONTROLS.search(text) for text in suggestions)

    printed = fleet.command("search", "kumquat", "--json")
    assert printed.returncode == 0, printed.stderr
    assert not CONTROLS.search(printed.stdout)
    for result in json.loads(printed.stdout)["results"]:
        assert set(Tags(result["title_html"]).found) <= {("mark", ())}
        assert not any(CONTROLS.search(value) for value in result.values() if isinstance(value, str))

    shown = fleet.command("search", "kumquat")
    assert shown.returncode == 0, shown.stderr
    assert "kumquat" in shown.stdout
    assert not CONTROLS.search(re.sub(r"\x1b\[[0-9;]*m", "", shown.stdout)), ascii(shown.stdout)
    assert "\x1b[31mred" not in shown.stdout
    assert not CONTROLS.search(fleet.command("search", "--suggest", "kum").stdout)
