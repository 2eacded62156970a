"""May this agent fetch this URL? What Google's own tests do not ask, and what hostile files try."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from protego import Protego
from protego._urlpattern import _URLPattern

from crawler.robots.lines import Kind, read_directives
from crawler.robots.patterns import Matcher, find_path, read_pattern, spell_url
from crawler.robots.rules import MAX_SHOWN, MAX_SITEMAPS, Decision, find_token, parse
from tests.robots.real_files import FILES

SITE = "https://example.com"
AGENT = "Orbweaver/0.1 (web crawler; set USER_AGENT to name its operator)"


def decide(robots: str | bytes, path: str, agent: str = AGENT) -> Decision:
    return parse(robots).decide(SITE + path, agent)


# --- The line that decides -------------------------------------------------------------------


def test_a_decision_names_its_line():
    robots = "# hello\nUser-agent: *\n\n  Disallow:\t/private # secret\nAllow: /private/page\n"
    assert decide(robots, "/private/x") == Decision(False, 4, "Disallow: /private")
    assert decide(robots, "/private/page") == Decision(True, 5, "Allow: /private/page")
    assert decide(robots, "/public") == Decision(True, None, None)


def test_of_two_equal_lines_the_first_decides():
    assert decide("User-agent: *\nDisallow: /a\nDisallow: /a\n", "/a").line_number == 2
    assert decide("User-agent: *\nDisallow: /*a\nDisallow: /*a\n", "/a").line_number == 2
    assert decide("User-agent: *\nDisallow: /ab$\nDisallow: /*b$\nDisallow: /ab*\n", "/ab").line_number == 2


def test_an_allow_of_the_same_length_is_the_line_that_decides():
    assert decide("User-agent: *\nDisallow: /a\nAllow: /a\n", "/a") == Decision(True, 3, "Allow: /a")


def test_the_allowed_index_page_is_the_line_for_its_folder():
    robots = "User-agent: *\nDisallow: /\nAllow: /a/index.html\n"
    assert decide(robots, "/a/") == Decision(True, 3, "Allow: /a/index.html")


def test_a_line_is_shown_without_control_characters_and_not_without_end():
    assert decide("User-agent: *\nDisallow: /*\x1b[3\u202e\n", "/%1B[3%E2%80%AE").line == "Disallow: /*�[3�"
    assert len(decide("User-agent: *\nDisallow: /" + "x" * 5000, "/" + "x" * 5000).line or "") == MAX_SHOWN


# --- Agents ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        (AGENT, "orbweaver"),
        ("Orbweaver", "orbweaver"),
        ("Orbweaver/0.1", "orbweaver"),
        ("Orbweaver (+https://example.com/bot)", "orbweaver"),
        ("Mozilla/5.0 (compatible; Orbweaver/0.1; +https://example.com/bot)", "orbweaver"),
        ("My-Own_Bot/2", "my-own_bot"),
        ("Foobot2/1.0", "foobot"),
        ("Foo Bar", "foo bar"),
        ("*", "*"),
        ("", ""),
        ("/1.0", ""),
        ("ツ", "ツ"),
    ],
)
def test_the_product_token_of_a_user_agent(user_agent, token):
    assert find_token(user_agent) == token


@pytest.mark.parametrize(
    "named",
    [
        "Orbweaver",
        "orbweaver",
        "ORBWEAVER",
        "Orbweaver/2.0",
        "Orbweaver*",
        "orbweaver bot",
        "Orbweaver;x",
        "orbweaverö",
    ],
)
def test_a_named_agent_listens_to_its_own_group_only(named):
    robots = f"User-agent: *\nDisallow: /a\n\nUser-agent: {named}\nDisallow: /b\n"
    assert decide(robots, "/a").allowed
    assert not decide(robots, "/b").allowed


@pytest.mark.parametrize(
    "named", ["Orb", "Orbweaver-News", "weaver", "*Orbweaver", "Orb weaver", "", "ü", "Orbweaver_x"]
)
def test_a_name_that_is_only_similar_is_somebody_else(named):
    assert not decide(f"User-agent: *\nDisallow: /a\n\nUser-agent: {named}\nAllow: /\n", "/a").allowed


@pytest.mark.parametrize(
    ("named", "meant"), [("*", True), ("* everybody", True), ("*\tx", True), ("*x", False), ("**", False)]
)
def test_who_is_everybody(named, meant):
    assert decide(f"User-agent: {named}\nDisallow: /\n", "/a").allowed is not meant


def test_an_own_group_without_rules_allows_everything():
    assert decide("User-agent: *\nDisallow: /\n\nUser-agent: Orbweaver\nDisallow:\n", "/a").allowed


def test_agents_of_one_list_share_its_rules_and_keep_their_own():
    robots = "User-agent: a\nUser-agent: b\nDisallow: /both\nUser-agent: b\nDisallow: /only-b\n"
    assert [decide(robots, path, "a").allowed for path in ("/both", "/only-b")] == [False, True]
    assert [decide(robots, path, "b").allowed for path in ("/both", "/only-b")] == [False, False]


def test_several_groups_for_everybody_are_one():
    robots = "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: *\nDisallow: /b\n"
    assert [decide(robots, path).allowed for path in ("/a", "/b", "/c")] == [False, False, True]


def test_many_agents_may_ask_one_file():
    rules = parse("User-agent: bot\nDisallow: /\n")
    for number in range(1000):
        assert rules.decide(f"{SITE}/", f"other{'x' * number}").allowed
    assert not rules.decide(f"{SITE}/", "bot").allowed


# --- Lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ["Disallow: /x", "disallow:/x", "DISALLOW :/x", "  Disallow : /x  ", "\tDisallow:\t/x\t", "Disallow /x",
     "Disallow\t /x", "Disalow: /x", "Dissallow: /x", "dissalow: /x", "diasllow: /x", "disallaw: /x",
     "Disallow: /x#y", "Disallow: /x # y", "Disallow: /x\0/y", "Disallowed: /x", "Disallow; /x", "Disallow: /x\x0b",
     "\x0c Disallow: /x"],
)  # fmt: skip
def test_a_disallow_that_is_understood(line):
    decision = decide(f"User-agent: *\n{line}\n", "/x/1")
    assert decision.allowed is False
    assert decision.line_number == 2


@pytest.mark.parametrize(
    "line",
    ["Disallow", "Disallow:", "Disallow: # /x", "Disallow /x y", "Dis allow: /x", "#Disallow: /x", ": /x",
     "Disallow: x", "Dis\0allow: /x", "noindex: /x", "- Disallow: /x", "\xa0Disallow: /x", "Disallow: /x\xa0",
     "Disallow: $", "\u2028Disallow: /x", "Allow: y\x85Disallow: /x", "Allow: y\u2028Disallow: /x",
     "Allow: y\x0bDisallow: /x"],
)  # fmt: skip
def test_a_disallow_that_is_not(line):
    assert decide(f"User-agent: *\n{line}\n", "/x/1").allowed


@pytest.mark.parametrize("name", ["User-agent", "USER-AGENT", "useragent", "user agent", "User-agents", "User-Agent "])
def test_ways_to_write_user_agent(name):
    assert not decide(f"{name}: *\nDisallow: /\n", "/").allowed


def test_user_agent_in_two_words_needs_its_colon():
    assert decide("user agent *\nDisallow: /\n", "/").allowed


def test_a_forgotten_line_end_does_not_spill():
    assert [directive.kind for directive in read_directives(b"User-agent: * Disallow: /")] == [Kind.AGENT]


def test_text_and_bytes_are_the_same_file():
    robots = "\ufeffUser-agent: *\r\nDisallow: /ü\r\n"
    for form in (robots, robots.encode()):
        assert decide(form, "/%c3%bc") == Decision(False, 2, "Disallow: /ü")


def test_a_lone_surrogate_is_no_trouble():
    assert decide("User-agent: *\nDisallow: /\ud800", "/\ud800").allowed in {True, False}


# --- Paths -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/", "", True),  # an empty path is the root
        ("/", "?q", True),
        ("/?q", "?q", True),
        ("/", ";p", True),
        ("/a;p", "/a;p=1", True),
        ("/a;p", "/a", False),
        ("/*?", "/a?b", True),
        ("/*?", "/a", False),
        ("/*?$", "/a?", True),
        ("/a", "/a#b", True),
        ("/a#b", "/a", True),
        ("/a", "/b#/a", False),
        ("/*&sid=", "/x?a=1&sid=2", True),
        ("*", "/anything", True),
        ("*.pdf$", "/x.pdf", True),
        ("*.pdf$", "/x.pdf?y", False),
        ("/$", "/", True),
        ("/$", "/a", False),
        ("/a$b", "/a$b/c", True),
        ("/a$b", "/a", False),
        ("/a$*", "/a$b", True),
        ("/a$*", "/a", False),
        ("/a*$", "/abc", True),
        ("/a**b", "/ab", True),
        ("/*/*/c", "/a/b/c", True),
        ("/*/*/c", "/a/c", False),
        ("/*ab$", "/abab", True),
        ("/a*a$", "/a", False),
        ("/A", "/a", False),
        # Escapes: RFC 9309 section 2.2.2.
        ("/ü", "/%C3%BC", True),
        ("/ü", "/%c3%bc", True),
        ("/%c3%bc", "/%C3%BC", True),
        ("/%7Ejoe", "/~joe", True),
        ("/~joe", "/%7ejoe", True),
        ("/%41", "/A", True),
        ("/a%2fb", "/a%2Fb", True),
        ("/a%2Fb", "/a/b", False),
        ("/a/b", "/a%2Fb", False),
        ("/a%3Fb", "/a?b", False),
        ("/*?", "/a%3Fb", False),
        ("/a b", "/a%20b", True),
        ("/a%20b", "/a b", True),
        ("/a%2541", "/aA", False),
        ("/a%2541", "/a%41", False),
        ("/%zz", "/%zz", True),
        ("/%", "/%", True),
        ("/a%", "/a%4", True),
        # To match what is special, it is escaped: RFC 9309 section 2.2.3.
        ("/file-with-a-%2A.html", "/file-with-a-*.html", True),
        ("/file-with-a-%2A.html", "/file-with-a-b.html", False),
        ("/foo-%24", "/foo-$", True),
        ("/foo-%24", "/foo-", False),
    ],
)  # fmt: skip
def test_a_pattern_and_a_path(pattern, path, matches):
    assert decide(f"User-agent: *\nDisallow: {pattern}\n", path).allowed is not matches


def test_latin_1_bytes_match_the_url_that_has_them():
    assert not decide(b"User-agent: *\nDisallow: /caf\xe9\n", "/caf%E9").allowed


def test_where_google_and_the_rfc_differ_the_stricter_is_obeyed():
    robots = "User-agent: *\nDisallow: /\nAllow: /~joe\nAllow: /%7Eann\n"
    assert [decide(robots, path).allowed for path in ("/~joe", "/%7Ejoe", "/~ann", "/%7Eann")] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "rule", ["Disallow: /", "Disallow: /robots.txt", "Disallow: /robots%2Etxt", "Disallow: /*.txt$"]
)
def test_robots_txt_itself_is_always_allowed(rule):
    robots = f"User-agent: *\n{rule}\n"
    assert decide(robots, "/robots.txt").allowed
    assert decide(robots, "/robots.txt#top").allowed
    assert not decide(f"{robots}Disallow: /a", "/a/robots.txt").allowed


@pytest.mark.parametrize(
    ("allow", "path", "allowed"),
    [
        ("/index.html", "/", True),
        ("/a/index.htm", "/a/", True),
        ("/a/index.html", "/a/b", False),
        ("/a/index.php", "/a/", False),
        ("/a/index.html$", "/a/", True),
        ("/*/index.html", "/b/", True),
        ("/a/index.html/x", "/a/", False),
    ],
)
def test_an_allowed_index_page_allows_its_folder(allow, path, allowed):
    assert decide(f"User-agent: *\nDisallow: /\nAllow: {allow}\n", path).allowed is allowed


def test_a_disallowed_index_page_says_nothing_of_its_folder():
    assert decide("User-agent: *\nDisallow: /a/index.html\n", "/a/").allowed


# --- Crawl-delay and sitemaps ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "delay"),
    [("1", 1.0), ("0", 0.0), ("2.5", 2.5), (" 10 # slow", 10.0), ("1e2", 100.0), ("nan", None), ("inf", None),
     ("1e400", None), ("-1", None), ("-inf", None), ("", None), ("5 s", None), ("ten", None), ("0x10", None),
     ("9" * 5000, None), ("٥", None), ("1\x0b2", None), ("1\u20282", None)],
)  # fmt: skip
def test_a_crawl_delay_is_finite_and_not_negative(value, delay):
    assert parse(f"User-agent: *\nCrawl-delay: {value}\n").crawl_delay(AGENT) == delay


def test_a_crawl_delay_is_that_of_the_group_that_decides():
    robots = "User-agent: *\nCrawl-delay: 7\nUser-agent: Orb\nCrawl-delay: 8\nUser-agent: bot\nDisallow: /x\n"
    rules = parse(robots)
    assert [rules.crawl_delay(agent) for agent in (AGENT, "Orb/1", "bot")] == [7.0, 8.0, None]


def test_a_crawl_delay_is_for_those_named_before_it():
    robots = "User-agent: slurp\nCrawl-delay: 10\nUser-agent: *\nDisallow: /x\nCrawl-delay: 1\n"
    rules = parse(robots)
    assert [rules.crawl_delay(agent) for agent in ("slurp", AGENT)] == [10.0, 1.0]
    # Which is no reason to end the list of agents: the rules are for both, as Google has it.
    assert not rules.decide(f"{SITE}/x", "slurp").allowed


def test_a_bad_crawl_delay_does_not_undo_a_good_one():
    assert parse("User-agent: *\nCrawl-delay: 3\nCrawl-delay: nan\n").crawl_delay(AGENT) == 3.0


def test_no_group_has_no_crawl_delay():
    assert parse("Crawl-delay: 3\n").crawl_delay(AGENT) is None


def test_sitemaps_are_listed_once_each_and_bounded():
    lines = [
        "Sitemap: https://example.com/a.xml",
        "site-map: https://example.com/b.xml",
        "Sitemap:",
        "Sitemaps: /c.xml",
    ]
    assert parse("\n".join(lines * 2)).sitemaps == ["https://example.com/a.xml", "https://example.com/b.xml", "/c.xml"]
    assert len(parse("".join(f"Sitemap: /{number}\n" for number in range(5000))).sitemaps) == MAX_SITEMAPS
    assert parse("Sitemap: https://example.com/" + "x" * 5000).sitemaps == []


# --- Against a plain reading of the rules ------------------------------------------------------


def matches_plainly(pattern: str, path: str) -> bool:
    """Every position at which the pattern so far may have ended, star by star and letter by letter."""
    ends = {0}
    for index, letter in enumerate(pattern):
        if letter == "$" and index == len(pattern) - 1:
            return len(path) in ends
        if letter == "*":
            ends = set(range(min(ends), len(path) + 1))
        else:
            ends = {end + 1 for end in ends if path[end : end + 1] == letter}
        if not ends:
            return False
    return True


def decide_plainly(robots: bytes, path: str, token: str) -> tuple[bool, int | None]:
    """The whole file is gone through for one path and one agent, as Google's parser does it."""
    best = {"own": (0, True, 0), "all": (0, True, 0)}
    named: set[str] = set()
    in_rules = was_named = False
    for number, kind, value, _ in read_directives(robots):
        if kind is Kind.AGENT:
            if in_rules:
                named, in_rules = set(), False
            text = value.decode("latin-1")
            own = text[: find_end(text)].lower() == token
            if text[:1] == "*" and text[1:2] in {"", " ", "\t", "\x0b", "\x0c"}:
                named.add("all")
            elif own:
                named.add("own")
                was_named = True
        elif kind in {Kind.ALLOW, Kind.DISALLOW}:
            in_rules = True
            allows = kind is Kind.ALLOW
            pattern = read_pattern(value)
            patterns = [pattern]
            folder, _, page = pattern.rpartition("/")
            if allows and "/" in pattern and page.startswith("index.htm"):
                patterns.append(f"{folder}/$")
            weight = max((len(each) for each in patterns if matches_plainly(each, path)), default=0)
            group = "own" if "own" in named else "all"
            if weight and group in named:
                best[group] = max(best[group], (weight, allows, -number))
    weight, allows, number = best["own" if was_named else "all"]
    return (allows, -number) if weight else (True, None)


