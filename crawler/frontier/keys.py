"""What are the keys called? The table in ``crawler/frontier/__init__.py`` says what each holds."""

from dataclasses import dataclass

import xxhash


@dataclass(frozen=True, slots=True)
class Keys:
    namespace: str
    crawl: str
    partitions: int
    seen_buckets: int

    def partition(self, host: str) -> int:
        """All state of a host is in one partition, and so in one slot of Redis Cluster."""
        if self.partitions == 1:
            return 0
        number: int = xxhash.xxh3_64_intdigest(host.encode())
        return number % self.partitions

    def tag(self, partition: int) -> str:
        return f"{{{self.namespace}:{partition}}}"

    def base(self, partition: int) -> str:
        return f"{self.tag(partition)}:{self.crawl}:"

    def bucket(self, fingerprint: int) -> str:
        return f"{fingerprint % self.seen_buckets:x}"

    # Keys below are on their own: one command each, no script joins them with a partition.

    @property
    def seed_hosts(self) -> str:
        return f"{self.namespace}:hosts:{self.crawl}"

    @property
    def budget(self) -> str:
        return f"{self.namespace}:budget:{self.crawl}"

    @property
    def events(self) -> str:
        return f"{self.namespace}:events:{self.crawl}"

    @property
    def spider_log(self) -> str:
        return f"{self.namespace}:spider-log:{self.crawl}"

    @property
    def crawls(self) -> str:
        return f"{self.namespace}:crawls"

    @property
    def workers(self) -> str:
        return f"{self.namespace}:workers"

    def worker(self, worker: str) -> str:
        return f"{self.namespace}:worker:{worker}"

    @staticmethod
    def layout(namespace: str) -> str:
        return f"{namespace}:layout"
