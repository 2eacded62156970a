"""Does a program that would misread a namespace keep its hands off it?"""

from collections.abc import Callable

import pytest

from crawler.errors import ConfigurationError
from tests.frontier.frontiers import Crawl

Open = Callable[..., Crawl]


def test_the_first_to_open_a_namespace_decides_its_layout(open_crawl: Open) -> None:
    first = open_crawl(partitions=4)
    assert first.keys.partitions == 4
    assert open_crawl(partitions=0, seen_buckets=128).keys == first.keys
    with pytest.raises(ConfigurationError, match=r"FRONTIER_PARTITIONS is 8.*has 4"):
        open_crawl(partitions=8)


@pytest.mark.parametrize(
    ("name", "what"), [("canonical_version", "canonical URLs"), ("entry_version", "queue entries")]
)
def test_a_namespace_of_another_version_is_refused(open_crawl: Open, name: str, what: str) -> None:
    crawl = open_crawl()
    crawl.run(crawl.redis.hset(crawl.keys.layout(crawl.keys.namespace), name, 999))
    with pytest.raises(ConfigurationError, match=f"{what} of version 999"):
        open_crawl()
