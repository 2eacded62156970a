"""Does a crawl of a site full of traps end by itself, with the pages that are worth it and no others?"""

import json
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.fleet import CRAWL, Fleet
from tests.web import Answer, Host, Site, WebServer, loopback

HERE = loopback(1)
YEAR = date.today().year
TOKENS = [f"{number:032x}" for number in range(1, 40)]


def page(*links: str, head: str = "", **headers: str) -> list[Answer]:
    anchors = "".join(f'<a href="{link}">x</a>' if link[0] != "<" else link for link in links)
    return [Answer(headers=headers, body=f"<title>t</title>{head}{anchors}")]


def calendar() -> dict[str, list[Answer]]:
    """Every month leads to the one before and the one after, for a century: once in the path, once in the query."""
    months = [(year, month) for year in range(YEAR - 60, YEAR + 60) for month in range(1, 13)]
    site = {}
    for here, (year, month) in enumerate(months):
        around = [months[there] for there in (here - 1, here + 1) if 0 <= there < len(months)]
        site[f"/calendar/{year}/{month:02}"] = page(*(f"/calendar/{y}/{m:02}" for y, m in around))
        # The query as the canonical form has it.
        site[f"/cal.php?month={month}&year={year}"] = page(*(f"/cal.php?month={m}&year={y}" for y, m in around))
    return site


def repetition() -> dict[str, list[Answer]]:
    """A relative link on a page that answers under any path."""
    return {f"/loop/{'a/b/' * times}": page("a/b/") for times in range(30)}


def sessions() -> dict[str, list[Answer]]:
    """Each link has a session that was never there before."""
    site = {"/shop": page(*(f"/shop?PHPSESSID={token}" for token in TOKENS[:10]), f"/cart;jsessionid={TOKENS[0]}")}
    site["/cart"] = page(*(f"/cart;jsessionid={token}" for token in TOKENS), *(f"/shop?sid={t}" for t in TOKENS))
    for token in TOKENS:
        site[f"/shop?sid={token}"] = site[f"/cart;jsessionid={token}"] = page("/a-session-was-followed")
    for here, there in pairwise(TOKENS):
        site[f"/(S({here}))/asp"] = page(f"/(S({there}))/asp")
    return site


def filters() -> dict[str, list[Answer]]:
    return {"/list": page(*(f"/list?a={a}&b={b}&c={c}" for a in range(5) for b in range(5) for c in range(5)))}


ANSWERS = {
    "/": page(
        f"/calendar/{YEAR}/01", f"/cal.php?month=1&year={YEAR}", "/loop/", "/shop", f"/(S({TOKENS[0]}))/asp", "/list",
        "/good", "/silent", "/secret", "/copy", "/photo.jpg", "/wiki/File:Photo.jpg", "/drop/me",
        '<a rel="nofollow" href="/unvouched">x</a>', '<a rel="ugc" href="/unvouched2">x</a>',
    ),
    **calendar(),
    **repetition(),
    **sessions(),
    **filters(),
    "/good": page("/"),
    "/silent": page("/not-followed", head='<meta name="robots" content="nofollow">'),
    "/secret": page("/behind-secret", **{"X-Robots-Tag": "otherbot: none, worker-1: noindex"}),
    "/behind-secret": page(head='<meta name="robots" content="noindex">'),
    "/copy": page("/", head='<link rel="canonical" href="/original">'),
    "/original": page("/", head='<link rel="canonical" href="/original">'),
    "/elsewhere": page(),
    "/photo.jpg": [Answer(headers={"Content-Type": "image/jpeg"}, body="x")],
    "/wiki/File:Photo.jpg": page("/film"),
    "/film": [Answer(headers={"Content-Type": "video/mp4", "Content-Length": "10000000"}, body="x")],
    **{path: page() for path in ("/not-followed", "/unvouched", "/unvouched2", "/drop/me", "/a-session-was-followed")},
}  # fmt: skip
WANTED = {
    "/", "/good", "/silent", "/secret", "/behind-secret", "/copy", "/original", "/shop", "/cart", "/list", "/film",
    "/wiki/File:Photo.jpg", "/loop/", "/loop/a/b/", "/loop/a/b/a/b/",
    *(f"/calendar/{year}/{month:02}" for year in range(YEAR - 2, YEAR + 2) for month in range(1, 13)),
    *(f"/cal.php?month={month}&year={year}" for year in range(YEAR - 2, YEAR + 2) for month in range(1, 13)),
}  # fmt: skip


