"""Do the robots.txt files of thousands of real sites, which Protego's source package has with it, parse?"""

import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest
from protego import Protego

from crawler.robots.rules import parse

AGENT = "orbweaver"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    directory = tmp_path_factory.mktemp("protego")
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "protego",
        "--dest", str(directory), f"protego=={version('protego')}",
    ]  # fmt: skip
    downloaded = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if downloaded.returncode != 0:
        pytest.skip(f"pip could not download Protego's source: {downloaded.stderr.strip().splitlines()[-1:]}")
    [archive] = directory.glob("*.tar.gz")
    found: dict[str, bytes] = {}
    with tarfile.open(archive) as source:
        for member in source:
            if "/test_data/" in member.name and (stream := source.extractfile(member)) is not None:
                found[Path(member.name).name] = stream.read()
    return found


def test_all_parse_and_answer(files: dict[str, bytes]) -> None:
    assert len(files) > 4000
    for site, body in files.items():
        rules = parse(body)
        assert rules.decide(f"https://{site}/robots.txt", AGENT).allowed, site
        delay = rules.crawl_delay(AGENT)
        assert delay is None or 0 <= delay < float("inf"), site


def test_front_pages_are_decided_as_protego_does_but_for_two(files: dict[str, bytes]) -> None:
    """In those two nothing but a Crawl-delay or a Sitemap stands between two agents: to Google they are one group."""
    different = [
        site
        for site, body in files.items()
        if parse(body).decide(f"https://{site}/", AGENT).allowed
        != Protego.parse(body.decode("utf-8", "replace")).can_fetch(f"https://{site}/", AGENT)
    ]
    assert sorted(different) == ["bitbucket.org", "www.jimmyjohns.com"]
