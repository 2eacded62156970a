"""Is the judge itself right? The test server, its log, and the functions that read verdicts from it."""

import http.client
import random
import socket
import threading
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from parsel import Selector

from tests.web import (
    Answer,
    Hit,
    Host,
    Site,
    WebServer,
    expected_paths,
    loopback,
    max_in_any_window_excess,
    overlaps_between_agents,
)


def hits_at(times: Iterable[float], host: str = "a", agent: str = "one", seconds: float = 0.0) -> list[Hit]:
    return [Hit(start, start + seconds, host, "/", agent, 200) for start in times]


def get(url: str, agent: str = "test", timeout: float = 5, method: str = "GET") -> tuple[int, dict[str, str], str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, headers={"User-Agent": agent})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


def crawl(seeds: Iterable[str]) -> set[str]:
    """A crawler of ten lines that shares nothing with expected_paths."""
    waiting, seen = list(seeds), set(seeds)
    while waiting:
        url = waiting.pop()
        status, headers, body = get(url)
        links = [headers["Location"]] if "Location" in headers else []
        if status == 200:
            links += Selector(body).css("a::attr(href)").getall()
        for link in (urljoin(url, link) for link in links):
            if link not in seen:
                seen.add(link)
                waiting.append(link)
    return seen


# --- Windows --------------------------------------------------------------------------------------


def test_a_bucket_emptied_at_once_and_then_at_its_rate_is_just_polite() -> None:
    times = [1.7e9] * 10 + [1.7e9 + second for second in range(1, 20)]
    assert max_in_any_window_excess(hits_at(times), rate=1, burst=10) == pytest.approx(0, abs=1e-6)


def test_one_request_too_many_is_seen_wherever_it_stands() -> None:
    polite = [1.7e9 + second for second in range(100)]
    for extra in (0, 50.5, 99):
        excess = max_in_any_window_excess(hits_at([*polite, 1.7e9 + extra]), rate=1, burst=1)
        assert excess == pytest.approx(1, abs=1e-6), extra


def test_a_slow_drift_is_seen_only_over_a_long_window() -> None:
    times = [second * 0.9 for second in range(101)]  # 1.11 requests a second
    assert max_in_any_window_excess(hits_at(times), rate=1, burst=1) == pytest.approx(101 - 1 - 90)


def test_hosts_are_judged_apart() -> None:
    hits = [hit for host in "abc" for hit in hits_at([0, 0], host)]
    assert max_in_any_window_excess(hits, rate=1, burst=2) == 0


def test_no_hits_are_an_empty_window() -> None:
    assert max_in_any_window_excess([], rate=1, burst=3) == -3


def test_the_fast_answer_is_the_one_of_trying_every_window() -> None:
    chance = random.Random(1)
    for _ in range(50):
        times = sorted(chance.uniform(0, 20) for _ in range(40))
        rate, burst = chance.uniform(0.5, 4), chance.randint(1, 5)
        tried = max(j - i + 1 - burst - rate * (times[j] - times[i]) for i in range(40) for j in range(i, 40))
        assert max_in_any_window_excess(hits_at(times), rate, burst) == pytest.approx(tried)


# --- Overlaps -------------------------------------------------------------------------------------


def test_two_agents_at_once_on_a_host_overlap() -> None:
    first, second = hits_at([0], seconds=2), hits_at([1], agent="two", seconds=2)
    assert overlaps_between_agents(second + first) == [(first[0], second[0])]


def test_one_agent_may_overlap_itself_and_agents_may_take_turns() -> None:
    assert overlaps_between_agents(hits_at([0, 0.5], seconds=1) + hits_at([2], agent="two", seconds=1)) == []


def test_agents_on_different_hosts_do_not_overlap() -> None:
    assert overlaps_between_agents(hits_at([0], seconds=1) + hits_at([0], host="b", agent="two", seconds=1)) == []


