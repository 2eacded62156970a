"""Do we read robots.txt as Google's published parser does? What its own tests expect, told again in other words.

(github.com/google/robotstxt, robots_test.cc. The comments name its tests.)
"""

import pytest

from crawler.robots.lines import Kind, read_directives
from crawler.robots.patterns import find_path, read_pattern
from crawler.robots.rules import find_token, parse

SITE = "http://foo.bar"


def may_fetch(robots: str | bytes, agent: str, url: str) -> bool:
    return parse(robots).decide(url, agent).allowed


def check(robots: str, agent: str, allowed: str = "", disallowed: str = "") -> None:
    """Paths are separated by spaces."""
    rules = parse(robots)
    assert {path: rules.decide(SITE + path, agent).allowed for path in [*allowed.split(), *disallowed.split()]} == {
        **dict.fromkeys(allowed.split(), True),
        **dict.fromkeys(disallowed.split(), False),
    }


# --- Lines and groups (LineSyntax_*, REPLineNamesCaseInsensitive) ----------------------------


@pytest.mark.parametrize(
    ("robots", "agent", "allowed"),
    [
        ("", "FooBot", True),
        ("user-agent: FooBot\ndisallow: /\n", "", True),
        ("user-agent: FooBot\ndisallow: /\n", "FooBot", False),
        ("", "", True),
    ],
)
def test_an_empty_url_is_the_root_and_an_empty_file_or_agent_forbids_nothing(robots, agent, allowed):
    assert may_fetch(robots, agent, "") is allowed


@pytest.mark.parametrize(
    ("robots", "allowed"),
    [
        ("user-agent: FooBot\ndisallow: /\n", False),
        ("foo: FooBot\nbar: /\n", True),
        ("user-agent FooBot\ndisallow /\n", False),  # the colon is forgiven
    ],
)
def test_a_line_is_a_known_name_a_separator_and_a_value(robots, allowed):
    assert may_fetch(robots, "FooBot", f"{SITE}/x/y") is allowed


def test_groups_of_one_agent_are_merged_and_rules_outside_groups_are_ignored():
    robots = """\
allow: /foo/bar/

user-agent: FooBot
disallow: /
allow: /x/
user-agent: BarBot
disallow: /
allow: /y/


allow: /w/
user-agent: BazBot

user-agent: FooBot
allow: /z/
disallow: /
"""
    check(robots, "FooBot", allowed="/x/b /z/d", disallowed="/y/c /foo/bar/")
    check(robots, "BarBot", allowed="/y/c /w/a", disallowed="/z/d /foo/bar/")
    check(robots, "BazBot", allowed="/z/d", disallowed="/foo/bar/")


@pytest.mark.parametrize("between", ["Sitemap: https://foo.bar/sitemap", "Invalid-Unknown-Line: unknown"])
def test_only_rules_end_a_list_of_agents(between):
    robots = f"User-agent: BarBot\n{between}\nUser-agent: *\nDisallow: /\n"
    check(robots, "FooBot", disallowed="/")
    check(robots, "BarBot", disallowed="/")


@pytest.mark.parametrize("change", [str.upper, str.lower, lambda name: name.title().swapcase()])
def test_names_of_lines_have_no_case(change):
    lines = [("user-agent", "FooBot"), ("allow", "/x/"), ("disallow", "/")]
    check("\n".join(f"{change(name)}: {value}" for name, value in lines), "FooBot", "/x/y", "/a/b")


# --- Agents (UserAgentValueCaseInsensitive, AcceptUserAgentUpToFirstSpace, GlobalGroups_Secondary) ---


@pytest.mark.parametrize("named", ["FOO BAR", "foo bar", "FoO bAr"])
@pytest.mark.parametrize("agent", ["Foo", "foo"])
def test_names_of_agents_have_no_case_and_end_at_a_space(named, agent):
    check(f"User-Agent: {named}\nAllow: /x/\nDisallow: /\n", agent, "/x/y", "/a/b")