def find_end(text: str) -> int:
    return next(
        (end for end, letter in enumerate(text) if not ((letter.isascii() and letter.isalpha()) or letter in "_-")),
        len(text),
    )


short_paths = st.text("ab/?.", max_size=8).map(lambda text: f"/{text}")
short_patterns = st.text("ab/*$?.", max_size=8).map(lambda text: f"/{text}") | st.sampled_from(
    ["", "*", "*a", "/a/index.html", "/index.htm", "/*/index.html$", "a"]
)
robots_lines = st.one_of(
    st.tuples(st.sampled_from(["Allow", "Disallow"]), short_patterns).map(": ".join),
    st.sampled_from(
        ["User-agent: *", "User-agent: a", "User-agent: B", "User-agent: a/1", "User-agent: * x", "User-agent:", "",
         "# x", "Sitemap: /x", "Crawl-delay: 1", "x: y"]
    ),
)  # fmt: skip
robots_files = st.lists(robots_lines, max_size=25).map("\n".join)


@settings(max_examples=1500, deadline=None)
@given(robots=robots_files, paths=st.lists(short_paths, min_size=1, max_size=5), agent=st.sampled_from(["a", "b", "c"]))
@example(robots="User-agent: *\nDisallow: /a**\nAllow: /ab", paths=["/ab"], agent="a")
@example(robots="User-agent: *\nDisallow: /ab\nAllow: /a***", paths=["/ab"], agent="a")
@example(robots="User-agent: *\nAllow: /a\nDisallow: /*", paths=["/a"], agent="a")
def test_compiled_rules_decide_as_a_plain_reading_does(robots, paths, agent):
    rules = parse(robots)
    for path in paths:
        decision = rules.decide(SITE + path, agent)
        plain = decide_plainly(robots.encode(), path, agent)
        # A "$" in a pattern that is not its end is escaped in the RFC's spelling; paths have none here.
        assert (decision.allowed, decision.line_number) == plain


