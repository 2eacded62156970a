"""Is a link judged by all that its crawl was told, and a seed only by what concerns it?"""

import pytest
from scrapy.settings import Settings

from crawler.errors import BadUrl, ConfigurationError
from crawler.frontier.config import FrontierConfig
from crawler.frontier.insight import why
from crawler.frontier.reasons import EXPLANATIONS, Drop
from crawler.frontier.scope import Scope
from crawler.frontier.seeds import plant, read_seed
from crawler.urls import Url, canonicalise


def scope_of(**settings: object) -> Scope:
    found = Settings()
    found.setmodule("crawler.settings")
    found.setdict({"FOLLOW_HOSTS": "all", **settings}, priority="cmdline")
    return Scope.from_config(FrontierConfig.from_settings(found))


def url(text: str) -> Url:
    return canonicalise(text, "https://example.com/")


@pytest.mark.parametrize(
    ("settings", "link", "reason"),
    [
        ({}, "/docs/a", None),
        ({"INCLUDE": ["/docs/", "/blog/"]}, "/blog/a", None),
        ({"INCLUDE": ["/docs/", "/blog/"]}, "/a", Drop.NOT_INCLUDED),
        ({"INCLUDE": "/docs/ /blog/"}, "/blog/a", None),
        ({"EXCLUDE": [r"\?sort="]}, "/a?sort=up", Drop.EXCLUDED),
        ({"EXCLUDE": [r"\?sort="], "INCLUDE": ["/a"]}, "/a?sort=up", Drop.EXCLUDED),
        ({}, "/a.zip", Drop.NOT_HTML),
        ({"SKIP_EXTENSIONS": []}, "/a.zip", None),
        ({"SKIP_EXTENSIONS": ""}, "/a.zip", None),
        ({"SKIP_EXTENSIONS": "html,.PHP"}, "/a.php", Drop.NOT_HTML),
        ({}, "/a/b/a/b/a/b", Drop.TRAP_REPETITION),
        ({"TRAP_PATH_REPEATS": 4}, "/a/b/a/b/a/b", None),
        ({}, "/calendar/2391/07", Drop.TRAP_CALENDAR),
        ({}, "http://10.0.0.1/", Drop.PRIVATE_ADDRESS),
        ({"ALLOW_PRIVATE": True}, "http://10.0.0.1/", None),
    ],
)
def test_links(settings, link, reason):
    assert scope_of(**settings).refuse_link(url(link), 1) == reason


def test_seeds_are_wanted_whatever_patterns_and_rules_say():
    scope = scope_of(INCLUDE=["/docs/"], EXCLUDE=["example"])
    for text in ["/", "/a.zip", "/a/b/a/b/a/b", "/calendar/2391/07"]:
        assert scope.refuse_seed(url(text)) is None
        assert scope.refuse_link(url(text), 1) is not None


@pytest.fixture
def lists(tmp_path):
    (tmp_path / "deny").write_text(".bad.com\nevil.org\n")
    (tmp_path / "allow").write_text(".good.com\n.bad.com\n10.0.0.1\n")
    return {"HOSTS_DENY_FILE": str(tmp_path / "deny"), "HOSTS_ALLOW_FILE": str(tmp_path / "allow")}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("https://www.good.com/", None),
        ("https://www.bad.com:8443/", Drop.HOST_DENIED),
        ("http://evil.org./", Drop.HOST_DENIED),
        ("http://other.org/", Drop.HOST_NOT_ALLOWED),
        ("http://10.0.0.1/", Drop.PRIVATE_ADDRESS),
    ],
)
def test_lists_of_hosts_hold_for_links_and_seeds(lists, text, reason):
    scope = scope_of(**lists)
    for _ in range(2):
        assert scope.refuse_link(canonicalise(text), 1) == reason
        assert scope.refuse_seed(canonicalise(text)) == reason
    if reason:
        with pytest.raises(BadUrl, match=r"is not crawled: its (host|address) is") as error:
            scope.check_seed(canonicalise(text))
        assert error.value.reason == reason


def test_a_denied_seed_is_refused_with_its_reason(open_crawl_on_one, lists):
    crawl = open_crawl_on_one()
    scope = scope_of(**lists)
    seeds = [read_seed("https://good.com/"), read_seed("https://bad.com/"), read_seed("https://x.org/")]
    planted = crawl.run(plant(crawl.frontier, seeds, scope))
    assert planted.accepted == 1
    assert planted.refused == [("https://bad.com/", "host_denied"), ("https://x.org/", "host_not_allowed")]
    assert crawl.status().drops == {"host_denied": 1, "host_not_allowed": 1}


def test_why_says_which_rule_it_was(open_crawl_on_one, lists):
    crawl = open_crawl_on_one()
    scope = scope_of(**lists, EXCLUDE=["/private"])
    for text, reason in [
        ("https://good.com/a/b/a/b/a/b", Drop.TRAP_REPETITION),
        ("https://good.com/calendar/2391/07", Drop.TRAP_CALENDAR),
        ("https://good.com/private", Drop.EXCLUDED),
        ("https://good.com/a.zip", Drop.NOT_HTML),
        ("https://bad.com/", Drop.HOST_DENIED),
    ]:
        answer = crawl.run(why(crawl.frontier, text, scope))
        assert (answer.state, answer.reason) == ("out_of_scope", reason)
        assert EXPLANATIONS[reason] in answer.message
        assert ("As a seed" in answer.message) == (reason != Drop.HOST_DENIED)


def test_queries_are_counted_last():
    scope = scope_of(TRAP_QUERIES_PER_PATH=2, EXCLUDE=["c=0"])
    reasons = [scope.refuse_link(url(f"/shop?a=1&b=2&c={number}"), 1) for number in range(5)]
    assert reasons == [Drop.EXCLUDED, None, None, Drop.TRAP_QUERIES, Drop.TRAP_QUERIES]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INCLUDE", "a("),
        ("EXCLUDE", 7),
        ("HOSTS_DENY_FILE", "/nonexistent/file"),
        ("HOSTS_ALLOW_FILE", ["a"]),
        ("SKIP_EXTENSIONS", [7]),
        ("TRAP_PATH_REPEATS", -1),
        ("TRAP_YEARS_PAST", "many"),
        ("TRAP_SESSION_IDS", "perhaps"),
    ],
)
def test_a_bad_setting_is_named(name, value):
    with pytest.raises(ConfigurationError, match=name):
        scope_of(**{name: value})
