"""What does somebody read who made a mistake, or whose Redis has trouble? One clear line, and nothing is lost."""

from pathlib import Path

import pytest
import redis

from tests.fleet import CRAWL, Fleet
from tests.servers import RedisServer, free_port, short_directory, wait_until
from tests.web import Site, WebServer


def fail(fleet: Fleet, *words: str, **settings: object) -> str:
    """Runs a worker that must not run; the one line of its log that says why."""
    (worker,) = fleet.start(1, **settings)
    assert worker.wait(30) != 0, worker.log
    lines = [line for line in worker.log.splitlines() if all(word in line for word in words)]
    assert lines, worker.log
    assert "Traceback" not in worker.log, worker.log
    return lines[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FRONTIER_RATE", "fast"),
        ("FRONTIER_BURST", "0"),
        ("FOLLOW_HOSTS", "some"),
        ("FRONTIER_CRAWL", "a|b"),
        ("KEEP_ALIVE", "perhaps"),
        ("ALLOW_ADDRESSES", "10.0.0.1/8"),
        ("DOWNLOAD_SLOW_SECONDS", "never"),
    ],
)
def test_a_setting_that_makes_no_sense(redis_url: str, tmp_path: Path, name: str, value: str) -> None:
    with Fleet(redis_url, tmp_path) as fleet:
        fail(fleet, name, value, **{name: value})


def test_no_redis(tmp_path: Path) -> None:
    port = free_port()
    with Fleet(f"redis://127.0.0.1:{port}/0", tmp_path) as fleet:
        fail(fleet, f"Redis at redis://127.0.0.1:{port}", "cannot be reached")


def test_a_wrong_password(tmp_path: Path) -> None:
    with short_directory() as directory, RedisServer(directory, extra_args=["--requirepass", "right"]) as server:
        url = f"redis://:wrongsecret@127.0.0.1:{server.port}/0"
        with Fleet(url, tmp_path) as fleet:
            fail(fleet, "does not accept the user or password")
            assert "wrongsecret" not in fleet.workers[0].log


def test_a_data_directory_that_cannot_be_written(redis_url: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    with Fleet(redis_url, tmp_path) as fleet:
        fail(fleet, "cannot be written", "DATA_DIR", DATA_DIR=tmp_path / "file" / "data")


def test_a_seed_that_is_no_url(redis_url: str, tmp_path: Path) -> None:
    with WebServer(Site.trees(hosts=1, pages=5), tmp_path) as web, Fleet(redis_url, tmp_path) as fleet:
        answer = fleet.command("seed", "htp:/nonsense", "http://")
        assert answer.returncode == 1
        assert "Traceback" not in answer.stderr
        fleet.seed(["not a url", *web.seeds(), '{"url": 7}'])
        (worker,) = fleet.start(1)
        fleet.wait(30)
        assert worker.log.count("Rejected from broad:start_urls") == 2, worker.log
        assert "Traceback" not in worker.log
        assert {hit.url for hit in web.pages()} == web.expected_paths()
        fleet.check_complete(5)


def test_a_poisoned_queue_entry(redis_url: str, tmp_path: Path) -> None:
    site = Site.trees(hosts=2, pages=20, latency_ms=30)
    with WebServer(site, tmp_path) as web, Fleet(redis_url, tmp_path, CONCURRENT_REQUESTS=2) as fleet:
        fleet.seed(web.seeds())
        (first,) = fleet.start(1)
        web.wait_for_pages(6)
        first.terminate()
        first.wait(20)
        expected = web.expected_paths()
        with redis.Redis.from_url(redis_url) as client:
            queue = next(key for key in client.keys(f"*:{CRAWL}:q:*") if client.type(key) == b"zset")
            ((member, score),) = client.zrange(queue, 0, 0, withscores=True)
            # In the place of an accepted one, so that the sum still has to hold.
            client.zrem(queue, member)
            client.zadd(queue, {member[:8] + b"\x80\x04cos\nsystem\n": score})
        (second,) = fleet.start(1)
        fleet.wait(40)
        assert "held something that is no entry of ours" in second.log
        assert "Traceback" not in second.log
        status = fleet.check_sum()
        assert status.dead_reasons == {"poisoned": 1}
        lost = expected - {hit.url for hit in web.pages()}
        assert status.count("pages") == 40 - len(lost)
        assert status.count("queued") == 0


def test_a_full_redis_is_waited_for(tmp_path: Path) -> None:
    site = Site.trees(hosts=10, pages=60, latency_ms=10)
    with (
        short_directory() as directory,
        RedisServer(directory) as server,
        WebServer(site, tmp_path) as web,
        Fleet(server.url, tmp_path, CONCURRENT_REQUESTS=8) as fleet,
        server.client() as client,
    ):
        fleet.seed(web.seeds())
        workers = fleet.start(2)
        web.wait_for_pages(100)
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1_000_000)
        wait_until(lambda: all("out of memory" in worker.log for worker in workers), "a message of each", 20)
        assert len(fleet.running) == 2
        client.config_set("maxmemory", 0)
        fleet.wait(60)
        assert {hit.url for hit in web.pages()} == web.expected_paths()
        fleet.check_complete(600)
        assert not any("Traceback" in worker.log for worker in workers)