@settings(max_examples=1000)
@given(pattern=short_patterns, path=short_paths)
def test_protegos_patterns_match_as_the_rfc_says(pattern, path):
    assert _URLPattern(pattern).match(path) is matches_plainly(pattern, path)


# --- Hostile files -----------------------------------------------------------------------------

pieces = st.sampled_from(
    [b"User-agent", b"Disallow", b"Allow", b"Sitemap", b"Crawl-delay", b":", b" ", b"\t", b"\n", b"\r", b"\0", b"#",
     b"*", b"$", b"/", b"/index.html", b"%", b"%4", b"%7e", b"%FF", b"\xff", b"\xc3\xbc", b"\xef\xbb\xbf", b"a",
     b"Orbweaver", b"nan", b"1e999", b"\xe2\x80\xa8", b"\x85", b"\x1b[0m", b"(", b"compatible;"]
)  # fmt: skip
hostile_bytes = st.lists(pieces | st.binary(max_size=4), max_size=60).map(b"".join)
hostile_urls = st.text(max_size=30) | st.text("ab/?;#%:*$ü\ud800 ", max_size=20).map(
    lambda text: f"https://example.com{text}"
)


@settings(max_examples=1500, deadline=None)
@given(robots=hostile_bytes | st.text(max_size=80), url=hostile_urls, agent=st.text(max_size=20) | st.just(AGENT))
def test_nothing_ever_raises_and_asking_twice_is_asking_once(robots, url, agent):
    rules = parse(robots)
    decision = rules.decide(url, agent)
    assert rules.decide(url, agent) == decision == parse(robots).decide(url, agent)
    assert (decision.line_number is None) is (decision.line is None)
    assert decision.allowed or decision.line is not None
    delay = rules.crawl_delay(agent)
    assert delay is None or (math.isfinite(delay) and delay >= 0)
    assert len(rules.sitemaps) <= MAX_SITEMAPS


