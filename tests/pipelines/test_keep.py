"""Is a page kept with what is true of it, whatever the machine says?"""

import gzip
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from tests.crawls import SpiderProcess
from tests.storage.stores import configure, in_loop, listed, opened
from tests.web import Site, WebServer


@in_loop
async def test_the_clock_of_a_worker_does_not_date_its_pages(redis_url: str, tmp_path: Path) -> None:
    """Of two versions of a page, by workers whose clocks differ, the later one would lose otherwise."""
    before = time.time()
    with WebServer(Site.trees(hosts=1, pages=2), tmp_path) as web:
        arguments = {"seeds": web.seeds()[0]}
        with SpiderProcess("tests.pipelines.behind:Behind", tmp_path, arguments, REDIS_URL=redis_url) as worker:
            assert worker.wait() == 0, worker.log
    async with opened(configure(tmp_path / "data" / "store", tmp_path)) as store:
        infos = await listed(store)
    assert len(infos) == 2
    assert all(before <= info.fetched_at / 1000 <= time.time() for info in infos)


BODY = b"<title>Silk</title><p>as it was before it was compressed"


class CompressedPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_page = self.path == "/"
        self.send_response(200 if is_page else 404)
        if is_page:
            for name, value in (
                ("Content-Type", "text/html"), ("Content-Encoding", "gzip"), ("Vary", "Cookie"), ("Vary", "Accept"),
                ("Set-Cookie", "a=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT"), ("Set-Cookie", "b=2"),
            ):  # fmt: skip
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(gzip.compress(BODY) if is_page else b"")

    def log_message(self, *_: object) -> None:
        pass


def test_a_warc_file_has_the_headers_that_were_received_and_the_body_decoded(redis_url: str, tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), CompressedPage)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    arguments = {"seeds": f"http://127.0.0.1:{server.server_port}/"}
    settings = {"REDIS_URL": redis_url, "STORE_FORMAT": "warc"}
    with SpiderProcess("crawler.spiders.broad:BroadSpider", tmp_path, arguments, **settings) as worker:
        assert worker.wait() == 0, worker.log
    server.shutdown()
    server.server_close()
    [path] = (tmp_path / "data" / "store").rglob("*.warc.gz")
    with path.open("rb") as file:
        [(headers, body)] = [
            (record.http_headers.headers, record.content_stream().read())
            for record in ArchiveIterator(file, check_digests="raise")
            if record.rec_type == "response"
        ]
    assert body == BODY
    assert [value for name, value in headers if name == "Set-Cookie"] == [
        "a=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT", "b=2",
    ]  # fmt: skip
    names = dict(headers)
    assert (names["Vary"], names["Content-Length"]) == ("Cookie, Accept", str(len(BODY)))
    assert "Content-Encoding" not in names
