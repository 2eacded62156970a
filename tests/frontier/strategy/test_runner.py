"""Do Frontera's strategies, bundled and foreign, run inside a worker, and is no link lost to one that fails?"""

import sys
import types

import pytest

from crawler.errors import ConfigurationError
from crawler.frontier.strategy.breadth_first import BreadthFirstStrategy, score_breadth_first
from crawler.frontier.strategy.compat import BaseCrawlingStrategy, States
from crawler.frontier.strategy.runner import Candidate, Page, StrategyRunner
from tests.frontier.strategy.settings import make_settings

PAGE = Page("https://a.com/start", depth=1)
LINKS = [Candidate(f"https://a.com/{name}", "a.com", 2) for name in ("one", "two", "three")]
SEEDS = [Candidate(f"https://{name}.com/", f"{name}.com", 0, is_seed=True) for name in "ab"]


class Plain(BaseCrawlingStrategy):
    """Does nothing, and says what it was told."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.calls = []

    def read_seeds(self, stream):
        self.calls.append(("seeds", stream.read()))

    def page_crawled(self, response):
        self.calls.append(("page", response))

    def filter_extracted_links(self, request, links):
        return links

    def links_extracted(self, request, links):
        self.calls.append(("links", request, links))

    def request_error(self, request, error):
        self.calls.append(("error", request, error))


def run(strategy, **changes) -> StrategyRunner:
    return StrategyRunner.from_settings(make_settings(FRONTIER_STRATEGY=strategy, **changes))


def stand_ins(runner, links):
    return [score_breadth_first(runner.config, link.url, link.depth, link.is_seed) for link in links]


# --- Frontera's own strategies ---------------------------------------------------------------


def test_frontera_s_basic_strategy():
    runner = run("frontera.strategy.basic.BasicCrawlingStrategy")
    assert not runner.is_fast
    assert runner.score_seeds(SEEDS).scores == [1.0, 1.0]
    assert runner.score_links(PAGE, LINKS).scores == [1.0, 1.0, 1.0]
    assert runner.report_error(PAGE, "DNSLookupError").extras == []
    assert not runner.is_finished()
    runner.close()


@pytest.mark.parametrize(
    ("name", "score"), [("BreadthFirstCrawlingStrategy", 1 / 3), ("DepthFirstCrawlingStrategy", 2 / 3)]
)
def test_frontera_s_depth_strategies(name, score):
    runner = run(f"frontera.strategy.depth.{name}")
    assert runner.score_seeds(SEEDS).scores == [1.0, 1.0]
    found = runner.score_links(PAGE, LINKS)
    assert found.scores == [pytest.approx(score)] * 3
    assert (found.extras, found.errors) == ([], [])
    failed = runner.report_error(PAGE, "TimeoutError")  # schedules with dont_queue
    assert (failed.scores, failed.extras, failed.errors) == ([], [], [])
    runner.close()


@pytest.fixture
def discovery(monkeypatch, tmp_path):
    """Frontera's largest strategy, over two libraries that it needs and nobody installs any more."""

    class PublicSuffixList:
        def __init__(self, file): ...

        def get_public_suffix(self, host):
            return ".".join(host.split(".")[-2:])

    suffixes = types.ModuleType("publicsuffix")
    suffixes.PublicSuffixList = PublicSuffixList
    soup = types.ModuleType("bs4")
    soup.BeautifulSoup = None
    monkeypatch.setitem(sys.modules, "publicsuffix", suffixes)
    monkeypatch.setitem(sys.modules, "bs4", soup)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "public_suffix_list.dat").touch()
    yield "frontera.strategy.discovery.Discovery"
    for name in ("frontera.strategy.discovery", "frontera.strategy.discovery.sitemap"):
        sys.modules.pop(name, None)