def test_an_agent_with_a_space_in_its_name_is_nobody_special():
    robots = "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n"
    check(robots, "Foo", allowed="/x/y")
    check(robots, "Foo Bar", disallowed="/x/y")


@pytest.mark.parametrize("agent", ["Foobot", "Foobot-Bar", "Foo_Bar"])
def test_a_name_of_letters_dashes_and_underscores_is_a_token(agent):
    assert find_token(agent) == agent.lower()


@pytest.mark.parametrize("agent", ["", "ツ", "Foobot Bar"])
def test_other_names_are_no_tokens_and_match_no_group_of_another(agent):
    robots = "User-agent: Foobot\nDisallow: /\n"
    assert may_fetch(robots, agent, f"{SITE}/x")


def test_the_group_for_everybody_is_for_those_who_are_not_named():
    everybody = "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n"
    named = "user-agent: FooBot\nallow: /\nuser-agent: BarBot\ndisallow: /\nuser-agent: BazBot\ndisallow: /\n"
    check("", "FooBot", allowed="/x/y")
    check(everybody, "FooBot", disallowed="/x/y")
    check(everybody, "BarBot", allowed="/x/y")
    check(named, "QuxBot", allowed="/x/y")


# --- Paths (AllowDisallow_Value_CaseSensitive, LongestMatch, Encoding, SpecialCharacters) --------


def test_paths_have_case():
    check("user-agent: FooBot\ndisallow: /x/\n", "FooBot", disallowed="/x/y")
    check("user-agent: FooBot\ndisallow: /X/\n", "FooBot", allowed="/x/y")


@pytest.mark.parametrize(
    ("rules", "allowed", "disallowed"),
    [
        ("disallow: /x/page.html\nallow: /x/", "", "/x/page.html"),
        ("allow: /x/page.html\ndisallow: /x/", "/x/page.html", "/x/"),
        ("disallow: \nallow: ", "/x/page.html", ""),
        ("disallow: /\nallow: /", "/x/page.html", ""),
        ("disallow: /x\nallow: /x/", "/x/", "/x"),
        ("disallow: /x/page.html\nallow: /x/page.html", "/x/page.html", ""),
        ("allow: /page\ndisallow: /*.html", "/page", "/page.html"),
        ("allow: /x/page.\ndisallow: /*.html", "/x/page.html", "/x/y.html"),
    ],
)
def test_the_longest_match_wins_and_allow_wins_a_tie(rules, allowed, disallowed):
    check(f"user-agent: FooBot\n{rules}\n", "FooBot", allowed, disallowed)


def test_what_everybody_is_told_is_not_told_to_who_is_named():
    robots = "User-agent: *\nDisallow: /x/\nUser-agent: FooBot\nDisallow: /y/\n"
    check(robots, "FooBot", allowed="/x/page", disallowed="/y/page")


@pytest.mark.parametrize(
    ("pattern", "allowed", "disallowed"),
    [
        (
            "/foo/bar?qux=taz&baz=http://foo.bar?tar&par",
            "/foo/bar?qux=taz&baz=http://foo.bar?tar&par",
            "/foo/bar?qux=taz&baz=http%3A%2F%2Ffoo.bar?tar&par",
        ),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84", "/foo/bar/ツ"),  # escaping the URL is the caller's part
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84", "/foo/bar/ツ"),
        ("/foo/bar/%62%61%7A", "/foo/bar/%62%61%7A", "/foo/bar/baz"),
    ],
)
def test_patterns_are_escaped_before_they_are_compared(pattern, allowed, disallowed):
    check(f"User-agent: FooBot\nDisallow: /\nAllow: {pattern}\n", "FooBot", allowed, disallowed)


