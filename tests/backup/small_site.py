"""A small site that has what a rebuild must get right: copies, originals, near copies, pages that refuse to be kept."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TEXT = " ".join(f"sentence number {number} tells of spiders and their webs" for number in range(120))
LINKS = """<ul><li><a href="/copy-a">first copy</a><li><a href="/copy-b">second copy</a>
<li><a href="/near-a">near one</a>
<li><a href="/near-b">near two</a><li><a href="/print">print view</a><li><a href="/article">the article</a>
<li><a href="/secret">secret</a><li><a href="/plain.txt">plain text</a><li><a href="/german">deutsch</a>
<li><a href="/gone">nothing</a></ul>"""


def page(title: str, body: str, head: str = "", lang: str = "en") -> bytes:
    return f'<!doctype html><html lang="{lang}"><title>{title}</title>{head}<body>{body}</body></html>'.encode()


PAGES = {
    "/": page("Home", f"<h1>Home</h1>{LINKS}", '<meta name="description" content="a small site">'),
    "/copy-a": page("Copy", "<p>All of this is there twice. <a href='/article'>more about it</a></p>"),
    "/copy-b": page("Copy", "<p>All of this is there twice. <a href='/article'>more about it</a></p>"),
    "/near-a": page("Near", f"<p>{TEXT} monday</p>"),
    "/near-b": page("Near", f"<p>{TEXT} tuesday</p>"),
    "/print": page("Print", "<p>For the printer</p>", '<link rel="canonical" href="/article">'),
    "/article": page(
        "Article",
        "<h1>Article</h1><h2>Part</h2><p>Long words of wisdom</p><a href='/near-a'>read on</a>",
        '<meta name="keywords" content="a, b"><meta property="article:published_time" content="2024-05-01T10:00:00Z">',
    ),
    "/secret": page("Secret", "<p>not for you</p>", '<meta name="robots" content="noindex">'),
    "/plain.txt": b"A first line\nand another\n",
    "/german": page("Über uns", "<p>Wir sind das Spinnennetz und weben es jeden Tag neu</p>", lang="de"),
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = PAGES.get(self.path)
        self.send_response(200 if body else 404)
        kind = "text/plain" if self.path.endswith(".txt") else "text/html; charset=utf-8"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def small_site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