def test_frontera_s_discovery_strategy(discovery):
    runner = run(discovery, DISCOVERY_MAX_PAGES=3)
    seeds = runner.score_seeds(SEEDS[:1])
    assert (seeds.scores, seeds.errors) == ([None], [])
    [robots] = seeds.extras
    assert robots.url == "https://a.com/robots.txt"
    assert robots.meta == {b"netloc": "a.com", b"seed": "https://a.com/", b"robots": True}
    assert robots.depth == 0

    body = b"User-agent: *\nDisallow: /two\nSitemap: https://a.com/map.xml\n"
    found = runner.score_links(Page(robots.url, body=body, meta=robots.meta), [])
    assert found.errors == []
    assert {extra.url for extra in found.extras} == {"https://a.com/map.xml", "http://a.com/"}

    foreign = Candidate("https://elsewhere.org/", "elsewhere.org", 2)
    found = runner.score_links(PAGE, [*LINKS, foreign])
    assert found.errors == []
    assert [score is not None for score in found.scores].count(True) == 1  # the other two of its three are the extras
    assert found.scores[1] is None  # robots.txt
    assert found.scores[3] is None
    assert all(0 <= score <= 1 for score in found.scores if score is not None)
    assert runner.report_error(PAGE, "DNSLookupError").errors == []
    assert runner.score_links(PAGE, LINKS).scores == [None] * 3  # its domain does not resolve
    runner.close()


def test_a_strategy_that_cannot_start_says_why(discovery, tmp_path):
    (tmp_path / "public_suffix_list.dat").unlink()
    with pytest.raises(ConfigurationError, match=r"Discovery', which does not start: FileNotFoundError.*suffix_list"):
        run(discovery)


# --- What a strategy is given ----------------------------------------------------------------


def test_what_a_strategy_is_told():
    runner = run(Plain)
    page = Page("https://a.com:8080/p", 203, 4, b"body", {b"A": [b"b"]}, {b"mine": 1})
    runner.score_seeds(SEEDS)
    assert runner.score_links(page, LINKS[:1]).scores == [None]
    runner.report_error(page, "timeout")
    (_, seeds), (_, response), (_, request, [link]), (_, failed, error) = runner.strategy.calls
    assert seeds == b"https://a.com/\nhttps://b.com/"
    assert (response.url, response.status_code, response.body) == (page.url, 203, b"body")
    assert response.headers == {b"A": [b"b"]}
    assert response.request is request
    for crawled in (request, failed):
        assert crawled.meta[b"depth"] == 4
        assert crawled.meta[b"mine"] == 1
        assert crawled.meta[b"state"] == States.QUEUED
    assert request.meta[b"domain"][b"netloc"] == b"a.com:8080"
    assert request.meta[b"domain"][b"name"] == b"a.com"
    assert request.meta[b"domain"][b"scheme"] == b"https"
    assert link.url == LINKS[0].url
    assert link.meta[b"state"] == States.NOT_CRAWLED
    assert link.meta[b"depth"] == 2
    assert len(link.meta[b"fingerprint"]) == 40
    assert link.meta[b"jid"] == 0
    assert link.method == b"GET"
    assert error == "timeout"


def test_a_page_without_links_is_still_crawled():
    runner = run(Plain)
    runner.score_links(PAGE, [])
    assert [call[0] for call in runner.strategy.calls] == ["page"]


def test_settings_arguments_and_domain_metadata():
    class Curious(Plain):
        @classmethod
        def from_worker(cls, manager, args, scheduled_stream, states_context):
            self = cls(manager, args, scheduled_stream, states_context)
            manager.backend.domain_metadata.setdefault("a.com", {})["pages"] = 1
            self.seen = args, manager.settings.get("USER_AGENT"), manager.settings.get("SW_FLUSH_INTERVAL")
            self.seen += (manager.settings.BOT_NAME, manager.backend.states)
            return self

    runner = run(Curious, STRATEGY_ARGS={"a": "b"}, USER_AGENT="me")
    args, agent, interval, bot, states = runner.strategy.seen
    assert (args, agent, interval, bot) == ({"a": "b"}, "me", 300, "orbweaver")
    assert isinstance(states, States)


