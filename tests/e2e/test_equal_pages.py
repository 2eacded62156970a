"""Are pages with the same body stored once, linked, and read back right under every URL of theirs?"""

import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.faults.keeping import Engines, check_store, read_index, wait_until_open
from tests.fleet import ROOT, Fleet, environment
from tests.web import Answer, Host, Site, WebServer, loopback

HOSTS = 6
COPIES = 8
BODIES = 3
WORKERS = 3


def body(number: int) -> str:
    return f"<!doctype html><title>Body {number}</title><p>{f'words of body {number} ' * 50}</p>"


def site_of_copies() -> Site:
    """Each host has each of a few bodies under several URLs."""
    links = "".join(f'<a href="/copy/{body_}/{copy}">x</a>' for copy in range(COPIES) for body_ in range(BODIES))
    hosts = {}
    for number in range(1, HOSTS + 1):
        answers = {"/": [Answer(body=f"<title>Start {number}</title><p>host {number}</p>{links}")]}
        for body_ in range(BODIES):
            for copy in range(COPIES):
                answers[f"/copy/{body_}/{copy}"] = [Answer(body=body(body_))]
        hosts[loopback(number)] = Host(latency_ms=20, answers=answers)
    return Site(hosts)


def test_equal_pages_fetched_at_once_are_stored_once_and_linked(redis_url: str, tmp_path: Path) -> None:
    engines = Engines(tmp_path)
    with WebServer(site_of_copies(), tmp_path) as web, engines.fleet(redis_url) as fleet:
        fleet.start(WORKERS)
        # All at once, or the first would have seen everything before the last begins.
        wait_until_open(fleet)
        fleet.seed(web.seeds())
        fleet.wait()
        total = HOSTS * (1 + BODIES * COPIES)
        fleet.check_complete(total)
        assert set(web.served()) == web.expected_paths()
        pages = check_store(engines, web)
        documents = read_index(engines)
        assert set(documents) == set(pages)

        own = Counter(page.info.sha256 for page in pages.values() if not page.info.same_as)
        for number in range(BODIES):
            sha256 = hashlib.sha256(body(number).encode()).hexdigest()
            # While one worker keeps a body, another that has it as well does not wait for it: one each, at most.
            assert 1 <= own[sha256] <= WORKERS
        originals = {page.info.key for page in pages.values() if not page.info.same_as}
        ids = {document.id for document in documents.values()}
        for url, page in pages.items():
            document = documents[url]
            assert document.html_key == (page.info.same_as or page.info.key)
            assert document.html_key in originals
            if page.info.same_as:
                assert document.duplicate_of in ids - {document.id}
        copies = sorted(url for url, page in pages.items() if page.info.same_as)
        for url in (copies[0], copies[-1]):
            assert print_page(fleet, tmp_path, url) == web.body_of(url)


def print_page(fleet: Fleet, directory: Path, url: str) -> bytes:
    return subprocess.run(
        [sys.executable, "-m", "scrapy", "page", url],
        cwd=ROOT, env=environment(fleet.redis_url, directory / "data"), capture_output=True, timeout=60, check=True,
    ).stdout  # fmt: skip
