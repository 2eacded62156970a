"""May this URL be part of the crawl at all? Asked for every link and seed before it is pushed."""

from dataclasses import dataclass, field

from crawler.addresses import AddressPolicy
from crawler.errors import BadUrl
from crawler.frontier.config import FrontierConfig
from crawler.frontier.frontier import Frontier
from crawler.frontier.reasons import EXPLANATIONS, Drop
from crawler.urls import Url


@dataclass(slots=True)
class Scope:
    follow_all_hosts: bool
    allow_private: bool
    max_depth: int
    addresses: AddressPolicy = field(default_factory=AddressPolicy)
    seed_hosts: set[str] = field(default_factory=set)  # a copy of the crawl's own set
    _unshared: set[str] = field(default_factory=set)  # seed hosts that the crawl's own set does not have yet
    _private: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def from_config(cls, config: FrontierConfig) -> "Scope":
        return cls(config.follow_hosts == "all", config.allow_private, config.max_depth, config.addresses)

    def refuse_link(self, url: Url, depth: int) -> Drop | None:
        """The reason for dropping it, if there is one."""
        if 0 <= self.max_depth < depth:
            return Drop.TOO_DEEP
        if not self.follow_all_hosts and url.host not in self.seed_hosts:
            return Drop.OFF_SCOPE
        return self.refuse_seed(url)

    def refuse_seed(self, url: Url) -> Drop | None:
        """Whoever seeds a host wants it: only what is dangerous is refused."""
        if self.allow_private:
            return None
        known = self._private.get(url.host)
        if known is None:
            if len(self._private) > 100_000:
                self._private.clear()
            known = self._private[url.host] = self.addresses.refuses_host(url.host)
        return Drop.PRIVATE_ADDRESS if known else None

    def add_seed_host(self, host: str) -> None:
        if host not in self.seed_hosts:
            self.seed_hosts.add(host)
            self._unshared.add(host)

    async def share(self, frontier: Frontier) -> None:
        """Called before a push: a worker must not lease a seed and then drop the links to its own host."""
        if self._unshared and not self.follow_all_hosts:
            hosts = set(self._unshared)
            await frontier.connection.client.sadd(frontier.keys.seed_hosts, *hosts)
            self._unshared -= hosts

    async def refresh(self, frontier: Frontier) -> None:
        """Other workers, and whoever adds seeds, find seed hosts too."""
        if not self.follow_all_hosts:
            await self.share(frontier)
            members = await frontier.connection.client.smembers(frontier.keys.seed_hosts)
            self.seed_hosts |= {host.decode() for host in members}

    def check_seed(self, url: Url) -> None:
        reason = self.refuse_seed(url)
        if reason:
            raise BadUrl(reason, f"{url.text} is not crawled: {EXPLANATIONS[reason]}")
