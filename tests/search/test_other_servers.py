"""INDEX_URL leads to a server that is no search engine."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from crawler.errors import EngineUnavailable
from crawler.search.opening import IndexConfig, open_index


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<!doctype html><title>Welcome</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_PUT = do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def web_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(("engine", "product"), [("elasticsearch", "Elasticsearch"), ("opensearch", "OpenSearch")])
def test_a_web_server_is_told_from_an_engine(web_url: str, engine: str, product: str) -> None:
    async def work() -> None:
        index = open_index(IndexConfig.from_url(f"{engine}+{web_url}/pages"))
        try:
            with pytest.raises(EngineUnavailable, match=f"is no JSON: check that it is {product}"):
                await index.open()
        finally:
            await index.close()

    asyncio.run(work())
