"""Is the text of a page what a reader sees, are its headings found, and its links called what they are called?"""

import pytest

from crawler.parsing import parse_page
from crawler.parsing.text import MAX_ANCHOR_LENGTH, MAX_TEXT_LENGTH

URL = "https://example.com/a/"


def text_of(html: str) -> str:
    return parse_page(html.encode(), URL).text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("foo<b>bar</b>", "foobar"),
        ("foo<span> bar</span><i>baz</i>", "foo barbaz"),
        ("<p>one</p><p>two</p>", "one\ntwo"),
        ("one<div>two</div>three", "one\ntwo\nthree"),
        ("<p>one<p>two<li>three", "one\ntwo\nthree"),
        ("a<br>b<br/>c<hr>d", "a\nb\nc\nd"),
        ("<table><tr><td>1<td>2<tr><th>3<td>4</table>", "1 2\n3 4"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "a\nb\nc"),
        ("<dl><dt>term<dd>meaning</dl>", "term\nmeaning"),
        ("  many \n\t spaces&nbsp;&nbsp;here \u3000 and\xa0there ", "many spaces here and there"),
        ("a &amp;amp; b &lt;p&gt; &quot;c&quot; &#x27;d&#39; &copy;", "a &amp; b <p> \"c\" 'd' ©"),
        ("1 < 2 & 3 > 2", "1 < 2 & 3 > 2"),
        ("sil\xadben\u200btrennung wo<wbr>rd", "silbentrennung word"),
        ("<p>\ufeff<p>\ufeffno\u2060thing", "nothing"),
        ("a<button>b</button>c", "a b c"),
        ("a<img src=x alt=picture>b", "a b"),
        ("<a href=x>one</a><a href=y>two</a>", "onetwo"),
        ("<a href=x>one</a> <a href=y>two</a>", "one two"),
        ("<a href=x><div>one</div></a><a href=y><div>two</div></a>", "one\ntwo"),
        ("<x-own>foo</x-own>bar", "foobar"),
        ("<math><mi>x</mi><mo>=</mo><mn>1</mn></math>", "x=1"),
        ("<details><summary>more</summary>inside</details>", "more\ninside"),
        ("<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>", "漢かん"),
        ("<frameset><frame src=a><noframes>old</noframes></frameset>", ""),
        ("", ""),
    ],
)
def test_blocks_are_lines_and_words_stay_whole(html, text):
    assert text_of(html) == text


@pytest.mark.parametrize(
    "unseen",
    [
        "<script>var a = '<p>x</p>'</script>", "<style>p { x }</style>", "<template><p>x</p></template>",
        "<noscript><b>x</b></noscript>", "<svg><title>x</title><text>x</text></svg>", "<!-- <p>x</p> -->",
        "<p hidden>x</p>", "<span hidden>x<span>x</span>x</span>", "<div HIDDEN=''><div>x</div>x</div>",
        "<div style='color: red; display: none'>x<div>x</div></div>", "<b style=display:none>x</b>",
        "<p style='DISPLAY: none'>x</p>", "<p style='display : none;'>x</p>",
        "<p style='a:b;display:none!important'>x</p>",
        "<p style='a: url(&quot;x&quot;);\ndisplay:none\n'>x</p>",
        "<textarea>x</textarea>", "<select><option>x</select>", "<dialog>x</dialog>", "<datalist><option>x</datalist>",
        "<iframe src=/f><p>x</p></iframe>", "<object>x</object>", "<video>x</video>", "<canvas>x</canvas>",
        "<title>x</title>", "<noembed><p>x</noembed>", "<style><!-- <p>x</p> --></style>",
        "<img hidden alt=x>", "<input hidden value=x>", "<svg><script>x</script><style>x</style></svg>",
        "<noscript><template><script>x</script></template></noscript>", "<!---->", "<!-->", "<?php x ?>",
    ],
)  # fmt: skip
def test_what_is_not_shown_is_not_read(unseen):
    assert text_of(f"<p>before</p>{unseen}<p>after <b>it</b></p>") == "before\nafter it"


@pytest.mark.parametrize(
    "shown",
    ["<p aria-hidden=true>x</p>", "<p hidden=until-found>x</p>", "<dialog open>x</dialog>", "<p title=' hidden='>x</p>",
     "<p style='display: block'>x</p>", "<p class=hidden>x</p>", "<p data-x='display:none'>x</p>",
     "<p style='--display:none'>x</p>", "<p style='display:nonesuch'>x</p>",
     "<p style='content:&quot;display:none&quot;'>x</p>", "<div hidden id='S:1f'><p>x</p></div>"],
)  # fmt: skip
def test_what_is_shown_is_read(shown):
    assert text_of(f"a{shown}b<i>c</i>") == "a\nx\nbc"


def test_a_hidden_word_in_a_page_of_many_hidden_parts():
    hidden = "<p hidden>x</p>" * 100 + "a<span hidden>x</span>b"
    assert text_of(hidden) == "ab"


