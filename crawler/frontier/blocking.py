"""How do scrapy-redis spiders reach the Redis that REDIS_URL names? They make a client of their own, from the URLs that
redis-py knows: this is the class that they are given instead (``redis_cls`` in REDIS_PARAMS).
"""

from pathlib import Path
from typing import Any

from redis import ConnectionPool, Redis

from crawler.errors import ConfigurationError
from crawler.frontier.connection import blocking_url
from crawler.frontier.redis_url import parse


class BlockingRedis(Redis):
    """Finds its server when it is first used: a spider is made before DATA_DIR is known to anybody who could say."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        self._pool = ConnectionPool()  # of redis-py's default server: replaced before anything connects
        self._url = ""
        super().__init__(connection_pool=self._pool)
        self._url = url
        self._options = options
        self._data_dir: Path | None = None

    @classmethod
    def from_url(cls, url: str, **options: Any) -> "BlockingRedis":
        """Takes every URL that REDIS_URL may have, but for a cluster, which scrapy-redis cannot use."""
        if parse(url).kind == "cluster":
            blocking_url(url, Path())  # says why not
        return cls(url, options)

    def use_data_dir(self, data_dir: Path) -> None:
        """The scheduler says where an embedded server lives."""
        self._data_dir = data_dir

    @property
    def connection_pool(self) -> ConnectionPool:
        if self._url:
            if self._data_dir is None and parse(self._url).kind == "embedded":
                raise ConfigurationError("the embedded Redis can be used once the spider is open, and not before")
            found = Redis.from_url(blocking_url(self._url, self._data_dir or Path()), **self._options)
            self._pool, self._url = found.connection_pool, ""
        return self._pool

    @connection_pool.setter
    def connection_pool(self, pool: ConnectionPool) -> None:
        self._pool = pool