@given(robots=hostile_bytes, url=hostile_urls)
def test_what_is_allowed_only_grows_with_an_allow(robots, url):
    closed = b"User-agent: *\nDisallow: /\n"
    opened = closed + b"Allow: " + find_path(url).split("#")[0].encode("utf-8", "surrogatepass")
    assert parse(opened).decide(url, "x").allowed or not parse(closed).decide(url, "x").allowed


@given(url=hostile_urls)
def test_the_quick_way_to_a_path_is_the_slow_way(url):
    path, spelled = spell_url(url)
    assert path.startswith("/")
    assert spelled.startswith("/")
    assert path.lower() == find_path(url).lower()


class CountingPath(str):
    """A path that counts how many of its characters a search has passed."""

    __slots__ = ("steps",)
    steps: int

    def __contains__(self, part):
        self.steps += len(self)
        return super().__contains__(part)

    def find(self, part, start=0):
        found = super().find(part, start)
        self.steps += (found + len(part) if found >= 0 else len(self)) - start
        return found


@pytest.mark.parametrize("stars", [1, 10, 100, 1000])
@pytest.mark.parametrize("length", [100, 1000, 10_000])
@pytest.mark.parametrize("tail", ["b", "", "$", "a$", "ab"])
def test_a_pattern_of_stars_never_goes_back_in_a_path(stars, length, tail):
    path = CountingPath("/" + "a" * length + "c")
    path.steps = 0
    matcher = Matcher([("/" + "*a" * stars + "*" + tail, Decision(False, 1, "x"))])
    assert matcher.find(path).allowed is not (stars <= length and tail in {"", "$"})
    assert 0 < path.steps <= 2 * len(path)  # one look for its longest part, one pass over it