def test_a_long_request_overlaps_all_that_start_within_it() -> None:
    long, inside = hits_at([0], seconds=10), hits_at([1, 3, 5], agent="two", seconds=0.1)
    assert overlaps_between_agents(long + inside) == [(long[0], hit) for hit in inside]


def test_a_request_that_never_ended_overlaps_all_that_follow() -> None:
    hung = [Hit(0, None, "a", "/", "one", None)]
    assert len(overlaps_between_agents(hung + hits_at([100], agent="two"))) == 1


# --- The graph ------------------------------------------------------------------------------------


@pytest.mark.parametrize("pages", [1, 2, 7, 100])
def test_every_page_of_a_tree_is_reachable(pages: int) -> None:
    site = Site.trees(hosts=2, pages=pages, extra_links=0)
    assert len(expected_paths(site, 8000)) == 2 * pages


def test_one_seed_reaches_all_hosts_when_hosts_link_to_each_other() -> None:
    site = Site.trees(hosts=5, pages=10, other_hosts=1)
    assert len(expected_paths(site, 8000, seeds=["http://127.0.0.4:8000/"])) == 50
    assert len(expected_paths(Site.trees(hosts=5, pages=10), 8000, seeds=["http://127.0.0.4:8000/"])) == 10


def test_what_is_expected_stops_at_errors_at_robots_and_at_dead_hosts() -> None:
    site = Site.trees(hosts=3, pages=7, extra_links=0)
    site.hosts["127.0.0.1"].answers = {"/p/1": [Answer(status=500)], "/p/2": [Answer(status=503), Answer()]}
    site.hosts["127.0.0.2"].silent = True
    site.hosts["127.0.0.3"].refuses = True
    found = expected_paths(site, 8000, allowed=lambda url: not url.endswith("/p/6"))
    assert {urlsplit(url).path for url in found} == {"/", "/p/1", "/p/2", "/p/5"}
    assert {urlsplit(url).hostname for url in found} == {"127.0.0.1"}


def test_loopback_addresses_are_distinct_and_no_network_or_broadcast_address() -> None:
    addresses = [loopback(number) for number in range(1, 1001)]
    assert len(set(addresses)) == 1000
    assert addresses[0] == "127.0.0.1"
    assert addresses[254] == "127.0.1.1"
    assert {address.rsplit(".", 1)[1] for address in addresses}.isdisjoint({"0", "255"})


def test_a_site_survives_its_json() -> None:
    site = Site({"127.0.0.1": Host(pages=3, answers={"/x": [Answer(503, {"Retry-After": "1"}), Answer(body="ü")]})})
    assert Site.from_json(site.to_json()) == site


# --- The server -----------------------------------------------------------------------------------


def test_a_crawl_finds_exactly_what_is_expected_and_the_log_has_it(tmp_path: Path) -> None:
    site = Site.trees(hosts=3, pages=30, extra_links=2, other_hosts=2, padding_bytes=500)
    site.hosts["127.0.0.2"].answers = {
        "/p/3": [Answer(302, {"Location": "/moved?b=2&a=1"})],
        "/moved": [Answer(body='<a href="/p/4">back</a> <a href="/gone">gone</a>')],
        "/p/9": [Answer(status=404)],
    }
    with WebServer(site, tmp_path) as web:
        found = crawl(web.seeds())
        assert found == web.expected_paths()
        assert web.url("127.0.0.2", "/moved?b=2&a=1") in found
        assert web.url("127.0.0.2", "/gone") in found
        hits = web.requests()
    assert sorted(hit.url for hit in hits) == sorted(found)
    assert all(hit.end is not None and hit.start <= hit.end for hit in hits)
    assert {hit.status for hit in hits} == {200, 302, 404}
    assert {hit.user_agent for hit in hits} == {"test"}


