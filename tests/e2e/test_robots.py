"""Is robots.txt obeyed by a fleet? The web server's log is the judge."""

import itertools
import json
from pathlib import Path

import pytest

from crawler.frontier.messages import Status
from tests.fleet import Fleet
from tests.servers import free_port
from tests.web import Answer, Site, WebServer, loopback

RULES = "User-agent: *\nDisallow: /p/1\nAllow: /p/1$\n"


def crawl(
    redis_url: str, tmp_path: Path, site: Site, workers: int = 1, port: int = 0
) -> tuple[Status, list[str], Fleet]:
    with WebServer(site, tmp_path, port) as web, Fleet(redis_url, tmp_path, HOST_BACKOFF_MAX_SECONDS=0.2) as fleet:
        fleet.seed(web.seeds())
        fleet.start(workers)
        fleet.wait(60)
        return fleet.check_sum(), [hit.path for hit in web.requests()], fleet


def test_a_disallowed_page_is_never_fetched(redis_url: str, tmp_path: Path) -> None:
    status, paths, _ = crawl(redis_url, tmp_path, Site.trees(hosts=4, pages=20, robots=RULES), workers=4)
    assert paths.count("/robots.txt") == 4
    assert paths.count("/p/1") == 4
    assert not [path for path in paths if path.startswith("/p/1") and path != "/p/1"]
    assert status.dead_reasons == {"robots": 4 * len([n for n in range(20) if str(n).startswith("1") and n != 1])}


@pytest.mark.parametrize(
    ("status", "body", "fetched"),
    [
        (200, "", 5), (200, "<html>not found</html>", 5), (204, "", 5), (301, "", 5), (404, RULES, 5), (403, "", 5),
        (401, "User-agent: *\nDisallow: /", 5), (500, "", 0), (503, "User-agent: *\nAllow: /", 0), (429, "", 0),
        (200, "\ufeffuser-agent: *\r\ndisallow: /p", 1), (200, "User-agent: *\rDisallow: /", 0),
        (200, "User-agent: worker-1\nDisallow:\n\nUser-agent: *\nDisallow: /", 5),
        (200, "#" * 600_000 + "\nUser-agent: *\nDisallow: /", 5),
    ],
)  # fmt: skip
def test_what_an_answer_means(redis_url: str, tmp_path: Path, status: int, body: str, fetched: int) -> None:
    site = Site.trees(hosts=1, pages=5)
    site.hosts[loopback(1)].answers["/robots.txt"] = [Answer(status, {"Content-Type": "text/plain"}, body)]
    found, paths, _ = crawl(redis_url, tmp_path, site)
    assert len([path for path in paths if path != "/robots.txt"]) == fetched
    is_unreachable = status >= 500 or status == 429
    assert paths.count("/robots.txt") == (4 if is_unreachable else 1)
    if is_unreachable:
        assert found.dead_reasons == {"robots_unreachable": 1}


def test_a_busy_server_is_asked_again(redis_url: str, tmp_path: Path) -> None:
    site = Site.trees(hosts=1, pages=5)
    site.hosts[loopback(1)].answers["/robots.txt"] = [
        Answer(503), Answer(reset=True), Answer(429, {"Retry-After": "1"}),
        Answer(200, body="User-agent: *\nDisallow: /p/3"),
    ]  # fmt: skip
    status, paths, _ = crawl(redis_url, tmp_path, site)
    assert paths[:4] == ["/robots.txt"] * 4
    assert sorted(paths[4:]) == ["/", "/p/1", "/p/2", "/p/4"]
    assert status.dead_reasons == {"robots": 1}


def test_redirects_are_followed_five_times(redis_url: str, tmp_path: Path) -> None:
    site = Site.trees(hosts=2, pages=3)
    for number, answers in ((1, site.hosts[loopback(1)].answers), (2, site.hosts[loopback(2)].answers)):
        last = 5 if number == 1 else 6
        names = ["/robots.txt", *(f"/hop{hop}" for hop in range(1, last + 1))]
        for name, target in itertools.pairwise(names):
            answers[name] = [Answer(302, {"Location": target})]
        answers[names[-1]] = [Answer(200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /p")]
    status, paths, _ = crawl(redis_url, tmp_path, site)
    assert len([path for path in paths if path.startswith("/p/")]) == 2  # of the second, whose rules were not reached
    assert "/hop6" not in paths
    assert status.dead_reasons == {"robots": 2}


def test_rules_of_another_host_may_be_redirected_to(redis_url: str, tmp_path: Path) -> None:
    site, port = Site.trees(hosts=2, pages=3), free_port()
    target = f"http://{loopback(2)}:{port}/robots.txt"
    site.hosts[loopback(1)].answers["/robots.txt"] = [Answer(301, {"Location": target})]
    site.hosts[loopback(2)].robots = "User-agent: *\nDisallow: /p/2"
    with WebServer(site, tmp_path, port) as web:
        with Fleet(redis_url, tmp_path) as fleet:
            fleet.seed(web.seeds())
            fleet.start(2)
            fleet.wait(60)
            assert fleet.check_sum().dead_reasons == {"robots": 2}
            answer = fleet.command("frontier", "why", web.url(loopback(1), "/p/2"))
        assert "robots.txt disallows it in line 2: Disallow: /p/2" in answer.stdout
        assert not [hit for hit in web.pages() if hit.path == "/p/2"]


def test_sitemaps_feed_the_frontier(redis_url: str, tmp_path: Path) -> None:
    """Pages that nothing links to."""
    site, port = Site.trees(hosts=1, pages=1), free_port()
    root = f"http://{loopback(1)}:{port}"
    host = site.hosts[loopback(1)]
    host.robots = "User-agent: *\nDisallow: /closed\n\nSitemap: /index.xml\nSitemap: http://other.example/x.xml\n"
    xml = {"Content-Type": "application/xml"}
    host.answers |= {
        "/index.xml": [Answer(200, xml, f"<sitemapindex><sitemap><loc>{root}/one.xml</loc></sitemap></sitemapindex>")],
        "/one.xml": [
            Answer(
                200, xml, f"<urlset><url><loc>{root}/alone</loc><lastmod>2026-01-01</lastmod></url>"
                f"<url><loc>{root}/closed/x</loc></url><url><loc>http://elsewhere.example/</loc></url>",
            )
        ],
        "/alone": [Answer(200, {"Content-Type": "text/html"}, "<title>alone</title>")],
    }  # fmt: skip
    status, paths, fleet = crawl(redis_url, tmp_path, site, port=port)
    assert sorted(paths) == ["/", "/alone", "/index.xml", "/one.xml", "/robots.txt"]
    assert status.count("pages") == 2  # a sitemap is none
    assert status.dead_reasons == {"robots": 1}
    assert status.drops["off_scope"] == 2
    log = (fleet.directory / "data" / "crawls" / "faults" / "pages.jsonl").read_text()
    assert sorted(json.loads(line)["title"] or "" for line in log.splitlines())[-1] == "alone"