@pytest.mark.parametrize(
    ("rules", "allowed", "disallowed"),
    [
        ("Disallow: /foo/bar/quz\nAllow: /foo/*/qux", "/foo/quz /foo//quz /foo/bax/quz", "/foo/bar/quz"),
        ("Disallow: /foo/bar$\nAllow: /foo/bar/qux", "/foo/bar/qux /foo/bar/ /foo/bar/baz", "/foo/bar"),
        ("# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /", "/foo/bar", "/foo/quz"),
    ],
)
def test_star_dollar_and_hash_are_special(rules, allowed, disallowed):
    check(f"User-agent: FooBot\n{rules}\n", "FooBot", allowed, disallowed)


def test_who_allows_an_index_page_allows_its_folder():
    robots = "User-Agent: *\nAllow: /allowed-slash/index.html\nDisallow: /\n"
    check(robots, "foobot", "/allowed-slash/ /allowed-slash/index.html", "/allowed-slash/index.htm /anyother-url")


# --- Long lines (LineTooLong) ------------------------------------------------------------------

LONGEST = 2083 * 8


def test_a_line_is_cut_where_google_cuts_it():
    path = "/x/".ljust(LONGEST - len("/x/") - len("disallow: ") + 1, "a")
    robots = f"user-agent: FooBot\ndisallow: {path}/qux\n"
    check(robots, "FooBot", allowed="/fux", disallowed=f"{path}/fux")


def test_a_cut_allow_allows_what_is_left_of_it():
    paths = ["/x/".ljust(LONGEST - len("/x/") - len("allow: ") + 1, letter) for letter in "ab"]
    robots = "user-agent: FooBot\ndisallow: /\n" + "".join(f"allow: {path}/qux\n" for path in paths)
    check(robots, "FooBot", allowed=f"{paths[0]}/qux {paths[1]}/fux", disallowed="/")


@pytest.mark.parametrize("surplus", [0, 1])
def test_the_last_byte_that_counts_is_one_before_the_limit(surplus):
    path = "/".ljust(LONGEST - 1 - len("disallow: ") + surplus, "a")
    check(f"user-agent: a\ndisallow: {path}\n", "a", disallowed=path[: len(path) - surplus])


# --- Google's documentation (DocumentationChecks) ------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "matches", "others"),
    [
        (
            "/fish",
            "/fish /fish.html /fish/salmon.html /fishheads /fishheads/yummy.html /fish.html?id=anything",
            "/bar /Fish.asp /catfish /?id=fish",
        ),
        (
            "/fish*",
            "/fish /fish.html /fish/salmon.html /fishheads /fishheads/yummy.html /fish.html?id=anything",
            "/bar /Fish.bar /catfish /?id=fish",
        ),
        (
            "/fish/",
            "/fish/ /fish/salmon /fish/?salmon /fish/salmon.html /fish/?id=anything",
            "/bar /fish /fish.html /Fish/Salmon.html",
        ),
        (
            "/*.php",
            "/filename.php /folder/filename.php /folder/filename.php?parameters //folder/any.php.file.html "
            "/filename.php/ /index?f=filename.php/",
            "/bar /php/ /index?php /windows.PHP",
        ),
        (
            "/*.php$",
            "/filename.php /folder/filename.php",
            "/bar /filename.php?parameters /filename.php/ /filename.php5 /php/ /filename?php /aaaphpaaa //windows.PHP",
        ),
        ("/fish*.php", "/fish.php /fishheads/catfish.php?parameters", "/bar /Fish.PHP"),
    ],
)
def test_the_examples_of_googles_documentation(pattern, matches, others):
    check(f"user-agent: FooBot\ndisallow: /\nallow: {pattern}\n", "FooBot", matches, others)


@pytest.mark.parametrize(
    ("rules", "allowed", "disallowed"),
    [
        ("allow: /p\ndisallow: /", "/page", ""),
        ("allow: /folder\ndisallow: /folder", "/folder/page", ""),
        ("allow: /page\ndisallow: /*.htm", "", "/page.htm"),
        ("allow: /$\ndisallow: /", "/", "/page.html"),
    ],
)
def test_the_order_of_precedence_in_googles_documentation(rules, allowed, disallowed):
    check(f"user-agent: FooBot\n{rules}\n", "FooBot", allowed, disallowed)


