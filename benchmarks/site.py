"""Which pages are crawled? A link-dense site of small articles, as files, served by nginx on loopback addresses."""

import os
import random
import shutil
import socket
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Self

from tests.servers import free_port

DIRECTORIES = 50
WORDS_PER_LINK = 40
WORKERS_OF_NGINX = 1

_CONFIGURATION = """
{user}
daemon off;
worker_processes {workers};
pid {scratch}/nginx.pid;
error_log {scratch}/nginx.error.log;
events {{ worker_connections 1024; }}
http {{
    types {{ text/html html; text/plain txt; }}
    log_format hits '$msec $server_addr $status $request_uri $http_user_agent';
    access_log {scratch}/access.log hits;
    client_body_temp_path {scratch}/body;
    proxy_temp_path {scratch}/proxy;
    fastcgi_temp_path {scratch}/fastcgi;
    uwsgi_temp_path {scratch}/uwsgi;
    scgi_temp_path {scratch}/scgi;
    keepalive_requests 1000000;
    gzip {gzip};
    charset {charset};
    server {{
        {listen}
        root {scratch}/site;
    }}
}}
"""


class LinkDenseSite:
    """Page 0 leads to all pages: each links to its two children in a binary tree, the rest of its links are random.

    With several hosts, page number n is on host n modulo their number, and links carry the host. ``nginx`` is its
    options ``gzip`` and ``charset``.
    """

    def __init__(self, scratch: Path, pages: int, links: int = 40, hosts: int = 1, **nginx: str) -> None:
        self.pages = pages
        self._nginx = {"gzip": "off", "charset": "off", **nginx}
        self.scratch = scratch
        self._hosts = [f"127.0.0.{number}" for number in range(1, hosts + 1)]
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._write(links)

    @property
    def seed(self) -> str:
        return f"http://{self._hosts[0]}:{self._port}{_path(0)}"

    @property
    def urls(self) -> list[str]:
        return [
            f"http://{self._hosts[page % len(self._hosts)]}:{self._port}{_path(page)}" for page in range(self.pages)
        ]

    def _url(self, page: int) -> str:
        if len(self._hosts) == 1:
            return _path(page)
        return f"http://{self._hosts[page % len(self._hosts)]}:{self._port}{_path(page)}"

    def _write(self, links: int) -> None:
        dice = random.Random(7)
        words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 10))) for _ in range(3000)]
        root = self.scratch / "site"
        for number in range(DIRECTORIES):
            (root / f"{number:02d}").mkdir(parents=True, exist_ok=True)
        (root / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n")
        for page in range(self.pages):
            children = [child for child in (2 * page + 1, 2 * page + 2) if child < self.pages]
            targets = children + [dice.randrange(self.pages) for _ in range(links - len(children))]
            paragraphs = [
                f"<p>{' '.join(dice.choices(words, k=WORDS_PER_LINK))} "
                f'<a href="{self._url(target)}">{" ".join(dice.choices(words, k=3))}</a></p>'
                for target in targets
            ]
            body = "\n".join(paragraphs)
            (root / _path(page)[1:]).write_text(
                f"<!doctype html><html lang=en><head><title>Page {page}</title></head>"
                f"<body><h1>Page {page}</h1>{body}</body></html>"
            )

    def __enter__(self) -> Self:
        listen = "\n        ".join(f"listen {host}:{self._port};" for host in self._hosts)
        file = self.scratch / "nginx.conf"
        user = "user root;" if os.geteuid() == 0 else ""  # else it reads as somebody who may not enter the directory
        file.write_text(
            _CONFIGURATION.format(
                user=user,
                workers=WORKERS_OF_NGINX,
                scratch=self.scratch,
                listen=listen,
                **self._nginx,
            )
        )
        nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
        if nginx is None:
            raise SystemExit("nginx is needed: on Debian or Ubuntu, apt install nginx-light")
        self._process = subprocess.Popen([nginx, "-c", str(file), "-p", str(self.scratch)])
        deadline = time.monotonic() + 10
        while True:
            try:
                socket.create_connection((self._hosts[-1], self._port), 1).close()
                return self
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.terminate()
            self._process.wait()

    def take_hits(self) -> Counter[str]:
        """How often each page was served since the last call, robots.txt aside."""
        log = self.scratch / "access.log"
        hits: Counter[str] = Counter()
        for line in log.read_text().splitlines():
            _, address, status, path, _ = line.split(" ", 4)
            if status == "200" and path != "/robots.txt":
                hits[address + path] += 1
        with log.open("r+") as file:  # nginx appends: it goes on at the new end
            file.truncate(0)
        return hits


def _path(page: int) -> str:
    return f"/{page % DIRECTORIES:02d}/page-about-some-topic-{page:06d}.html"