def test_start_and_stop_are_called():
    happened = []

    class Watcher(Plain):
        def frontier_start(self):
            happened.append("start")

        def frontier_stop(self):
            happened.append("stop")

        def close(self):
            happened.append("close")
            super().close()

        def finished(self):
            return True

    runner = run(Watcher)
    assert runner.is_finished()
    runner.close()
    assert happened == ["start", "close", "stop"]


def test_states_that_were_asked_for_are_not_kept():
    class Asking(Plain):
        def links_extracted(self, request, links):
            more = [self.create_request("https://a.com/more"), self.create_request(b"https://a.com/bytes")]
            self.refresh_states(more)
            self.refresh_states(more[0])
            for link in more:
                assert link.meta[b"state"] == States.NOT_CRAWLED
                self.schedule(link, 0.4)

    runner = run(Asking)
    found = runner.score_links(PAGE, LINKS)
    assert [extra.url for extra in found.extras] == ["https://a.com/more", "https://a.com/bytes"]
    assert found.errors == []
    assert runner._context._requests == []


# --- What it may schedule --------------------------------------------------------------------


def test_what_is_filtered_or_not_queued_has_no_score():
    class Picky(Plain):
        def filter_extracted_links(self, request, links):
            return links[1:]

        def links_extracted(self, request, links):
            self.schedule(links[0], 0.2)
            self.schedule(links[1], 0.9, dont_queue=True)

    assert run(Picky).score_links(PAGE, LINKS).scores == [None, 0.2, None]


def test_a_filter_that_wants_nothing_is_not_asked_further():
    class Sated(Plain):
        def filter_extracted_links(self, request, links):
            return None

    runner = run(Sated)
    found = runner.score_links(PAGE, LINKS)
    assert (found.scores, found.errors) == ([None] * 3, [])
    assert [call[0] for call in runner.strategy.calls] == ["page"]


def test_other_urls_come_back_with_what_the_strategy_knows_of_them():
    class Inventive(Plain):
        def page_crawled(self, response):
            self.schedule(self.create_request("https://a.com/map.xml", meta={b"sitemap": True}), 0.9)

        def links_extracted(self, request, links):
            self.schedule(links[2].copy(), 0.3)
            self.schedule(self.create_request("https://b.com/", meta={b"depth": 0}), 0.5)

        def request_error(self, request, error):
            self.schedule(request, 0.1)

    runner = run(Inventive)
    found = runner.score_links(PAGE, LINKS)
    assert found.scores == [None, None, 0.3]
    assert [(extra.url, extra.score, extra.depth, extra.meta) for extra in found.extras] == [
        ("https://a.com/map.xml", 0.9, 2, {b"sitemap": True}),
        ("https://b.com/", 0.5, 0, {}),
    ]
    [again] = runner.report_error(PAGE, "timeout").extras
    assert (again.url, again.score, again.depth) == (PAGE.url, 0.1, 1)
    assert runner.score_links(Page("https://a.com/x"), []).extras[0].depth == 1


@pytest.mark.parametrize(("given", "kept"), [(7, 1.0), (-1, 0.0), ("0.5", 0.5), (float("inf"), 1.0)])
def test_scores_are_brought_into_range(given, kept):
    class Loud(Plain):
        def links_extracted(self, request, links):
            self.schedule(links[0], given)

    assert run(Loud).score_links(PAGE, LINKS[:1]).scores == [kept]


# --- What it may break -----------------------------------------------------------------------


@pytest.mark.parametrize("bad", [float("nan"), None, "x"])
def test_a_score_that_is_no_number_is_an_error(bad):
    class Wrong(Plain):
        def links_extracted(self, request, links):
            for link in links:
                self.schedule(link, bad)

    runner = run(Wrong)
    found = runner.score_links(PAGE, LINKS)
    assert found.scores == stand_ins(runner, LINKS)
    assert len(found.errors) == 1


