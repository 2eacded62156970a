"""Are pages crawled that exist only after JavaScript? In the system's chromium; the web server's log is the judge."""

import json
import shutil
from pathlib import Path
from typing import Any

import psutil
import pytest

from crawler.errors import ConfigurationError
from crawler.render.chromium import find_chromium
from tests.fleet import Fleet
from tests.servers import free_port, wait_until
from tests.web import Answer, Site, WebServer, loopback, max_in_any_window_excess

pytestmark = pytest.mark.skipif(
    not shutil.which("chromium"), reason="needs chromium: apt install chromium, or ./run test, which does it"
)
HTML = {"Content-Type": "text/html"}
JS = {"Content-Type": "text/javascript"}
SHELL = '<title>shell</title><div id="root"></div><script src="/app.js"></script>'
APP = """
    fetch("/data.json").then(answer => answer.json()).then(data => {
        document.title = data.title;
        document.getElementById("root").innerHTML = '<a href="/second">' + data.text + "</a>";
    });
"""


def site_of(answers: dict[str, Answer], hosts: int = 1) -> Site:
    site = Site.trees(hosts=hosts, pages=1)
    site.hosts[loopback(1)].answers |= {path: [answer] for path, answer in answers.items()}
    return site


def app(**more: Answer) -> Site:
    answers = {
        "/": Answer(200, HTML, SHELL),
        "/app.js": Answer(200, JS, APP),
        "/data.json": Answer(200, {"Content-Type": "application/json"}, '{"title": "made", "text": "by a script"}'),
        "/second": Answer(200, HTML, "<title>second</title>"),
    }
    return site_of({**answers, **{f"/{name}": answer for name, answer in more.items()}})


def pages(fleet: Fleet) -> dict[str, dict[str, Any]]:
    text = (fleet.directory / "data" / "crawls" / "faults" / "pages.jsonl").read_text()
    return {"/" + page["url"].split("/", 3)[3]: page for page in map(json.loads, text.splitlines())}


@pytest.mark.parametrize("mode", ["RENDER", "RENDER_AUTO"])
def test_text_and_links_of_scripts_are_found(redis_url: str, tmp_path: Path, mode: str) -> None:
    with WebServer(app(), tmp_path) as web, Fleet(redis_url, tmp_path, **{mode: 1}) as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        fleet.wait(90)
        assert {path: page["title"] for path, page in pages(fleet).items()} == {"/": "made", "/second": "second"}
        paths = [hit.path for hit in web.requests()]
        assert sorted(paths) == ["/", "/app.js", "/data.json", "/robots.txt", "/second"]  # each once
        assert {hit.user_agent for hit in web.requests()} == {"worker-1"}
        fleet.check_complete(2)


def test_a_page_may_load_from_the_address_that_it_holds(redis_url: str, tmp_path: Path) -> None:
    settings = {"RENDER": 1, "RENDER_SECONDS": 10, "POLITENESS_BY_ADDRESS": 1}
    with WebServer(app(), tmp_path) as web, Fleet(redis_url, tmp_path, **settings) as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        fleet.wait(90)
        assert {path: page["title"] for path, page in pages(fleet).items()} == {"/": "made", "/second": "second"}
        assert sorted(hit.path for hit in web.requests()) == ["/", "/app.js", "/data.json", "/robots.txt", "/second"]


def test_without_rendering_there_is_nothing(redis_url: str, tmp_path: Path) -> None:
    with WebServer(app(), tmp_path) as web, Fleet(redis_url, tmp_path) as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        fleet.wait(60)
        assert list(pages(fleet)) == ["/"]


def test_what_a_page_loads_takes_tokens_too(redis_url: str, tmp_path: Path) -> None:
    scripts = "".join(f'<script src="/s{number}.js"></script>' for number in range(12))
    answers = {"/": Answer(200, HTML, f"<div id=root></div>{scripts}")}
    answers |= {f"/s{number}.js": Answer(200, JS, "1") for number in range(12)}
    rate, burst = 5.0, 3
    settings = {"RENDER": 1, "FRONTIER_RATE": rate, "FRONTIER_BURST": burst}
    with WebServer(site_of(answers), tmp_path) as web, Fleet(redis_url, tmp_path, **settings) as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        fleet.wait(90)
        assert len(web.requests()) == 14
        assert max_in_any_window_excess(web.requests(), rate, burst) <= 0


def test_images_fonts_and_disallowed_scripts_are_not_loaded(redis_url: str, tmp_path: Path) -> None:
    body = (
        "<title>x</title><link rel=stylesheet href=/a.css><img src=/a.png><video src=/a.mp4></video>"
        "<script src=/private/secret.js></script><script src=/app.js></script><iframe src=/frame></iframe>"
    )
    site = site_of({
        "/": Answer(200, HTML, body), "/app.js": Answer(200, JS, "document.title = 'ran'"),
        "/frame": Answer(200, HTML, "framed"),
    })  # fmt: skip
    site.hosts[loopback(1)].robots = "User-agent: *\nDisallow: /private"
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, RENDER=1) as fleet:
        fleet.seed(web.seeds())
        fleet.start(1)
        fleet.wait(90)
        # The frame is loaded with its page, and is a page itself.
        assert {hit.path for hit in web.requests()} == {"/", "/app.js", "/frame", "/robots.txt"}
        assert pages(fleet)["/"]["title"] == "ran"


