"""Real pages: documentation that Debian has as packages, served by nginx as three hosts.

What a complete crawl must find is worked out from the files on disk, with the standard library's HTML parser and not
with ours.
"""

import os
import random
import re
import shutil
import subprocess
from collections import deque
from functools import cache, cached_property
from html.parser import HTMLParser
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest

from tests.servers import free_port, wait_until

PACKAGES = {
    "python3-doc": "/usr/share/doc/python3*/html",
    "git-doc": "/usr/share/doc/git-doc",
    "sqlite3-doc": "/usr/share/doc/sqlite3",
}
STARTS = {"python3-doc": "index.html", "git-doc": "git.html", "sqlite3-doc": "index.html"}
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
PHRASE_WORDS = 5
_UNSEEN = ("script", "style", "title", "template", "noscript")
_CONFIGURATION = """
{user}
daemon off;
pid {scratch}/nginx.pid;
error_log {scratch}/nginx.error.log;
events {{ worker_connections 1024; }}
http {{
    types {{ text/html html htm; text/plain txt; text/css css; application/javascript js; image/png png; }}
    default_type application/octet-stream;
    log_format hits '$server_addr $status $request_uri';
    access_log {scratch}/access.log hits;
    client_body_temp_path {scratch}/body;
    proxy_temp_path {scratch}/proxy;
    fastcgi_temp_path {scratch}/fastcgi;
    uwsgi_temp_path {scratch}/uwsgi;
    scgi_temp_path {scratch}/scgi;
    {servers}
}}
"""


def find_roots() -> dict[str, Path]:
    roots = {}
    for package, pattern in PACKAGES.items():
        found = sorted(Path("/").glob(pattern[1:]))
        if not found or not (found[-1] / STARTS[package]).exists():
            pytest.skip(
                f"needs the documentation of Debian: apt install {' '.join(PACKAGES)}, or ./run test, which does"
            )
        roots[package] = found[-1].resolve()
    if NGINX is None:
        pytest.skip("needs nginx: apt install nginx-light, or ./run test, which does")
    return roots


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.text: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("a", "area") and values.get("href"):
            self.links.append(values["href"] or "")
        elif tag in ("iframe", "frame") and values.get("src"):
            self.links.append(values["src"] or "")
        elif tag in _UNSEEN:
            self._hidden += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._hidden -= 1

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text.append(data)


class Documentation:
    """Hosts 127.0.0.1 to 127.0.0.3, one for each package."""

    def __init__(self, scratch: Path) -> None:
        self._roots = find_roots()
        self._scratch = scratch
        self.port = free_port()
        self._hosts = {f"127.0.0.{number}:{self.port}": root for number, root in enumerate(self._roots.values(), 1)}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        servers = "\n    ".join(f"server {{ listen {host}; root {root}; }}" for host, root in self._hosts.items())
        user = "user root;" if os.geteuid() == 0 else ""
        file = self._scratch / "nginx.conf"
        file.write_text(_CONFIGURATION.format(user=user, scratch=self._scratch, servers=servers))
        assert NGINX is not None
        self._process = subprocess.Popen([NGINX, "-p", str(self._scratch), "-c", str(file)])
        wait_until(lambda: (self._scratch / "nginx.pid").exists(), "nginx")
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    @property
    def seeds(self) -> list[str]:
        return [f"http://{host}/{STARTS[package]}" for host, package in zip(self._hosts, self._roots, strict=True)]

    def url(self, package: str, path: str) -> str:
        host = list(self._hosts)[list(self._roots).index(package)]
        return f"http://{host}/{path}"

    def file_of(self, url: str) -> Path | None:
        parts = urlsplit(url)
        root = self._hosts.get(parts.netloc)
        if root is None or parts.query:
            return None
        name = unquote(parts.path).lstrip("/")
        path = (root / (f"{name}index.html" if name == "" or name.endswith("/") else name)).resolve()
        return path if path.is_file() and path.suffix in (".html", ".htm") and path.is_relative_to(root) else None

    @cached_property
    def pages(self) -> dict[str, Path]:
        """Every page that is reachable from the seeds."""
        found: dict[str, Path] = {}
        waiting = deque(self.seeds)
        while waiting:
            url = waiting.popleft()
            path = self.file_of(url)
            if url in found or path is None:
                continue
            found[url] = path
            links = [link.strip().replace("\\", "/") for link in self._read(path).links]  # as browsers read them
            waiting.extend(urldefrag(urljoin(url, link)).url for link in links)
        return found

    def requests(self) -> list[str]:
        """What nginx answered with a page, as often as it did."""
        lines = (self._scratch / "access.log").read_text().splitlines()
        hits = [line.split(" ", 2) for line in lines]
        return [f"http://{host}:{self.port}{path}" for host, status, path in hits if status == "200"]

    def phrases(self) -> dict[str, str]:
        """For each page a phrase that is in no other; pages that have none, such as copies, are left out. A phrase is
        never taken across elements, where one reader may see a space and another none.
        """
        dice = random.Random(11)
        candidates: dict[str, list[str]] = {}
        for url, path in self.pages.items():
            found = [phrase for piece in self._read(path).text for phrase in _phrases(piece) if _is_plain(phrase)]
            candidates[url] = dice.sample(found, min(30, len(found)))
        count = dict.fromkeys((phrase for some in candidates.values() for phrase in some), 0)
        for path in self.pages.values():
            text = self._read(path).text
            for phrase in {*_phrases("".join(text)), *_phrases(" ".join(text))} & count.keys():
                count[phrase] += 1
        return {
            url: unique[0] for url, some in candidates.items() if (unique := [one for one in some if count[one] == 1])
        }

    @staticmethod
    @cache  # it takes longer than the crawl does
    def _read(path: Path) -> _Reader:
        reader = _Reader()
        reader.feed(path.read_text("utf-8", "replace"))
        return reader


def _phrases(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[at : at + PHRASE_WORDS]) for at in range(len(words) - PHRASE_WORDS + 1)]


def _is_plain(phrase: str) -> bool:
    return all(word.isascii() and word.isalpha() and len(word) > 1 for word in phrase.split())
