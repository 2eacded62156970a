"""Do one dead host and one slow one hold up the others?"""

from pathlib import Path

from tests.fleet import Fleet
from tests.servers import RedisServer
from tests.web import Site, WebServer, loopback

HOSTS, PAGES = 50, 12
DEAD, SLOW = loopback(HOSTS - 1), loopback(HOSTS)


def seconds_of_the_others(redis: RedisServer, directory: Path, with_trouble: bool) -> float:
    directory.mkdir()
    with redis.client() as client:
        client.flushall()
    site = Site.trees(hosts=HOSTS, pages=PAGES, latency_ms=10)
    if with_trouble:
        site.hosts[DEAD].silent = True
        site.hosts[SLOW].latency_ms = 1500
    else:
        del site.hosts[DEAD], site.hosts[SLOW]
    with (
        WebServer(site, directory) as web,
        Fleet(redis.url, directory, DOWNLOAD_TIMEOUT=3, CONCURRENT_REQUESTS=16) as fleet,
    ):
        fleet.seed(web.seeds())
        fleet.start(1)
        others = [address for address in site.hosts if address not in (DEAD, SLOW)]
        web.wait_for_pages(len(others) * PAGES, timeout_seconds=60)
        fleet.wait(90)
        hits = [hit for hit in web.pages() if hit.host.partition(":")[0] in others]
        assert len(hits) == len(others) * PAGES
        expected = web.expected_paths()
        assert {hit.url for hit in web.pages()} == expected
        status = fleet.check_sum()
        assert status.count("pages") == len(expected)
        # Nobody knows the rules of the dead host, so it is closed; what was known of it died, with a reason.
        assert status.count("dead") == int(with_trouble), status.counts
        return hits[-1].start - hits[0].start


def test_the_other_hosts_do_not_wait(redis_server: RedisServer, redis_url: str, tmp_path: Path) -> None:
    alone = seconds_of_the_others(redis_server, tmp_path / "alone", with_trouble=False)
    together = seconds_of_the_others(redis_server, tmp_path / "together", with_trouble=True)
    assert together < 2.5 * alone + 2, (alone, together)