def test_pages_are_padded_and_differ(tmp_path: Path) -> None:
    with WebServer(Site.trees(hosts=1, pages=3, padding_bytes=50_000), tmp_path) as web:
        bodies = [get(web.url("127.0.0.1", path))[2] for path in ("/", "/p/1", "/p/2", "/p/1")]
    paddings = [Selector(body).css("p::text").get("") for body in bodies]
    assert [len(padding) for padding in paddings] == [50_000] * 4
    assert len(set(paddings)) == 3
    assert paddings[1] == paddings[3]


def test_behaviours_come_in_turn_and_the_last_one_stays(tmp_path: Path) -> None:
    turns = [Answer(503, {"Retry-After": "7"}), Answer(429), Answer()]
    with WebServer(Site({"127.0.0.1": Host(pages=3, answers={"/p/1": turns})}), tmp_path) as web:
        answers = [get(web.url("127.0.0.1", "/p/1")) for _ in range(4)]
        assert get(web.url("127.0.0.1", "/p/2"))[0] == 200
    assert [status for status, _, _ in answers] == [503, 429, 200, 200]
    assert answers[0][1]["Retry-After"] == "7"
    assert "Page 1" in answers[3][2]


def test_latency_and_delay_are_in_the_log(tmp_path: Path) -> None:
    host = Host(pages=3, latency_ms=100, answers={"/p/1": [Answer(delay_ms=200)]})
    with WebServer(Site({"127.0.0.1": host}), tmp_path) as web:
        get(web.url("127.0.0.1"))
        get(web.url("127.0.0.1", "/p/1"))
        lengths = [(hit.end or 0) - hit.start for hit in web.requests()]
    assert 0.09 < lengths[0] < 0.29 < lengths[1]


def test_robots_is_absent_a_text_or_a_status(tmp_path: Path) -> None:
    site = Site.trees(hosts=3)
    site.hosts["127.0.0.2"].robots = "User-agent: *\nDisallow: /p/\n"
    site.hosts["127.0.0.3"].robots_status = 503
    with WebServer(site, tmp_path) as web:
        answers = [get(web.url(address, "/robots.txt")) for address in site.hosts]
        assert len(web.requests()) == 3
        assert web.pages() == []
    assert [status for status, _, _ in answers] == [404, 200, 503]
    assert answers[1][2] == site.hosts["127.0.0.2"].robots
    assert answers[1][1]["Content-Type"].startswith("text/plain")


def test_hosts_can_be_silent_or_refuse_and_paths_can_hang_or_reset(tmp_path: Path) -> None:
    site = Site.trees(hosts=3, pages=3)
    site.hosts["127.0.0.1"].answers = {"/p/1": [Answer(hang=True)], "/p/2": [Answer(reset=True)]}
    site.hosts["127.0.0.2"].silent = True
    site.hosts["127.0.0.3"].refuses = True
    with WebServer(site, tmp_path) as web:
        with pytest.raises(TimeoutError):
            get(web.url("127.0.0.1", "/p/1"), timeout=0.2)
        with socket.create_connection(("127.0.0.1", web.port), timeout=5) as client:
            client.sendall(f"GET /p/2 HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n\r\n".encode())
            # Not through http.client: it calls an orderly end without an answer a reset too.
            with pytest.raises(ConnectionResetError):
                client.recv(1)
        with pytest.raises(TimeoutError):
            get(web.url("127.0.0.2"), timeout=0.2)
        with pytest.raises(ConnectionRefusedError):
            get(web.url("127.0.0.3"))
        deadline = time.monotonic() + 5
        while any(hit.end is None for hit in web.requests()) and time.monotonic() < deadline:
            time.sleep(0.01)
        hits = web.requests()
    assert [(hit.path, hit.status) for hit in hits] == [("/p/1", None), ("/p/2", None), ("/", None)]
    assert all(hit.end is not None for hit in hits), "a client that leaves ends its request"
    assert (hits[0].end or 0) - hits[0].start >= 0.15