def test_headings_of_three_levels():
    html = """<header><h1>The <em>big</em> one<a href="#x">¶</a></h1></header><nav><h2>Menu</h2></nav>
        <main><h2>Two<br>lines</h2><h3><a href=/x>linked</a></h3><h4>four</h4><h2></h2></main>
        <div role=navigation><h3>Also a menu</h3></div><h2>Last &amp; least</h2>"""
    page = parse_page(html.encode(), URL)
    assert page.headings == ["The big one", "Two lines", "linked", "Last & least"]
    assert "Menu" in page.text
    assert "¶" not in page.text


# --- Anchors ---------------------------------------------------------------------------------


def anchors_of(html: str) -> dict[str, str]:
    page = parse_page(html.encode(), URL)
    return {
        link.text.removeprefix("https://example.com"): name for link, name in zip(page.links, page.anchors, strict=True)
    }


@pytest.mark.parametrize(
    ("html", "name"),
    [
        ("<a href=/x> Some <b>bold</b>\n text </a>", "Some bold text"),
        ("<a href=/x>R&amp;D &lt;1&gt;</a>", "R&D <1>"),
        ("<a href=/x><img alt='A picture' src=p></a>", "A picture"),
        ("<a href=/x><img alt='Logo'> Home</a>", "Logo Home"),
        ("<a href=/x><img alt='Home'> Home page</a>", "Home page"),
        ("<a href=/x><img alt='&quot;q&quot; &amp;'></a>", '"q" &'),
        ("<a href=/x><svg><title>no</title></svg></a>", ""),
        ("<a href=/x aria-label='Our  code'><svg></svg></a>", "Our code"),
        ("<a href=/x title='Hint'>Text</a>", "Text"),
        ("<a href=/x><h3>Card</h3><p>with text</p></a>", "Card with text"),
        ("<a href=/x></a><a href=/x>later</a><a href=/x>last</a>", "later"),
        ("<a href='  /x  '>spaced</a>", "spaced"),
        ("<a name=y>not</a><a href=/x>but<a name=z>this</a>", "but"),
        ("<area href=/x alt=map>", ""),
        ("<iframe src=/x>frame</iframe>", ""),
        ("<a href=/x>never closed", "never closed"),
        ("<p hidden><a href=/x>hidden</a></p>", ""),
        ("<a href=/x><p hidden>hidden</p>seen</a>", "seen"),
        ("a<table><tr><td><a href=/x>cell</a></table>", "cell"),
    ],
)
def test_what_a_link_is_called(html, name):
    assert anchors_of(html) == {"/x": name}


def test_anchors_are_in_the_order_of_the_links():
    html = "<a href='/b?y=2&amp;x=1'>one</a><a href='http://['>bad</a><a href=/c#d>two</a><a href=/b?x=1&y=2>three</a>"
    assert anchors_of(html) == {"/b?x=1&y=2": "one", "/c": "two"}


def test_a_link_with_two_spellings_has_the_first_name_that_is_none_empty():
    assert anchors_of("<a href=/x#a><i></i></a><a href=/x#b>named</a>") == {"/x": "named"}


def test_anchors_have_an_end():
    [name] = anchors_of(f"<a href=/x>{'word ' * 10_000}</a>").values()
    assert name == ("word " * (MAX_ANCHOR_LENGTH // 5)).strip()


def test_a_page_that_forbids_to_follow_has_no_anchors():
    page = parse_page(b"<meta name=robots content=nofollow><a href=/x>x</a>", URL)
    assert page.links == page.anchors == []
    assert page.text == "x"


# --- Bounds ----------------------------------------------------------------------------------


def test_a_text_has_an_end_and_says_so():
    page = parse_page(b"<p>" + b"word " * 500_000 + b"<p>end", URL)
    assert len(page.text) <= MAX_TEXT_LENGTH
    assert page.is_cut
    page = parse_page(b"<p>word" * 300_000, URL)
    assert MAX_TEXT_LENGTH - 10 < len(page.text) <= MAX_TEXT_LENGTH + 10
    assert page.is_cut


def test_tags_are_read_across_windows():
    """A page whose markup is read in many pieces has the text of all of them."""
    html = "".join(f"<p class='{'c' * 50}'>line {i} <b>b</b><a href=/{i}>link {i}</a></p>" for i in range(9000))
    page = parse_page(html.encode(), URL)
    assert page.text.split("\n") == [f"line {i} blink {i}" for i in range(9000)]
    assert page.anchors == [f"link {i}" for i in range(9000)]


def test_without_text_there_are_links_all_the_same():
    html = b"<html lang=en><title>t</title><meta name=description content=d><p>text</p><a href=/x>x</a>"
    page = parse_page(html, URL, with_text=False)
    assert (page.title, len(page.links), page.anchors, page.text) == ("t", 1, [""], "")