# --- Bytes (LinesNumbersAreCountedCorrectly, UTF8ByteOrderMarkIsSkipped, NonStandardLineExample_Sitemap) ---

LINES = ["User-Agent: foo", "Allow: /some/path", "User-Agent: bar", "", "", "Disallow: /"]


@pytest.mark.parametrize(
    "robots",
    [
        "".join(f"{line}\n" for line in LINES),
        "".join(f"{line}\r\n" for line in LINES),
        "".join(f"{line}\r" for line in LINES),
        "\n".join(LINES),
        "".join(line + end for line, end in zip(LINES, ["\n", "\r\n", "\n", "\r\n", "\n", ""], strict=True)),
    ],
    ids=["unix", "dos", "mac", "no-last-end", "mixed"],
)
def test_lines_are_counted_whatever_ends_them(robots):
    directives = list(read_directives(robots.encode()))
    assert [directive.line_number for directive in directives] == [1, 2, 3, 6]
    assert parse(robots).decide(f"{SITE}/", "bar").line_number == 6


@pytest.mark.parametrize(
    ("body", "understood"),
    [
        (b"\xef\xbb\xbfUser-Agent: foo\nAllow: /AnyValue\n", [Kind.AGENT, Kind.ALLOW]),
        (b"\xef\xbbUser-Agent: foo\nAllow: /AnyValue\n", [Kind.AGENT, Kind.ALLOW]),
        (b"\xefUser-Agent: foo\nAllow: /AnyValue\n", [Kind.AGENT, Kind.ALLOW]),
        (b"\xef\x11\xbfUser-Agent: foo\nAllow: /AnyValue\n", [Kind.ALLOW]),
        (b"User-Agent: foo\n\xef\xbb\xbfAllow: /AnyValue\n", [Kind.AGENT]),
    ],
)
def test_a_byte_order_mark_even_part_of_one_is_passed_over_at_the_beginning_only(body, understood):
    assert [directive.kind for directive in read_directives(body)] == understood


@pytest.mark.parametrize("position", [0, 5])
def test_a_sitemap_may_stand_anywhere(position):
    lines = ["User-Agent: foo", "Allow: /some/path", "User-Agent: bar", "", ""]
    lines.insert(position, "Sitemap: http://foo.bar/sitemap.xml")
    assert parse("\n".join(lines)).sitemaps == ["http://foo.bar/sitemap.xml"]


# --- Parts (TestGetPathParamsQuery, TestMaybeEscapePattern) ---------------------------------------


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", "/"),
        ("http://www.example.com", "/"),
        ("http://www.example.com/", "/"),
        ("http://www.example.com/a", "/a"),
        ("http://www.example.com/a/", "/a/"),
        ("http://www.example.com/a/b?c=http://d.e/", "/a/b?c=http://d.e/"),
        ("http://www.example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
        ("example.com", "/"),
        ("example.com/", "/"),
        ("example.com/a", "/a"),
        ("example.com/a/", "/a/"),
        ("example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
        ("a", "/"),
        ("a/", "/"),
        ("/a", "/a"),
        ("a/b", "/b"),
        ("example.com?a", "/?a"),
        ("example.com/a;b#c", "/a;b"),
        ("//a/b/c", "/b/c"),
    ],
)
def test_the_path_of_whatever_is_called_a_url(url, path):
    assert find_path(url) == path


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("http://www.example.com", "http://www.example.com"),
        ("/a/b/c", "/a/b/c"),
        ("á", "%C3%A1"),
        ("%aa", "%AA"),
    ],
)
def test_patterns_are_written_one_way(value, pattern):
    assert read_pattern(value.encode()) == pattern
