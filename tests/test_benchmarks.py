"""Do the benchmarks still run? A small round of ours, not of the peers: what they measure is not looked at here."""

import importlib
import shutil
from pathlib import Path

import pytest

from benchmarks import crawl, fetch, report
from benchmarks.site import LinkDenseSite

needs_nginx = pytest.mark.skipif(
    not (shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")), reason="needs nginx"
)


@needs_nginx
@pytest.mark.parametrize(("who", "hosts"), [(crawl.OURS, 1), (crawl.OURS_MANY, 3)])
def test_our_side_of_the_crawl_fetches_every_page_once(tmp_path: Path, who: str, hosts: int):
    with LinkDenseSite(tmp_path, pages=60, hosts=hosts) as site:
        found = crawl._crawl(who, site)
    assert found["pages"] == found["requests"] == 60
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
    whos = (crawl.OURS, crawl.OURS_MANY, crawl.STOCK, crawl.SCRAPY_REDIS)
    runs = [run | {"who": who} for who in whos]
    result = {"pages": 2000, "runs": runs, **crawl._summarise(runs), "start_up_cpu": {crawl.OURS: 0.5}}
    report.save("crawl", result, tmp_path, note="Made up.")
    report.write(tmp_path)
    table = (tmp_path / "README.md").read_text()
    assert "| this project / stock Scrapy | 1.0 |" in table
    assert "Made up." in table
    assert (tmp_path / "crawl.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["frontier", "memory"])
def test_a_quick_run_fills_its_table_and_its_picture(tmp_path: Path, name: str):
    result = importlib.import_module(f"benchmarks.{name}").run(quick=True)
    report.save(name, result, tmp_path)
    report.write(tmp_path)
    assert (tmp_path / "README.md").read_text().count("\n| ") > 4
    assert (tmp_path / f"{name}.svg").read_text().startswith("<?xml")