def test_the_browser_reaches_nothing_by_itself(redis_url: str, tmp_path: Path) -> None:
    """Only 127.0.0.1 is allowed; the page tries everything it can to reach 127.0.0.2."""
    port = free_port()
    other = f"127.0.0.2:{port}"
    script = f"""
        fetch("http://{other}/fetch").catch(() => 0);
        new Image().src = "http://{other}/image";
        navigator.sendBeacon("http://{other}/beacon");
        try {{ new WebSocket("ws://{other}/socket") }} catch (e) {{}}
        try {{ new EventSource("http://{other}/events") }} catch (e) {{}}
        const frame = document.createElement("iframe"); frame.src = "http://{other}/frame"; document.body.append(frame);
        const link = document.createElement("link"); link.rel = "prefetch"; link.href = "http://{other}/prefetch";
        document.head.append(link);
        fetch("/redirect").catch(() => 0);
        fetch("file:///etc/passwd").catch(() => 0);
        document.title = "tried";
        setTimeout(() => location.href = "http://{other}/navigate", 100);
    """
    site = site_of(
        {
            "/": Answer(200, HTML, "<body><div id=root></div><script src=/app.js></script>"),
            "/app.js": Answer(200, JS, script),
            "/redirect": Answer(302, {"Location": f"http://{other}/redirected"}),
        },
        hosts=2,
    )
    settings = {"RENDER": 1, "ALLOW_PRIVATE": 0, "ALLOW_ADDRESSES": "127.0.0.1/32"}
    with WebServer(site, tmp_path, port) as web, Fleet(redis_url, tmp_path, **settings) as fleet:
        fleet.seed([web.url(loopback(1))])
        fleet.start(1)
        fleet.wait(90)
        assert pages(fleet)["/"]["title"] == "tried"
        assert [hit for hit in web.requests() if hit.host.startswith("127.0.0.2")] == []


def test_a_page_that_hangs_is_cut_and_kept(redis_url: str, tmp_path: Path) -> None:
    site = app(hangs=Answer(200, HTML, "<title>plain</title><script>while (true) {}</script>"))
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, RENDER=1, RENDER_SECONDS=4) as fleet:
        fleet.seed([web.url(loopback(1)), web.url(loopback(1), "/hangs")])
        fleet.start(1)
        fleet.wait(90)
        assert {path: page["title"] for path, page in pages(fleet).items()} == {
            "/": "made", "/second": "second", "/hangs": "plain",
        }  # fmt: skip
        assert "was not rendered, and is kept as it came" in fleet.workers[0].log


def test_a_browser_that_crashes_comes_back(redis_url: str, tmp_path: Path) -> None:
    answers = {"/": Answer(200, HTML, "".join(f"<a href=/{number}>x</a>" for number in range(30)))}
    made = "<title>plain</title><script>document.title = 'made'</script>"
    answers |= {f"/{number}": Answer(200, HTML, made, delay_ms=100) for number in range(30)}
    with WebServer(site_of(answers), tmp_path) as web, Fleet(redis_url, tmp_path, RENDER=1) as fleet:
        fleet.seed(web.seeds())
        (worker,) = fleet.start(1)
        web.wait_for_pages(8, 60)
        browsers = wait_until(lambda: browsers_of(worker.process.pid), "a browser")
        for browser in browsers:
            browser.kill()
        fleet.wait(120)
        found = pages(fleet)
        assert len(found) == 31
        assert found[list(found)[-1]]["title"] == "made"
        fleet.check_complete(31)
        assert browsers_of(worker.process.pid) == []


def test_a_browser_is_replaced_while_pages_are_open(redis_url: str, tmp_path: Path) -> None:
    answers = {"/": Answer(200, HTML, "".join(f"<a href=/{number}>x</a>" for number in range(20)))}
    made = "<title>plain</title><script>document.title = 'made'</script>"
    answers |= {f"/{number}": Answer(200, HTML, made) for number in range(20)}
    settings = {"RENDER": 1, "RENDER_PAGES_PER_BROWSER": 4, "DOWNLOAD_MAXSIZE": 0, "LOG_LEVEL": "INFO"}
    with WebServer(site_of(answers), tmp_path) as web, Fleet(redis_url, tmp_path, **settings) as fleet:
        fleet.seed(web.seeds())
        (worker,) = fleet.start(1)
        fleet.wait(120)
        assert [page["title"] for path, page in pages(fleet).items() if path != "/"] == ["made"] * 20
        assert worker.log.count("Starting download handler") == 6
        assert worker.log.count("Closing browser") == 6
        assert browsers_of(worker.process.pid) == []


def browsers_of(pid: int) -> list[psutil.Process]:
    try:
        children = psutil.Process(pid).children(recursive=True)
        return [child for child in children if "chrom" in child.name() and "--type=" not in " ".join(child.cmdline())]
    except psutil.NoSuchProcess:
        return []


def test_no_chromium_is_said_at_once(redis_url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="apt install chromium"):
        find_chromium("/no/such/program")
    with WebServer(app(), tmp_path) as web, Fleet(redis_url, tmp_path, RENDER=1, RENDER_BROWSER="/no/such") as fleet:
        fleet.seed(web.seeds())
        (worker,) = fleet.start(1)
        worker.wait(60)
        assert "RENDER_BROWSER is '/no/such', which is no program here" in worker.log
        assert web.pages() == []
