"""Is an empty shell told from a page?"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.render.shell import is_shell

PROSE = "<p>" + "Words that a reader can read without any script. " * 20 + "</p>"


@pytest.mark.parametrize(
    "body",
    [
        '<div id="root"></div><script src=/app.js></script>',
        "<div id=app>Loading…</div><script>boot()</script>",
        "<noscript>You need to enable JavaScript to run this app.</noscript><div></div><script src=a.js></script>",
        "<app-root></app-root><script type=module src=main.js></script>",
        "<script>document.write('everything')</script>",
    ],
)
def test_a_shell(body: str) -> None:
    assert is_shell(body.encode())


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<p>short, and without a script</p>",
        f'<div id="root">{PROSE}</div><script src=/app.js></script>',
        f"<noscript>Please enable JavaScript for comments.</noscript>{PROSE}<script src=a.js></script>",
        "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href=/4>4</a><script>track()</script>",
    ],
)
def test_a_page(body: str) -> None:
    assert not is_shell(body.encode())


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_have_an_answer(body: bytes) -> None:
    assert is_shell(b"<script>" + body) in {True, False}