@pytest.fixture(scope="module")
def crawl(redis_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("traps")
    with redis_server.client() as client:
        client.flushall()
    settings = {"TRAP_YEARS_PAST": 2, "TRAP_YEARS_FUTURE": 1, "TRAP_QUERIES_PER_PATH": 20, "EXCLUDE": "/drop/ /never$"}
    site = Site({HERE: Host(pages=1, answers=ANSWERS)})
    with WebServer(site, directory) as web, Fleet(redis_server.url, directory, **settings) as fleet:
        fleet.seed(web.seeds())
        (worker,) = fleet.start(1)
        fleet.wait(90)
        assert "Traceback" not in worker.log, worker.log
        lines = (directory / "data" / "crawls" / CRAWL / "pages.jsonl").read_text().splitlines()
        items = {item["url"].partition(f":{web.port}")[2]: item for item in map(json.loads, lines)}
        return fleet.check_sum(), [hit.path for hit in web.pages()], items, fleet.end_reasons()


def test_it_ends_and_asks_for_each_page_once(crawl: Any) -> None:
    status, paths, _, reasons = crawl
    assert reasons == {"finished"}
    assert status.count("queued") == 0
    assert len(paths) == len(set(paths))


def test_no_trap_was_entered_further_than_its_limit(crawl: Any) -> None:
    _, paths, _, _ = crawl
    queries = {path for path in paths if path.startswith("/list?")}
    assert len(queries) == 20
    assert set(paths) - queries == WANTED


def test_every_drop_has_its_reason(crawl: Any) -> None:
    status, _, _, _ = crawl
    assert status.dead_reasons == {"not_html": 1}
    assert {reason: number for reason, number in status.drops.items() if reason != "duplicate"} == {
        "trap_calendar": 4,  # both ends of both
        "trap_repetition": 1,
        "trap_session": 1,
        "trap_queries": 105 * 21,  # on the list, and on each of its 20 pages, which are the same
        "nofollow": 3,
        "excluded": 1,
        "not_html": 1,
    }


def test_items_say_what_their_pages_asked_for(crawl: Any) -> None:
    _, _, items, _ = crawl
    assert {path for path, item in items.items() if item["noindex"]} == {"/secret", "/behind-secret"}
    copies = {path: item["canonical"] for path, item in items.items() if item["canonical"]}
    assert list(copies) == ["/copy"]
    assert copies["/copy"].endswith("/original")


def test_a_canonical_page_elsewhere_is_not_said(redis_url: str, tmp_path: Path) -> None:
    head = '<link rel="canonical" href="https://example.org/">'
    site = Site({HERE: Host(pages=1, answers={"/": page(head=head)})})
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path) as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        fleet.wait(30)
        [line] = (tmp_path / "data" / "crawls" / CRAWL / "pages.jsonl").read_text().splitlines()
        assert json.loads(line)["canonical"] == ""
        assert fleet.check_sum().drops == {"off_scope": 1}


def test_patterns_do_not_hold_for_a_seed_nor_for_where_it_leads(redis_url: str, tmp_path: Path) -> None:
    answers = {
        "/": [Answer(302, {"Location": "/start"})],
        "/start": page("/docs/a", "/blog/b"),
        "/docs/a": page("/docs/b", "/start", "/moved"),
        "/docs/b": [Answer(302, {"Location": "/blog/c"})],
    }
    site = Site({HERE: Host(pages=1, answers=answers)})
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, INCLUDE="/docs/") as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        fleet.wait(30)
        assert sorted(hit.path for hit in web.pages()) == ["/", "/docs/a", "/docs/b", "/start"]
        drops = fleet.check_sum().drops
        assert drops["not_included"] == 2 + 1  # and the redirect of a link
        assert drops["duplicate"] == 1  # /start is known, and so nobody asks whether it is wanted


def test_a_sitemap_is_read_whatever_its_name_and_type(redis_url: str, tmp_path: Path) -> None:
    answers = {
        "/": page(),
        "/sitemap.gz": [Answer(headers={"Content-Type": "application/gzip"}, body="")],
        "/docs/a": page(),
        "/blog/b": page(),
    }
    host = Host(pages=1, answers=answers)
    with WebServer(Site({HERE: host}), tmp_path) as web, Fleet(redis_url, tmp_path, INCLUDE="/docs/") as fleet:
        web.stop()  # its port is known now
        names = "".join(f"<url><loc>{web.url(HERE, path)}</loc></url>" for path in ("/docs/a", "/blog/b"))
        answers["/sitemap.gz"][0].body = f"<urlset>{names}</urlset>"
        host.robots = f"Sitemap: {web.url(HERE, '/sitemap.gz')}\n"
        web.start()
        fleet.seed(web.seeds())
        fleet.start(1)
        fleet.wait(30)
        assert {hit.path for hit in web.pages()} == {"/", "/sitemap.gz", "/docs/a"}
        assert fleet.check_sum().dead_reasons == {}


def test_a_denied_host_is_refused_as_a_seed_and_as_a_link(redis_url: str, tmp_path: Path) -> None:
    site = Site.trees(hosts=3, pages=3, other_hosts=2)
    (tmp_path / "deny").write_text(f"{loopback(2)}  # not this one\n")
    with WebServer(site, tmp_path) as web:
        settings = {"HOSTS_DENY_FILE": tmp_path / "deny", "FOLLOW_HOSTS": "all"}
        with Fleet(redis_url, tmp_path, **settings) as fleet:
            fleet.seed([web.url(loopback(1)), web.url(loopback(2))])
            (worker,) = fleet.start(1)
            fleet.wait(30)
            assert {hit.host.partition(":")[0] for hit in web.pages()} == {loopback(1), loopback(3)}
            assert "its host is on the list in HOSTS_DENY_FILE" in worker.log
            assert fleet.check_sum().drops["host_denied"] > 0


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("EXCLUDE", "/a(?=b)", ["EXCLUDE", "look-ahead", "character 3"]),
        ("HOSTS_DENY_FILE", "/nonexistent/hosts", ["HOSTS_DENY_FILE", "cannot be read"]),
        ("TRAP_PATH_REPEATS", "often", ["TRAP_PATH_REPEATS", "often"]),
        ("OBEY_NOFOLLOW", "perhaps", ["OBEY_NOFOLLOW", "perhaps"]),
    ],
)
def test_a_mistake_is_one_line(redis_url: str, tmp_path: Path, name: str, value: str, words: list[str]) -> None:
    with Fleet(redis_url, tmp_path) as fleet:
        (worker,) = fleet.start(1, **{name: value})
        assert worker.wait(30) != 0, worker.log
        assert any(all(word in line for word in words) for line in worker.log.splitlines()), worker.log
        assert "Traceback" not in worker.log, worker.log