@pytest.mark.parametrize(
    "robots",
    [
        "User-agent: *\n" + "Disallow: /*a*a*a*a*a*a*a*a*a*a*b\n" * 10_000,
        "User-agent: *\n" + "".join(f"Disallow: /{'a' * (number % 900)}\n" for number in range(1000)),
        "".join(f"User-agent: {'ab'[number % 2] * (number % 500)}\n" for number in range(20_000)) + "Disallow: /x\n",
        "User-agent: *\n" + "Crawl-delay: 1\n" * 30_000,
        "User-agent: *\nCrawl-delay: 1\n" * 15_000,
        "User-agent: *\nDisallow: /" + "*" * 500_000,
        "User-agent: *\nDisallow: /" + "%" * 500_000,
        "User-agent: " + "a" * 500_000,
        "\r" * 500_000,
        "\0" * 500_000,
        "#" * 500_000,
        " " * 500_000,
        ":" * 500_000,
        "a b" * 160_000,
    ],
    ids=range(14),
)
def test_large_hostile_files_are_read_and_asked(robots):
    rules = parse(robots)
    for path in ("/", "/" + "a" * 2000, "/" + "a" * 2000 + "b"):
        assert rules.decide(SITE + path, AGENT).allowed in {True, False}
    rules.crawl_delay(AGENT)


# --- Files as sites write them -------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_a_file_as_sites_write_it(name):
    robots, expected = FILES[name]
    rules = parse(robots)
    decided = {path: rules.decide(SITE + path, AGENT).allowed for path in expected}
    assert decided == expected
    # None of these has anything that Protego and Google read differently.
    protego = Protego.parse(robots)
    assert {path: protego.can_fetch(SITE + path, AGENT) for path in expected} == expected
    assert rules.crawl_delay(AGENT) == protego.crawl_delay(AGENT)
    assert rules.sitemaps == list(protego.sitemaps)
