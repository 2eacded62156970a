"""How many bytes of Redis per seen and per queued URL, beside the ways that peers have?

Differences of ``used_memory``, the same URLs for all. The keeping of ten million seen URLs is measured without a
queue, and the queue is measured with what marks its URLs as seen, and without.
"""

import hashlib
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import redis
from scrapy import Request

from benchmarks.load import URL_LENGTH, URLS_PER_HOST, Urls, make_url, push, send, start_redis, used_bytes
from crawler.frontier.keys import Keys
from crawler.urls import fingerprint

URLS, QUICK_URLS = 10_000_000, 20_000
PEER_URLS = 1_000_000  # of peers' queues: what a URL takes there does not depend on how many there are
BUCKETS = 65_536
BATCH = 500
SCRAPY_REDIS = "scrapy-redis"


def run(quick: bool) -> dict[str, Any]:
    urls, peer_urls = (QUICK_URLS, QUICK_URLS) if quick else (URLS, PEER_URLS)
    # As many to a bucket as ten million have, or a small run would measure empty buckets.
    keys = Keys("bench", "crawl", 1, max(1, BUCKETS * urls // URLS))
    rows: list[dict[str, Any]] = []

    def measure(what: str, who: str, number: int, fill: Callable[[redis.Redis, int], None]) -> float:
        with tempfile.TemporaryDirectory() as scratch, start_redis(Path(scratch)) as client:
            before = used_bytes(client)
            fill(client, number)
            each = (used_bytes(client) - before) / number
        rows.append({"what": what, "who": who, "urls": number, "bytes_per_url": round(each, 1)})
        print(f"{what:44} {who:30} {number:>12,} {each:8.1f} bytes", flush=True)
        return each

    seen = measure("seen", "this project", urls, lambda client, number: _fill_seen(client, keys, number))
    measure("seen", "a set of URLs", urls, lambda client, number: _fill_set(client, number, str.encode))
    measure("seen", SCRAPY_REDIS, urls, lambda client, number: _fill_set(client, number, _sha1))
    for classes in (("medium",), ("high", "medium", "low")):
        what = f"queued and seen, hosts with {len(classes)} class{'es' if len(classes) > 1 else ''}"
        number = urls if len(classes) == 1 else peer_urls
        some = Keys("bench", "crawl", 1, max(1, BUCKETS * number // URLS))
        each = measure(what, "this project", number, lambda c, n, k=some, cl=classes: _fill_queue(c, k, n, cl))  # type: ignore[misc]
        rows.append({"what": what.replace(" and seen", ""), "who": "this project", "urls": number,
                     "bytes_per_url": round(each - seen, 1)})  # fmt: skip
        print(f"{rows[-1]['what']:44} {rows[-1]['who']:30} {number:>12,} {rows[-1]['bytes_per_url']:8} bytes")
    measure("queued", SCRAPY_REDIS, peer_urls, _fill_pickles)
    return {"url_length": URL_LENGTH, "urls_per_host": URLS_PER_HOST, "rows": rows}


def _all_urls(number: int) -> Iterator[str]:
    hosts = number // URLS_PER_HOST
    return (make_url(f"h{n % hosts:06d}.example.com", n) for n in range(number))


def _in_batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) == BATCH:
            yield batch
            batch = []
    yield batch


def _fill_seen(client: redis.Redis, keys: Keys, number: int) -> None:
    script = "for i = 1, #ARGV, 2 do redis.call('SADD', KEYS[1] .. ARGV[i], ARGV[i + 1]) end"  # as push.lua does
    sha1 = client.script_load(script)
    for_all = (fingerprint(url) for url in _all_urls(number))
    pairs = ([value for name in batch for value in (keys.bucket(name), name)] for batch in _in_batches(for_all))
    send(client, (("EVALSHA", sha1, 1, keys.base(0) + "seen:", *batch) for batch in pairs))


def _fill_set(client: redis.Redis, number: int, name: Callable[[str], bytes]) -> None:
    send(client, (("SADD", "seen", *map(name, batch)) for batch in _in_batches(_all_urls(number)) if batch))


def _sha1(url: str) -> bytes:
    """A fingerprint as scrapy-redis's dupefilter keeps it: forty hexadecimal digits."""
    return hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest().encode()


def _fill_queue(client: redis.Redis, keys: Keys, number: int, classes: tuple[str, ...]) -> None:
    urls = Urls(keys, max(1, number // URLS_PER_HOST), classes)
    push(client, keys, (urls.push_arguments(first, BATCH) for first in range(0, number, BATCH)))


def _fill_pickles(client: redis.Redis, number: int) -> None:
    """As scrapy-redis's priority queue does: the pickled dictionary of a request, in a sorted set."""
    sample = make_url("h000000.example.com", 0)
    pickled = pickle.dumps(Request(sample).to_dict(), protocol=-1)

    def members() -> Iterator[list[Any]]:
        for batch in _in_batches(_all_urls(number)):
            yield [value for url in batch for value in (0, pickled.replace(sample.encode(), url.encode()))]

    send(client, (("ZADD", "requests", *batch) for batch in members() if batch))
