"""Do the options of the main job reach its workers, and the command that continues it?"""

import argparse
import shlex
from datetime import datetime

import pytest
from scrapy.settings import Settings

from crawler.errors import ConfigurationError
from crawler.frontier.config import check_name
from crawler.frontier.seeds import read_seed
from crawler.job import options
from crawler.job.job import name_crawl

SEEDS = [read_seed("https://example.org:8080/a")]


@pytest.fixture
def settings(monkeypatch, tmp_path):
    monkeypatch.delenv("ORBWEAVER_CWD", raising=False)
    monkeypatch.delenv("CRAWLER_FRONTIER_CRAWL", raising=False)
    project = Settings()
    project.setmodule("crawler.settings", priority="project")
    project.set("DATA_DIR", str(tmp_path), priority="project")
    return project


def parse(settings, *words):
    parser = argparse.ArgumentParser()
    options.add_options(parser, settings)
    parser.add_argument("-s", "--set", action="append", default=[])
    parser.add_argument("-L", "--loglevel")
    opts = parser.parse_args(words)
    settings.setdict(dict(pair.split("=", 1) for pair in opts.set), priority="cmdline")
    return opts


def plan_of(settings, *words):
    return options.build_plan(parse(settings, *words), settings, SEEDS)


def test_options_become_settings_here_and_in_the_workers(settings, tmp_path):
    plan = plan_of(
        settings, "--max-pages", "7", "--max-depth", "-1", "--max-pages-per-host", "5", "--rate", "2.5", "--burst", "3",
        "--allow-private", "--keep-alive", "--recrawl", "--workers", "4", "--crawl", "mine", "-s", "DOWNLOAD_TIMEOUT=3",
        "-L", "DEBUG",
    )  # fmt: skip
    config = plan.config
    assert (config.max_pages, config.max_depth, config.max_pages_per_host) == (7, -1, 5)
    assert (config.rate, config.burst, config.allow_private, config.keep_alive) == (2.5, 3, True, True)
    assert config.recrawl
    assert (config.crawl, plan.workers, plan.directory) == ("mine", 4, tmp_path / "crawls" / "mine")
    given = plan.worker_arguments
    assert given[::2] == ["-s"] * (len(given) // 2)
    assert set(given[1::2]) == {
        "DOWNLOAD_TIMEOUT=3", "MAX_PAGES=7", "MAX_DEPTH=-1", "MAX_PAGES_PER_HOST=5", "FRONTIER_RATE=2.5",
        "FRONTIER_BURST=3", "ALLOW_PRIVATE=True", "KEEP_ALIVE=True", "RECRAWL=True", "FRONTIER_CRAWL=mine",
        f"DATA_DIR={tmp_path}", "LOG_LEVEL=DEBUG",
    }  # fmt: skip


def test_without_options_the_settings_hold(settings):
    plan = plan_of(settings)
    assert {pair.partition("=")[0] for pair in plan.worker_arguments[1::2]} == {"FRONTIER_CRAWL", "DATA_DIR"}
    assert plan.workers == 1
    assert plan.config.crawl.startswith("example.org-8080-")


def test_patterns_and_lists_of_hosts_reach_the_workers(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("ORBWEAVER_CWD", str(tmp_path))
    plan = plan_of(
        settings, "--crawl", "mine", "--include", "/docs/", "--include=-a=b", "--exclude", r"\?x{1,3}",
        "--hosts-deny", "deny.txt", "--hosts-allow", "/etc/allow",
    )  # fmt: skip
    config = plan.config
    assert (config.include, config.exclude) == (("/docs/", "-a=b"), (r"\?x{1,3}",))
    assert (config.hosts_deny, str(config.hosts_allow)) == (tmp_path / "deny.txt", "/etc/allow")
    assert {
        "INCLUDE=/docs/ -a=b",
        r"EXCLUDE=\?x{1,3}",
        f"HOSTS_DENY_FILE={tmp_path}/deny.txt",
        "HOSTS_ALLOW_FILE=/etc/allow",
    } <= set(plan.worker_arguments)
    again = parse(settings, *shlex.split(plan.continue_command)[2:])
    assert (again.include, again.exclude) == (["/docs/", "-a=b"], [r"\?x{1,3}"])
    assert again.hosts_deny == f"{tmp_path}/deny.txt"


@pytest.mark.parametrize("pattern", ["a(", "a b", ""])
def test_a_bad_pattern_is_an_error_that_names_the_option(settings, pattern):
    with pytest.raises(ConfigurationError, match="--exclude"):
        plan_of(settings, "--exclude", pattern)


def test_the_command_that_continues_repeats_the_options_and_no_secret(settings):
    plan = plan_of(
        settings, "--crawl", "mine", "--max-depth", "2", "--allow-private", "--recrawl", "--workers", "3", "--json",
        "-s", "REDIS_URL=redis://:hunter2@h/0", "-s", "API_TOKEN=hunter2", "-s", "USER_AGENT=a b",
    )  # fmt: skip
    assert plan.continue_command == (
        "scrapy crawl --crawl mine --max-depth 2 --allow-private --recrawl --workers 3 "
        "-s 'REDIS_URL=…' -s 'API_TOKEN=…' -s 'USER_AGENT=a b'"
    )
    assert plan.engine_options == "-s 'REDIS_URL=…'"


def test_run_users_are_told_run(settings, monkeypatch):
    monkeypatch.setenv("ORBWEAVER_CWD", "/")
    assert plan_of(settings, "--crawl", "mine").continue_command == "./run crawl --crawl mine"


def test_the_crawl_can_be_named_by_its_setting(settings, monkeypatch):
    assert options.find_crawl(parse(settings), settings) is None
    assert options.find_crawl(parse(settings, "-s", "FRONTIER_CRAWL=mine"), settings) == "mine"


@pytest.mark.parametrize("workers", ["0", "-1", "257"])
def test_a_number_of_workers_that_cannot_be(settings, workers):
    with pytest.raises(ConfigurationError, match="--workers"):
        plan_of(settings, f"--workers={workers}")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.org/", "example.org-20261118-110105"),
        ("http://127.0.0.1:8000/", "127.0.0.1-8000-20261118-110105"),
        ("http://[::1]:8000/", "1--8000-20261118-110105"),
        (f"http://{'a' * 60}.{'b' * 60}.org/", f"{'a' * 60}-20261118-110105"),
    ],
)
def test_a_new_crawl_is_named_after_its_first_host_and_the_time(url, name):
    assert name_crawl([read_seed(url)], datetime(2026, 11, 18, 11, 1, 5)) == name
    assert check_name("crawl", name)