def test_the_log_survives_a_kill_and_a_restart_keeps_the_port(tmp_path: Path) -> None:
    site = Site({"127.0.0.1": Host(pages=3, answers={"/p/1": [Answer(hang=True)]})})
    web = WebServer(site, tmp_path).start()
    port = web.port
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"GET /p/1 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        web.wait_for_pages(1)
        web.stop()
    assert [(hit.path, hit.end) for hit in web.requests()] == [("/p/1", None)]
    with web.start():
        assert web.port == port
        get(web.url("127.0.0.1"), agent="two")
        hits = web.requests()
    assert [hit.status for hit in hits] == [None, 200]
    assert overlaps_between_agents(hits) == [], "what the killed server had open ended with it"


def test_waiting_for_pages_that_nobody_asks_for_says_so(tmp_path: Path) -> None:
    with WebServer(Site.trees(hosts=1), tmp_path) as web:
        get(web.url("127.0.0.1"))
        assert len(web.wait_for_pages(1)) == 1
        with pytest.raises(TimeoutError, match="1 pages asked for"):
            web.wait_for_pages(2, timeout_seconds=0.1)


def test_agents_that_really_overlap_are_caught(tmp_path: Path) -> None:
    with WebServer(Site.trees(hosts=1, latency_ms=300), tmp_path) as web:
        threads = [threading.Thread(target=get, args=(web.url("127.0.0.1"), agent)) for agent in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(overlaps_between_agents(web.requests())) == 1


def test_keep_alive_pipelining_bodies_and_head(tmp_path: Path) -> None:
    with WebServer(Site.trees(hosts=1, pages=3, latency_ms=5), tmp_path) as web:
        with socket.create_connection(("127.0.0.1", web.port), timeout=5) as client:
            host = f"Host: 127.0.0.1:{web.port}\r\n"
            client.sendall(
                f"HEAD / HTTP/1.1\r\n{host}\r\n"
                f"POST /p/1 HTTP/1.1\r\n{host}Content-Length: 5\r\n\r\nhelloGET /p/".encode()
            )
            time.sleep(0.01)  # the last request arrives in two pieces
            client.sendall(f"2 HTTP/1.1\r\n{host}Connection: close\r\n\r\n".encode())
            received = b""
            while data := client.recv(65536):
                received += data
        hits = web.requests()
    assert received.count(b"HTTP/1.1 200 OK") == 3
    assert b"<title>Page 0" not in received
    assert b"<title>Page 1" in received
    assert b"<title>Page 2" in received
    assert [hit.path for hit in hits] == ["/", "/p/1", "/p/2"]
    assert all((a.end or 0) <= b.start for a, b in pairwise(hits))


def test_many_hosts_share_one_port(tmp_path: Path) -> None:
    with WebServer(Site.trees(hosts=500), tmp_path) as web:
        for number in (1, 254, 255, 500):
            assert get(web.url(loopback(number)))[0] == 200
        assert [hit.host for hit in web.requests()] == [f"{loopback(n)}:{web.port}" for n in (1, 254, 255, 500)]


def test_a_site_that_cannot_be_served_is_an_error_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    with WebServer(Site.trees(hosts=1), tmp_path) as web:
        second = WebServer(Site.trees(hosts=1), tmp_path / "second", port=web.port)
        with pytest.raises(RuntimeError, match="did not start"):
            second.start()


def test_the_server_is_cheap_enough_not_to_be_what_a_test_measures(tmp_path: Path) -> None:
    number = 3000
    with WebServer(Site.trees(hosts=1, pages=100, padding_bytes=2000), tmp_path) as web:
        before = _cpu_seconds(web.pid)
        connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=5)
        for page in range(number):
            connection.request("GET", f"/p/{1 + page % 99}", headers={"User-Agent": "test"})
            assert len(connection.getresponse().read()) > 2000
        connection.close()
        assert len(web.requests()) == number
        assert _cpu_seconds(web.pid) - before < number / 3000


def _cpu_seconds(pid: int) -> float:
    """Of the server alone, so that a busy machine does not decide: the wall clock would count the client too."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        pytest.skip("needs /proc")
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / 100
