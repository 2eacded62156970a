"""What does somebody mean who types this?"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.errors import BadQuery
from crawler.search.grammar import parse
from crawler.search.query import FIELDS, AllOf, AnyOf, Filters, Not, Phrase, Query, Word
from crawler.search.restrictions import Restrictions


def W(text, field="", kind="exact"):
    return Word(text, field, kind)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("word", W("word")),
        ("two words", AllOf((W("two"), W("words")))),
        ('"two words"', Phrase(("two", "words"))),
        ('"one"', Phrase(("one",))),
        ('red "two words" -green', AllOf((W("red"), Phrase(("two", "words")), Not(W("green"))))),
        ("NOT green red", AllOf((Not(W("green")), W("red")))),
        ("-green", Not(W("green"))),
        ('-"two words"', Not(Phrase(("two", "words")))),
        ("-(a1 OR b1)", Not(AnyOf((W("a1"), W("b1"))))),
        ("git commit --amend", AllOf((W("git"), W("commit"), W("amend")))),
        ("a - b", AllOf((W("a"), W("b")))),
        ("title:git", W("git", "title")),
        ('title:"git rebase" x', AllOf((Phrase(("git", "rebase"), "title"), W("x")))),
        ("-title:git", Not(W("git", "title"))),
        ("url:library/os", Phrase(("library", "os"), "url")),
        ("crawlr~", W("crawlr", kind="fuzzy")),
        ("crawlr~2", W("crawlr", kind="fuzzy")),
        ("title:crawlr~", W("crawlr", "title", "fuzzy")),
        ("asyn*", W("asyn", kind="prefix")),
        ("w?ld", W("w?ld", kind="wildcard")),
        ("*chronous", W("*chronous", kind="wildcard")),
        ("as**io", W("as*io", kind="wildcard")),
        ("what is this?", AllOf((W("what"), W("is"), W("this")))),
        ("read_csv", Phrase(("read", "csv"))),
        ("read_cs*", AllOf((W("read"), W("cs", kind="prefix")))),
        ("os.path.join()", Phrase(("os", "path", "join"))),
        ("f(x) OR g", AllOf((W("f"), AnyOf((W("x"), W("g")))))),
        ("red OR green", AnyOf((W("red"), W("green")))),
        ("a red OR green b", AllOf((W("a"), AnyOf((W("red"), W("green"))), W("b")))),
        ("a OR b OR c", AnyOf((W("a"), W("b"), W("c")))),
        ("OR a OR", W("a")),
        ("a AND b", AllOf((W("a"), W("b")))),
        ("(a b) OR c", AnyOf((AllOf((W("a"), W("b"))), W("c")))),
        ("((a", W("a")),
        ("a))", W("a")),
        ('"open end', Phrase(("open", "end"))),
        ('a "" b', AllOf((W("a"), W("b")))),
        ("C++ c#", AllOf((W("C"), W("c")))),
        ("std::vector", Phrase(("std", "vector"))),
        ("https://example.org/", Phrase(("example", "org"))),
        ("-HTTP://example.org/", Not(Phrase(("example", "org")))),
        ('url:https://example.org/ url:"http://b"', AllOf((Phrase(("example", "org"), "url"), Phrase(("b",), "url")))),
        ("see:https://example.org", Phrase(("see", "https", "example", "org"))),
        ("हिन्दी", W("हिन्दी")),
        ("東京都", W("東京都")),
        ("zero\0byte \ud800x", AllOf((W("zero"), W("byte"), W("x")))),
        ("hyphen\xadation zero\u200bwidth", AllOf((W("hyphenation"), W("zerowidth")))),
        ("*", None),
    ],
)  # fmt: skip
def test_text_means(text, part):
    assert parse(text) == Query(part)


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("x site:Python.org", Filters(hosts=("python.org",))),
        ("x site:https://docs.python.org/3/", Filters(hosts=("docs.python.org",))),
        ("x site:*.python.org", Filters(hosts=("python.org",))),
        ("x site:bücher.example", Filters(hosts=("xn--bcher-kva.example",))),
        ("x site:LOCALHOST.:8080", Filters(hosts=("localhost:8080",))),
        ("x site:a.org:443 site:https://b.org:443/ site:c.org:80", Filters(hosts=("a.org", "b.org", "c.org"))),
        ("x site:[::1]:8080", Filters(hosts=("[::1]:8080",))),
        ("x site:2001:DB8::1", Filters(hosts=("[2001:db8::1]",))),
        ("site:a.org OR site:b.org x", Filters(hosts=("a.org", "b.org"))),
        ("x -site:a.org", Filters(not_hosts=("a.org",))),
        ("x lang:DE lang:fr", Filters(languages=("de", "fr"))),
        ("x lang:de,fr", Filters(languages=("de", "fr"))),
        ("x crawl:c-1", Filters(crawl="c-1")),
        ('x crawl:"my crawl"', Filters(crawl="my crawl")),
        ("x after:2026", Filters(after_ms=1767225600000)),
        ("x after:2026-01-02", Filters(after_ms=1767312000000)),
        ("x before:2026-2", Filters(before_ms=1769904000000)),
        ("x after:2025 after:2026 before:2026-02 before:2027", Filters((), (), (), "", 1767225600000, 1769904000000)),
    ],
)
def test_restrictions(text, filters):
    assert parse(text) == Query(W("x"), filters)


def test_restrictions_alone_are_a_search():
    assert parse("site:a.org") == Query(None, Filters(hosts=("a.org",)))
    assert parse("x sort:newest").sort == "newest"
    assert parse("x sort:oldest").sort == "oldest"


def test_what_is_given_beside_the_text_can_only_be_narrowed():
    beside = Filters(hosts=("python.org",), languages=("de", "en"), after_ms=5)
    both = parse("x site:docs.python.org lang:en after:2026", filters=beside).filters
    assert both == Filters(hosts=("docs.python.org",), languages=("en",), after_ms=1767225600000)
    assert parse("x site:org", filters=beside).filters.hosts == ("python.org",)
    assert parse("x site:docs.python.org:81", filters=beside).filters.hosts == ("docs.python.org:81",)
    for text in ("x site:evil.example", "x lang:fr"):
        with pytest.raises(BadQuery, match="no page is both"):
            parse(text, filters=beside)
    with pytest.raises(BadQuery, match="a page is of one only"):
        parse("x crawl:a", filters=Filters(crawl="b"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing to look for"),
        (" \0 ", "nothing to look for"),
        ("+++", "nothing to look for"),
        ('""', "nothing to look for"),
        ("title:", "title: needs a word or a phrase"),
        ("title: git", "title: needs a word or a phrase"),
        ("-title:(git OR svn)", "title: needs a word or a phrase"),
        ("x" * 100_000, "100000 characters"),
        ("ab* " * 400, "more than 8 words with wildcards"),
        ("a" + "b?" * 11 + "c", "more than 10 wildcards"),
        ("*ab *cd", "one word of a search may begin with a"),
        ("ab~ " * 20, "more than 8 words with a ~"),
        ("a " * 500, "more than 64 words"),
        ('"' + "a " * 500, "more than 64 words"),
        ("(" * 500 + "a", "more than 8 brackets"),
        ("a*", "matches too much"),
        ("?a*", "matches too much"),
        ("a" * 101, "101 letters"),
        ("site:", "needs a value"),
        ("site:@", "names no host"),
        ("lang:german!", "no language"),
        ("after:yesterday", "no date"),
        ("after:2026-13", "no date"),
        ("before:0000", "no date"),
        ("after:²026", "no date"),
        ("sort:sideways", "none of"),
        ("-lang:de", "only -site: can"),
        ("(a site:b.org)", "cannot stand in brackets"),
        (" ".join(f"site:h{n}.org" for n in range(21)), "more than 20"),
    ],
)
def test_hostile_searches_are_told_why(text, message):
    with pytest.raises(BadQuery, match=message) as caught:
        parse(text)
    assert len(str(caught.value)) < 300


def test_an_argument_that_is_no_text_is_told():
    for name in ("crawl", "site", "lang", "after", "sort"):
        with pytest.raises(BadQuery):
            Restrictions().add(name, "caf\udce9")


@pytest.mark.parametrize(("page", "per_page"), [(0, 10), (-1, 10), (1, 0), (1, 101), (1001, 10), (10**30, 1)])
def test_pages_have_limits(page, per_page):
    with pytest.raises(BadQuery):
        parse("x", page=page, per_page=per_page)
    assert parse("x", page=1000, per_page=10).page == 1000


def parts_of(part):
    yield part
    for inner in getattr(part, "parts", ()):
        yield from parts_of(inner)
    if isinstance(part, Not):
        yield from parts_of(part.part)


PIECES = [
    '"', "(", ")", "-", "--", "OR", "AND", "NOT", "~", "*", "?", ":", "title:", "site:", "lang:", "after:", "sort:",
    "word", "a", "é", "e\u0301", "東京", "\0", "\ud800", "\u202e", " ", "  ", "2026-01", "example.org", "𝄞", "İ", "ß",
]  # fmt: skip


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=30).map("".join)))
@settings(max_examples=600, deadline=None)
def test_any_text_is_a_query_or_a_bad_one(text):
    try:
        query = parse(text)
    except BadQuery:
        return
    for part in parts_of(query.part):
        if isinstance(part, Word):
            letters = part.text if part.kind != "wildcard" else part.text.replace("*", "").replace("?", "")
            assert letters
            assert not set(letters) & set('"()~*?: ')
            assert part.field in ("", *FIELDS)
        elif isinstance(part, Phrase):
            assert part.words
        elif isinstance(part, AllOf | AnyOf):
            assert len(part.parts) > 1