def test_links_of_a_strategy_that_fails_halfway_are_not_lost():
    class Halfway(Plain):
        def filter_extracted_links(self, request, links):
            return links[:2]

        def links_extracted(self, request, links):
            self.schedule(links[0], 0.11)
            raise KeyError("depth")

    runner = run(Halfway)
    found = runner.score_links(PAGE, LINKS)
    assert found.scores == [0.11, stand_ins(runner, LINKS)[1], None]  # the third was filtered, on purpose
    [error] = found.errors
    assert isinstance(error, KeyError)
    assert error.__traceback__ is not None


@pytest.mark.parametrize("broken", ["page_crawled", "filter_extracted_links", "links_extracted"])
def test_every_method_may_fail(broken):
    class Broken(Plain):
        def links_extracted(self, request, links):
            for link in links:
                self.schedule(link, 0.5)

    def fail(self, *arguments):
        raise RuntimeError(broken)

    setattr(Broken, broken, fail)
    runner = run(Broken)
    found = runner.score_links(PAGE, LINKS)
    assert found.scores == ([0.5] * 3 if broken == "page_crawled" else stand_ins(runner, LINKS))
    assert [str(error) for error in found.errors] == [broken]


def test_seeds_and_errors_survive_a_failure():
    class Broken(Plain):
        def read_seeds(self, stream):
            raise OSError("no seeds")

        def request_error(self, request, error):
            raise RuntimeError(error)

    runner = run(Broken)
    seeds = runner.score_seeds(SEEDS)
    assert seeds.scores == [1.0, 1.0]
    assert [str(error) for error in seeds.errors] == ["no seeds"]
    assert [str(error) for error in runner.report_error(PAGE, "dns").errors] == ["dns"]


def test_what_a_failed_page_scheduled_does_not_leak_into_the_next():
    class Leaky(Plain):
        def links_extracted(self, request, links):
            self.schedule(links[0], 0.11)
            raise RuntimeError

    runner = run(Leaky)
    runner.score_links(PAGE, LINKS)
    assert runner.score_links(PAGE, LINKS[1:]).extras == []


# --- The fast hook ---------------------------------------------------------------------------


class Fast(Plain):
    def score_candidates(self, candidates):
        return [0.9, None, 2]


def test_any_strategy_may_have_the_fast_hook():
    runner = run(Fast)
    assert runner.is_fast
    assert runner.score_links(PAGE, LINKS).scores == [0.9, None, 1.0]
    assert runner.strategy.calls == []


@pytest.mark.parametrize("answer", [[0.1], None, [0.1, 0.2, float("nan")], [0.1, 0.2, "x"]])
def test_a_fast_hook_that_fails_loses_nothing(answer):
    class Broken(Fast):
        def score_candidates(self, candidates):
            return answer

    runner = run(Broken)
    found = runner.score_links(PAGE, LINKS)
    assert found.scores == stand_ins(runner, LINKS)
    assert len(found.errors) == 1


@pytest.mark.parametrize(
    "name", ["read_seeds", "page_crawled", "filter_extracted_links", "links_extracted", "schedule"]
)
def test_who_overrides_a_method_has_it_called(name):
    child = type("Child", (BreadthFirstStrategy,), {name: getattr(BreadthFirstStrategy, name)})
    assert not run(child).is_fast
    assert run(type("Named", (BreadthFirstStrategy,), {})).is_fast


# --- Loading ---------------------------------------------------------------------------------


class Unfinished(BaseCrawlingStrategy):
    pass


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("no.such.module.Strategy", r"is 'no\.such\.module\.Strategy', which cannot be imported \(ModuleNotFoundError"),
        ("crawler.frontier.strategy.breadth_first.Missing", r"cannot be imported \(NameError.*give the dotted path"),
        ("Strategy", r"cannot be imported \(ValueError"),
        ("", "cannot be imported"),
        (None, "cannot be imported"),
        ("collections.OrderedDict", r"no crawling strategy; derive it from frontera\.strategy\.BaseCrawlingStrategy"),
        ("crawler.urls.canonicalise", "no crawling strategy"),
        (Unfinished, "does not start: TypeError.*abstract"),
    ],
)
def test_a_wrong_strategy_is_explained(path, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        run(path)
