"""``scrapy seed``, run as a process."""

import json
from pathlib import Path

import redis

from tests.commands.processes import scrapy


def test_seeds_are_accepted_known_or_refused(redis_url):
    first = scrapy(redis_url, "seed", "https://a.example/", "https://b.example", "--priority", "low")
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == "2 accepted, 0 already known, 0 refused\n"
    again = scrapy(redis_url, "seed", "https://a.example", "b.example", "http://127.0.0.1/", "ftp://c.example/")
    assert again.returncode == 1
    lines = again.stdout.splitlines()
    assert lines[0] == "0 accepted, 1 already known, 3 refused"
    assert "try https://b.example (bad_url)" in lines[1]
    assert lines[2].endswith("(bad_scheme)")
    assert lines[3].endswith("(--allow-private allows it) (private_address)")
    with redis.Redis.from_url(redis_url) as client:
        assert client.exists("{ow:0}:default:q:low:a.example")


def test_seeds_come_from_a_file_where_the_user_is(redis_url, tmp_path: Path):
    lines = ["# the front pages", "", "https://a.example/", '{"url": "https://b.example/", "priority": -1}', "junk"]
    (tmp_path / "seeds.txt").write_text("\n".join(lines))
    done = scrapy(redis_url, "seed", "--crawl", "news", "-f", "seeds.txt", "--json", ORBWEAVER_CWD=str(tmp_path))
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert (answer["accepted"], answer["duplicates"]) == (2, 0)
    assert [(row["url"], row["reason"]) for row in answer["refused"]] == [("junk", "bad_url")]
    with redis.Redis.from_url(redis_url) as client:
        assert client.smembers("ow:hosts:news") == {b"a.example", b"b.example"}


def test_seeds_come_from_standard_input(redis_url):
    text = "".join(f"https://h{number % 7}.example/{number}\n" for number in range(2000))
    done = scrapy(redis_url, "seed", "-", stdin=text)
    assert (done.returncode, done.stdout) == (0, "2000 accepted, 0 already known, 0 refused\n")


def test_private_addresses_are_seeded_when_allowed(redis_url):
    done = scrapy(redis_url, "seed", "http://127.0.0.1:8000/", "-s", "ALLOW_PRIVATE=True")
    assert (done.returncode, done.stdout[:10]) == (0, "1 accepted")


def test_misuse_is_told_in_a_line(redis_url):
    for args in ([], ["--crwal", "x", "https://a.example/"]):
        done = scrapy(redis_url, "seed", *args)
        assert done.returncode == 2, args
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def test_a_missing_file_or_redis_is_told_in_a_line(redis_url):
    for url, args, status, words in (
        (redis_url, ["-f", "nowhere.txt"], 1, "nowhere.txt"),
        ("redis://127.0.0.1:1/0", ["https://a.example/"], 1, "127.0.0.1:1"),
        (redis_url, ["--crawl", "a|b", "https://a.example/"], 2, "a|b"),
    ):
        done = scrapy(url, "seed", *args)
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1
