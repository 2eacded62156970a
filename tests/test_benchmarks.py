"""Do the benchmarks still run? A small round of ours, not of the peers: what they measure is not looked at here."""

import importlib
import shutil
from pathlib import Path

import pytest

from benchmarks import crawl, fetch, pages, pages_peers, report, search
from benchmarks.site import LinkDenseSite
from crawler import parsing

needs_nginx = pytest.mark.skipif(
    not (shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")), reason="needs nginx"
)


@needs_nginx
@pytest.mark.parametrize(("who", "hosts"), [(crawl.OURS, 1), (crawl.OURS_BARE, 1), (crawl.OURS_MANY, 3)])
def test_our_side_of_the_crawl_fetches_every_page_once(tmp_path: Path, who: str, hosts: int):
    with LinkDenseSite(tmp_path, pages=60, hosts=hosts) as site:
        found = crawl._crawl(who, site)
    assert found["pages"] == found["requests"] == 60
    assert found["stored"] == found["indexed"] == (0 if who == crawl.OURS_BARE else 60)
    assert found["pages_per_cpu_second"] > 0


@needs_nginx
@pytest.mark.parametrize("gzip", ["on", "off"])
def test_both_handlers_fetch_the_same_bytes(tmp_path: Path, gzip: str):
    with LinkDenseSite(tmp_path, pages=fetch.WARM_UP + 10, links=5, gzip=gzip) as site:
        file = tmp_path / "urls"
        file.write_text("\n".join(site.urls))
        ours, stock = (fetch._fetch(side, file) for side in fetch.SIDES)
    assert ours["body_bytes"] == stock["body_bytes"] > 50_000
    assert ours["cpu_ms"] > 0


def test_the_report_has_a_table_and_a_picture(tmp_path: Path):
    run = {
        "pages_per_cpu_second": 100.0, "pages_per_cpu_second_with_redis": 90.0, "pages_per_second": 50.0,
        "redis_cpu": 0.5, "round": 1,
    }  # fmt: skip
    whos = (crawl.OURS, crawl.OURS_BARE, crawl.OURS_MANY, crawl.STOCK, crawl.SCRAPY_REDIS)
    runs = [run | {"who": who} for who in whos]
    result = {"pages": 2000, "runs": runs, **crawl._summarise(runs), "start_up_cpu": {crawl.OURS: 0.5}}
    report.save("crawl", result, tmp_path, note="Made up.")
    report.write(tmp_path)
    table = (tmp_path / "README.md").read_text()
    assert "| this project / stock Scrapy | 1.0 |" in table
    assert "| this project, nothing kept / scrapy-redis | 1.0 |" in table
    assert "Made up." in table
    assert (tmp_path / "crawl.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["frontier", "memory"])
def test_a_quick_run_fills_its_table_and_its_picture(tmp_path: Path, name: str):
    result = importlib.import_module(f"benchmarks.{name}").run(quick=True)
    report.save(name, result, tmp_path)
    report.write(tmp_path)
    assert (tmp_path / "README.md").read_text().count("\n| ") > 4
    assert (tmp_path / f"{name}.svg").read_text().startswith("<?xml")


def test_a_quick_run_tells_what_a_page_costs(tmp_path: Path):
    result = pages.run(quick=True)
    report.save("pages", result, tmp_path)
    report.write(tmp_path)
    table = (tmp_path / "README.md").read_text()
    for step in (pages.PARSE, pages.GZIP, pages.FILES, pages.INDEX, pages.ALL_FILES):
        assert f"\n| {step} | " in table
        assert result["medians"][pages.LINK_DENSE][step][pages.SOUP] > 0


def test_all_parsers_read_the_same_of_a_page():
    body = b"""<html><head><title>A  title</title><meta name="description" content="Said of it"></head>
        <body><script>var unseen = 1</script><p>Some <b>bold</b> text</p><a href="/a#b">one</a> <a href="/a">two</a>
        </body></html>"""
    soup, selected = (
        read(body, "http://a.example/") for read in (pages_peers.parse_with_soup, pages_peers.parse_with_parsel)
    )
    ours = parsing.parse(body, "http://a.example/", "text/html")
    assert soup.links == selected.links == [link.text for link in ours.links] == ["http://a.example/a"]
    assert soup.description == selected.description == ours.description == "Said of it"
    assert soup.title.split() == selected.title.split() == ours.title.split() == ["A", "title"]
    assert soup.text.split() == selected.text.split() == ours.text.split() == ["Some", "bold", "text", "one", "two"]


def test_a_quick_run_searches_with_every_engine_and_finds_the_same(tmp_path: Path):
    result = search.run(quick=True)
    report.save("search", result, tmp_path)
    report.write(tmp_path)
    table = (tmp_path / "README.md").read_text()
    assert f"| {search.OURS} | {search.QUICK_DOCUMENTS:,} |" in table
    for question, row in result["without_snippets"].items():
        assert f"\n| {question} | " in table
        assert row[search.OURS]["hits"] > 0
        if search.FTS5 in row:
            assert row[search.FTS5]["hits"] == pytest.approx(row[search.OURS]["hits"], abs=0.5)
