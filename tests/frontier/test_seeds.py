"""What counts as a seed, and what becomes of one? Real Redis only."""

import json

import pytest

from crawler.errors import BadUrl
from crawler.frontier.entry import decode
from crawler.frontier.frontier import Frontier
from crawler.frontier.scope import Scope
from crawler.frontier.seeds import BATCH, plant, read_seed
from tests.frontier.test_control import run, with_frontier


@pytest.mark.parametrize("text", ["https://example.com", b"https://example.com/", "  HTTPS://Example.COM/#top \n"])
def test_a_plain_url_is_a_seed(text):
    seed = read_seed(text)
    assert seed.url == ("https://example.com/", "example.com")
    assert (seed.priority, seed.depth, seed.meta) == ("high", 0, None)


@pytest.mark.parametrize(
    "text", ["example.com", "example.com/a?b", "example.com:8080/a", "localhost:8000", "localhost"]
)
def test_a_missing_scheme_is_named(text):
    with pytest.raises(BadUrl, match=f"try https://{text.partition('?')[0]}") as caught:
        read_seed(text)
    assert caught.value.reason == "bad_url"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "bad_url"),
        ("words", "bad_url"),
        (b"\xff", "bad_url"),
        ("mailto:a@example.com", "bad_scheme"),
        ("ftp://example.com/", "bad_scheme"),
        ("https://example.com/" + "a" * 3000, "too_long"),
        ("{", "bad_url"),
        ("{}", "bad_url"),
        ('{"url": 1}', "bad_url"),
        ('{"url": "ftp://a.example/"}', "bad_scheme"),
        ('{"url": "https://a.example/", "priority": "urgent"}', "bad_url"),
        ('{"url": "https://a.example/", "priority": true}', "bad_url"),
        ('{"url": "https://a.example/", "depth": -1}', "bad_url"),
        ('{"url": "https://a.example/", "depth": "1"}', "bad_url"),
        ('{"url": "https://a.example/", "meta": []}', "bad_url"),
        ('{"url": "https://a.example/", "mета": {}}', "bad_url"),
        ('{"url": "https://a.example/", "meta": {"a": ' + "[" * 150 + "]" * 150 + "}}", "bad_url"),
        ('{"url": "https://a.example/", "meta": ' + '{"a":' * 100_000, "bad_url"),
        ('{"url": "https://a.example/", "depth": 1e999}', "bad_url"),
    ],
)
def test_what_is_no_seed_is_refused_with_a_reason(text, reason):
    with pytest.raises(BadUrl) as caught:
        read_seed(text)
    assert caught.value.reason == reason
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("priority", "expected"),
    [("low", "low"), ("medium", "medium"), (5, "high"), (0.5, "high"), (0, "medium"), (-3, "low"), (None, "low")],
)
def test_a_json_object_is_a_seed(priority, expected):
    text = json.dumps({"url": "https://a.example/x", "priority": priority, "depth": 2, "meta": {"k": [1, None]}})
    seed = read_seed(text, priority="low")
    assert (seed.url.text, seed.priority, seed.depth, seed.meta) == (
        "https://a.example/x",
        expected,
        2,
        {"k": [1, None]},
    )


def test_seeds_are_queued_once(redis_url):
    async def work(frontier: Frontier):
        scope = Scope.from_config(frontier.config)
        lines = ["https://a.example/", "https://a.example/?utm_source=x", "https://b.example/", "http://127.0.0.1/"]
        lines.append('{"url": "https://a.example/meta", "depth": 1, "meta": {"k": 1}, "priority": -1}')
        first = await plant(frontier, [read_seed(line) for line in lines], scope)
        assert (first.accepted, first.duplicates) == (3, 1)
        assert first.refused == [("http://127.0.0.1/", "private_address")]
        again = await plant(frontier, map(read_seed, lines), scope)
        assert (again.accepted, again.duplicates, len(again.refused)) == (0, 4, 1)
        client, keys = frontier.connection.client, frontier.keys
        assert await client.smembers(keys.seed_hosts) == {b"a.example", b"b.example"}
        assert await client.smembers(keys.crawls) == {b"default"}
        [raw] = await client.zrange(keys.base(0) + "q:low:a.example", 0, -1)
        entry = decode(raw, "a.example")
        assert (entry.url, entry.depth, entry.request.meta) == ("https://a.example/meta", 1, {"k": 1})
        status = await frontier.status()
        assert status.balance == 0
        assert status.count("accepted") == 3
        assert status.drops == {"duplicate": 5, "private_address": 2}

    run(with_frontier(redis_url, work))


def test_a_host_with_its_pages_refuses_seeds(redis_url):
    async def work(frontier: Frontier):
        await frontier.connection.client.hset(frontier.keys.base(0) + "pages", "a.example", 5)
        planted = await plant(frontier, [read_seed("https://a.example/")], Scope.from_config(frontier.config))
        assert planted.refused == [("https://a.example/", "host_cap")]

    run(with_frontier(redis_url, work, MAX_PAGES_PER_HOST=5))


def test_many_seeds_are_streamed_on_a_cluster(redis_cluster_url):
    drawn = 0

    def seeds():
        nonlocal drawn
        for number in range(2 * BATCH + 7):
            drawn += 1
            yield read_seed(f"https://h{number % 50}.example/{number}")

    async def work(frontier: Frontier):
        planted = await plant(frontier, seeds(), Scope.from_config(frontier.config))
        assert planted.accepted == drawn == 2 * BATCH + 7
        assert (await frontier.status()).count("queued") == drawn

    run(with_frontier(redis_cluster_url, work))
