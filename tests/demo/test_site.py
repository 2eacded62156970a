"""The sample site, seen by a client that knows nothing of how it is made."""

import http.client
import re
import time
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pytest
from parsel import Selector
from protego import Protego
from w3lib.url import canonicalize_url

from crawler.demo.pages import SLOW_SECONDS
from crawler.demo.site import DemoSite
from crawler.errors import EngineUnavailable
from crawler.settings import MAX_DEPTH

Answer = tuple[int, dict[str, str], str]


def get(url: str) -> Answer:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""))
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


def links_of(url: str, answer: Answer) -> list[str]:
    _, headers, body = answer
    links = [headers["Location"]] if "Location" in headers else Selector(body or " ").css("a::attr(href)").getall()
    return [urljoin(url, link) for link in links]


def crawl(seeds: list[str]) -> tuple[dict[str, Answer], set[str], int]:
    """Politely, by canonical URL: the answers, what robots.txt forbade, and how deep it went."""
    robots = {}
    answers: dict[str, Answer] = {}
    forbidden: set[str] = set()
    depth, level = 0, seeds
    while level:
        following = []
        for url in level:
            netloc = urlsplit(url).netloc
            if netloc not in robots:
                robots[netloc] = Protego.parse(get(f"http://{netloc}/robots.txt")[2])
            if not robots[netloc].can_fetch(url, "orbweaver"):
                forbidden.add(url)
            elif canonicalize_url(url) not in answers:
                answers[canonicalize_url(url)] = get(url)
                following += links_of(url, answers[canonicalize_url(url)])
        level = [url for url in dict.fromkeys(following) if canonicalize_url(url) not in answers]
        level = [url for url in level if url not in forbidden]
        depth += bool(level)
    return answers, forbidden, depth


@pytest.fixture(scope="module", params=[True, False], ids=["three hosts", "one host"])
def hosts(request: pytest.FixtureRequest) -> int:
    return 3 if request.param else 1


@pytest.fixture(scope="module")
def site(hosts: int) -> Iterator[tuple[DemoSite, list[str]]]:
    # No machine has the documentation addresses 192.0.2.x, just as macOS has no 127.0.0.2.
    site = DemoSite() if hosts == 3 else DemoSite(["127.0.0.1", "192.0.2.1", "192.0.2.2"])
    seeds = site.start()
    yield site, seeds
    site.stop()


@pytest.fixture(scope="module")
def crawled(site: tuple[DemoSite, list[str]]) -> tuple[dict[str, Answer], set[str], int]:
    return crawl(site[1])


def test_the_seeds_are_one_front_page_per_section(site: tuple[DemoSite, list[str]], hosts: int) -> None:
    _, seeds = site
    assert len(set(seeds)) == 3
    assert len({urlsplit(url).hostname for url in seeds}) == hosts
    assert len({urlsplit(url).port for url in seeds}) == 1
    assert all(get(url)[0] == 200 for url in seeds)


def test_a_polite_crawl_of_default_depth_finds_every_page(
    site: tuple[DemoSite, list[str]], crawled: tuple[dict[str, Answer], set[str], int]
) -> None:
    answers, forbidden, depth = crawled
    assert depth <= MAX_DEPTH
    missing = {url for url, (status, _, _) in answers.items() if status == 404}
    assert len(missing) == 1
    assert set(answers) - missing | forbidden == set(site[0].pages)
    assert 60 <= len(answers) <= 120


def test_there_is_one_redirect_and_it_leads_to_a_page(crawled: tuple[dict[str, Answer], set[str], int]) -> None:
    answers = crawled[0]
    moved = [answer for answer in answers.values() if answer[0] == 301]
    assert len(moved) == 1
    assert answers[moved[0][1]["Location"]][0] == 200


def test_robots_forbids_a_linked_section_that_is_there(crawled: tuple[dict[str, Answer], set[str], int]) -> None:
    answers, forbidden, _ = crawled
    assert len(forbidden) == 3
    assert all("/drafts/" in url and get(url)[0] == 200 for url in forbidden)
    assert not any("/drafts/" in url for url in answers)


def test_one_page_is_linked_under_two_orders_of_its_query(crawled: tuple[dict[str, Answer], set[str], int]) -> None:
    answers = crawled[0]
    linked = {link for url, answer in answers.items() for link in links_of(url, answer) if "?" in link}
    assert len(linked) == 2
    assert len({canonicalize_url(link) for link in linked}) == 1
    assert len({get(link)[2] for link in linked}) == 1


def test_one_page_is_slow(site: tuple[DemoSite, list[str]]) -> None:
    slow = [url for url, page in site[0].pages.items() if page.delay_seconds]
    assert len(slow) == 1
    started = time.monotonic()
    assert get(slow[0])[0] == 200
    assert time.monotonic() - started >= SLOW_SECONDS


def test_pages_read_like_pages(crawled: tuple[dict[str, Answer], set[str], int]) -> None:
    pages = {url: Selector(answer[2]) for url, answer in crawled[0].items() if answer[0] == 200}
    titles = [page.css("title::text").get("") for page in pages.values()]
    descriptions = [page.css("meta[name=description]::attr(content)").get("") for page in pages.values()]
    assert len(set(titles)) == len(titles)
    assert len(set(descriptions)) == len(descriptions)
    paragraphs = [text for page in pages.values() for text in page.css("main > p::text").getall() if len(text) > 60]
    assert len(set(paragraphs)) == len(paragraphs), "no filler that stands on every page"
    for url, page in pages.items():
        words = re.findall(r"\w+", " ".join(page.css("main ::text").getall()))
        assert len(words) >= 20, url


def test_sections_link_to_each_other(site: tuple[DemoSite, list[str]], hosts: int) -> None:
    for seed in site[1]:
        assert len({urlsplit(link).netloc for link in links_of(seed, get(seed))}) == hosts


def test_it_is_the_same_site_every_time() -> None:
    sites = DemoSite(), DemoSite()
    for site in sites:
        site.start()
    try:
        first, second = (
            [re.sub(r":\d{4,5}\b", "", url + page.body) for url, page in one.pages.items()] for one in sites
        )
        assert first == second
    finally:
        for site in sites:
            site.stop()


def test_connections_are_kept_alive_and_end_with_the_site() -> None:
    site = DemoSite()
    parts = urlsplit(site.start()[0])
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    seconds = []
    for method in ["GET", "GET", "HEAD"] * 20:
        started = time.monotonic()
        connection.request(method, "/")
        body = connection.getresponse().read()
        assert bool(body) == (method == "GET")
        assert connection.sock is not None, "the server closed a connection that should be kept"
        seconds.append(time.monotonic() - started)
    assert min(seconds[1:]) < 0.04, "40 ms for every request: the delayed-ACK wait is back"
    site.stop()
    assert connection.sock.recv(1) == b""
    connection.close()
    with pytest.raises(ConnectionRefusedError):
        connection.connect()


def test_an_address_that_cannot_be_had_at_all_is_an_error() -> None:
    with pytest.raises(EngineUnavailable, match=r"192\.0\.2\.1"):
        DemoSite(["192.0.2.1"]).start()
