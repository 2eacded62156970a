"""Which few lines show why a page was found, and is all of it safe?"""

import html
import re
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.errors import BadQuery
from crawler.search.grammar import parse
from crawler.search.highlighting import Highlighter, fold_letters
from crawler.search.snippets import SNIPPET_LENGTH, mark, plain, snippet
from tests.search.pages import page


def show(text: str, query: str, lang: str = "en") -> str:
    return snippet(page("a", content=text, lang=lang), Highlighter(parse(query).part, lang))


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("A word here.", "word", "A <mark>word</mark> here."),
        ("A WORD, wordy", "word", "A <mark>WORD</mark>, wordy"),
        ("crawled while crawling crawlers", "crawl", "<mark>crawled</mark> while <mark>crawling</mark> crawlers"),
        ("used by using it", "use", "<mark>used</mark> by <mark>using</mark> it"),
        ("tries to try", "try", "<mark>tries</mark> to <mark>try</mark>"),
        ("Ein Café", "cafe", "Ein <mark>Café</mark>"),
        ("a cafe", "café", "a <mark>cafe</mark>"),
        ("Ein cafe\u0301 hier", "café", "Ein <mark>café</mark> hier"),
        ("x\u0331 y", "x", "<mark>x\u0331</mark> y"),
        ("Łódź, Søren", "lodz soren", "<mark>Łódź</mark>, <mark>Søren</mark>"),
        ("asyncio async", "asyn*", "<mark>asyncio</mark> <mark>async</mark>"),
        ("wild wold weld!", "w?ld", "<mark>wild</mark> <mark>wold</mark> <mark>weld</mark>!"),
        ("aXbYcb abcb abc", "a*b?c*b", "<mark>aXbYcb</mark> abcb abc"),
        ("aabab bab", "*ab", "<mark>aabab</mark> <mark>bab</mark>"),
        ("asynchronous", "asyncronous~", "<mark>asynchronous</mark>"),
        ("wrods near, words", "words~ near~ absent~", "<mark>wrods</mark> <mark>near</mark>, <mark>words</mark>"),
        ("read_csv(x)", "read_csv", "<mark>read</mark>_<mark>csv</mark>(x)"),
        ("one two", '"one two"', "<mark>one</mark> <mark>two</mark>"),
        ("red green", "red -green", "<mark>red</mark> green"),
        ("red green", "red OR green", "<mark>red</mark> <mark>green</mark>"),
        ("東京都に住む", "京都", "東<mark>京都</mark>に住む"),
        ("a <b>word</b> & more", "word", "a &lt;b&gt;<mark>word</mark>&lt;/b&gt; &amp; more"),
        ("x &amp; y", "amp", "x &amp;<mark>amp</mark>; y"),
        ("line\n\n  line\tend", "end", "line line <mark>end</mark>"),
        ("nothing of it", "absent", "nothing of it"),
    ],
)  # fmt: skip
def test_words_are_marked_and_all_else_is_escaped(text, query, shown):
    assert show(text, query) == shown


def test_the_best_place_is_shown():
    filler = "Some other sentence of no interest. " * 40
    text = f"rebase {filler} interactive {filler} an interactive rebase of commits {filler} rebase"
    shown = show(text, "interactive rebase")
    assert "an <mark>interactive</mark> <mark>rebase</mark> of commits" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(html.unescape(re.sub("</?mark>", "", shown))) <= SNIPPET_LENGTH + 10


@pytest.mark.parametrize("before", [100, 7_990, 8_000, 20_000, 29_995, 60_000, 99_000])
def test_words_far_down_are_shown(before):
    filler = ("Some other sentence of no interest, rebase. " * 3000)[:before]
    shown = show(f"{filler} an interactive rebase of commits {filler}", "interactive rebase")
    assert "an <mark>interactive</mark> <mark>rebase</mark> of commits" in shown


def test_the_description_stands_in():
    document = page("a", content="text " * 100, description="What it <is> about", title="word")
    assert snippet(document, Highlighter(parse("word").part)) == "What it &lt;is&gt; about"


def test_scripts_stay_text():
    attack = "<script>alert(1)</script><img src=x onerror=alert(2)> \"'><svg onload=alert(3)> javascript:alert(4)"
    for query in ("script", "alert", "img OR svg", "src on*", "nothing"):
        for shown in (show(attack * 20, query), mark(attack, Highlighter(parse(query).part))):
            rest = re.sub("</?mark>", "", shown)
            assert not set(rest) & set("<>\"'")


def test_what_a_terminal_or_a_reader_would_obey_is_removed():
    attack = "red \x1b[31mtext\x07 \u202eturned\u2066 zero\u200bwidth \x9b1m"
    shown = show(attack, "text")
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]", shown)
    assert "\x1b" not in plain(attack)
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey me")
    assert plain(f"seen{hidden}\u061c\xad") == "seen"
    assert plain("می\u200cخواهم") == "می\u200cخواهم"  # spelling, not trickery


@pytest.mark.parametrize(
    "text",
    ["word " * 200_000, "x" * 10**6 + " word", "wordx" * 200_000, "wör " * 250_000, "東京" * 500_000, "w" * 10**6],
    ids=["same", "endless", "nearly", "accents", "ideographs", "letter"],
)  # fmt: skip
@pytest.mark.parametrize("query", ["word", "wor*", "w*d?x", "wrod~", '"word word"', "東京"])
def test_a_large_text_has_a_short_snippet(text, query):
    assert len(show(text, query)) < 5000


@given(st.text(), st.text())
@settings(max_examples=300, deadline=None)
def test_without_its_marks_a_snippet_is_what_the_page_says(text, asked):
    try:
        part = parse(asked).part
    except BadQuery:
        part = parse("a OR e OR *").part
    text = re.sub("[\ud800-\udfff]", "", text)
    shown = mark(text, Highlighter(part, "en"))
    assert re.fullmatch(r"(?:[^<>\"'&]|&(?:lt|gt|amp|quot|#x27);|<mark>|</mark>)*", shown)
    assert shown.count("<mark>") == shown.count("</mark>")
    said = html.unescape(re.sub("</?mark>", "", shown))
    assert re.sub(r"\s", "", said) == re.sub(r"\s", "", plain(unicodedata.normalize("NFC", text)))


@given(st.text())
def test_folding_keeps_places(text):
    assert len(fold_letters(text)) == len(text)


def test_a_page_that_is_made_for_a_wildcard_does_not_hold_up_the_process():
    began = time.process_time()
    assert "<mark>aaaaaaaab</mark>" in show(f"aaaaaaaab {'a' * 80} {'a' * 60}", "a*a*a*a*a*a*a*a*b")
    assert time.process_time() - began < 1  # and not hours


def test_many_fuzzy_words_cost_little_more_than_one():
    text = " ".join(f"w{number % 1000}ord{number % 7}" for number in range(12_000))

    def cost(query: str) -> float:
        began = time.process_time()
        for _ in range(5):
            show(text, query)
        return time.process_time() - began

    one = cost("wordish~ OR absent")
    assert cost(" OR ".join(f"{letter}ordish~" for letter in "wfbcdghj")) < 5 * one  # and not 8 or 14
