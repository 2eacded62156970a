"""Is a response that is no page left unread, and everything else read?"""

import socket
import threading
from pathlib import Path

from tests.fleet import Fleet
from tests.web import Answer, Host, Site, WebServer, loopback

HTML = "text/html; charset=utf-8"
HERE = loopback(1)


def page(*links: str) -> Answer:
    return Answer(body="".join(f'<a href="{link}">x</a>' for link in links))


def promise(content_type: str, status: int = 200, **headers: str) -> Answer:
    """Headers of a long body that never comes: whoever waits for it waits until the timeout."""
    return Answer(status, {"Content-Type": content_type, "Content-Length": "50000000", **headers}, body="x")


def crawl(redis_url: str, directory: Path, answers: dict[str, list[Answer]], **settings: object):
    site = Site({HERE: Host(pages=1, answers={"/": [page(*answers)], **answers})})
    with WebServer(site, directory) as web, Fleet(redis_url, directory, DOWNLOAD_TIMEOUT=100, **settings) as fleet:
        fleet.seed(web.seeds())
        (worker,) = fleet.start(1)
        fleet.wait(40)
        assert "Traceback" not in worker.log, worker.log
        status = fleet.check_sum()
        asked = answers if status.dead_reasons else ()
        whys = {path: fleet.command("frontier", "why", web.url(HERE, path), "--json").stdout for path in asked}
        return status, [hit.path for hit in web.pages()], whys


def test_what_is_no_page_is_not_read(redis_url: str, tmp_path: Path) -> None:
    status, paths, whys = crawl(
        redis_url,
        tmp_path,
        {
            "/image": [promise("image/png")],
            "/archive": [promise("Application/ZIP; x=y")],
            "/data": [promise("application/json", **{"Content-Encoding": "gzip"})],
        },
    )
    assert sorted(paths) == ["/", "/archive", "/data", "/image"]
    assert status.dead_reasons == {"not_html": 3}
    assert status.count("pages") == 1
    for path, media in [("/image", "image/png"), ("/archive", "application/zip"), ("/data", "application/json")]:
        assert '"not_html"' in whys[path]
        assert media in whys[path]


def test_what_may_be_a_page_is_read(redis_url: str, tmp_path: Path) -> None:
    more = {f"/{number}": [Answer(body="y")] for number in range(7)}
    answers = {
        "/plain": [Answer(headers={"Content-Type": "text/plain"}, body="x")],
        "/xhtml": [Answer(headers={"Content-Type": "application/xhtml+xml"}, body='<a href="/1"/>')],
        "/feed": [Answer(headers={"Content-Type": "application/rss+xml"}, body="x")],
        "/unnamed": [Answer(headers={"Content-Type": ""}, body='<a href="/2">')],
        "/odd": [Answer(headers={"Content-Type": "html"}, body='<a href="/3">')],
        "/empty": [Answer(headers={"Content-Type": "image/png"}, body="")],
        **more,
    }
    status, paths, _ = crawl(redis_url, tmp_path, answers)
    assert set(paths) == {"/", *answers}
    assert status.dead_reasons == {}


def test_an_error_or_a_redirect_is_what_it_is_whatever_its_type(redis_url: str, tmp_path: Path) -> None:
    gzip = {"Content-Encoding": "gzip"}
    status, paths, whys = crawl(
        redis_url,
        tmp_path,
        {
            "/gone": [promise("application/json", 404, **gzip)],
            "/busy": [promise("application/json", 503, **gzip), page()],
            "/moved": [Answer(301, {"Content-Type": "application/json", "Location": "/there"}, body="{}")],
            "/there": [page()],
        },
        RETRY_DELAYS="0.1",
    )
    assert paths.count("/busy") == 2
    assert paths.count("/there") == 1
    assert status.dead_reasons == {"http_error": 1}
    assert "404" in whys["/gone"]
    assert status.count("pages") == 3


def test_types_are_a_setting(redis_url: str, tmp_path: Path) -> None:
    answers = {"/image": [Answer(headers={"Content-Type": "image/png"}, body="x")]}
    status, _, _ = crawl(redis_url, tmp_path, answers, ALLOWED_CONTENT_TYPES="text/*,image/*")
    assert status.dead_reasons == {}


def test_all_types_are_read_when_none_is_named(redis_url: str, tmp_path: Path) -> None:
    answers = {"/image": [Answer(headers={"Content-Type": "image/png"}, body="x")]}
    status, _, _ = crawl(redis_url, tmp_path, answers, ALLOWED_CONTENT_TYPES="")
    assert status.dead_reasons == {}


class Film:
    """Serves robots.txt as an image, and then as much of a film as somebody takes."""

    BYTES = 200_000_000

    def __init__(self) -> None:
        self.sent = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                request = b""
                while b"\r\n\r\n" not in request:
                    request += connection.recv(4096)
                if request.startswith(b"GET /robots.txt"):
                    body = b"User-agent: *\nDisallow: /secret\n"
                    head = (
                        b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                    )
                    connection.sendall(head % len(body) + body)
                    continue
                head = f"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: {self.BYTES}\r\n\r\n"
                connection.sendall(head.encode())
                try:
                    while self.sent < self.BYTES:
                        self.sent += connection.send(b"x" * 65536)
                except OSError:
                    pass

    def close(self) -> None:
        self._listener.close()


def test_the_body_of_a_film_stays_where_it_is(redis_url: str, tmp_path: Path) -> None:
    film = Film()
    with Fleet(redis_url, tmp_path, DOWNLOAD_MAXSIZE=0) as fleet:
        fleet.seed([f"http://127.0.0.1:{film.port}/film", f"http://127.0.0.1:{film.port}/secret"])
        (worker,) = fleet.start(1)
        fleet.wait(40)
        status = fleet.check_sum()
    film.close()
    assert status.dead_reasons == {"not_html": 1, "robots": 1}, "robots.txt is read, whatever it calls itself"
    # What the kernel's buffers took before the connection was closed.
    assert film.sent < film.BYTES / 10, worker.log
