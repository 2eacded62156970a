"""May this URL be part of the crawl at all? Asked for every link and seed before it is pushed."""

from dataclasses import dataclass, field

from crawler.addresses import AddressPolicy
from crawler.errors import BadUrl
from crawler.file_types import is_file
from crawler.frontier.config import FrontierConfig
from crawler.frontier.frontier import Frontier
from crawler.frontier.queries import QueryCounter
from crawler.frontier.reasons import EXPLANATIONS, Drop
from crawler.host_lists import HostList, load_host_list
from crawler.patterns import Patterns
from crawler.traps import TrapLimits, trap_of
from crawler.urls import Url


@dataclass(slots=True)
class Scope:
    follow_all_hosts: bool
    allow_private: bool
    max_depth: int
    addresses: AddressPolicy = field(default_factory=AddressPolicy)
    include: Patterns | None = None
    exclude: Patterns | None = None
    denied: HostList = field(default_factory=HostList)
    allowed: HostList | None = None  # all
    skip_extensions: frozenset[str] = frozenset()
    trap_limits: TrapLimits | None = None
    queries: QueryCounter = field(default_factory=lambda: QueryCounter(0))
    seed_hosts: set[str] = field(default_factory=set)  # a copy of the crawl's own set
    _unshared: set[str] = field(default_factory=set)  # seed hosts that the crawl's own set does not have yet
    _verdicts: dict[str, Drop | None] = field(default_factory=dict)  # on hosts

    @classmethod
    def from_config(cls, config: FrontierConfig) -> "Scope":
        """Reads the lists of hosts. Raises ConfigurationError."""
        deny, allow = config.hosts_deny, config.hosts_allow
        return cls(
            follow_all_hosts=config.follow_hosts == "all",
            allow_private=config.allow_private,
            max_depth=config.max_depth,
            addresses=config.addresses,
            include=Patterns("INCLUDE", config.include) if config.include else None,
            exclude=Patterns("EXCLUDE", config.exclude) if config.exclude else None,
            denied=load_host_list("HOSTS_DENY_FILE", deny) if deny else HostList(),
            allowed=load_host_list("HOSTS_ALLOW_FILE", allow) if allow else None,
            skip_extensions=config.skip_extensions,
            trap_limits=config.traps,
            queries=QueryCounter(config.queries_per_path),
        )

    def refuse_link(self, url: Url, depth: int) -> Drop | None:
        """The reason for dropping it, if there is one."""
        return self.refuse_place(url, depth) or self.refuse_text(url)

    def refuse_place(self, url: Url, depth: int) -> Drop | None:
        """By its host and depth alone: a sitemap is fetched for what it names, whatever its own name is."""
        if 0 <= self.max_depth < depth:
            return Drop.TOO_DEEP
        if not self.follow_all_hosts and url.host not in self.seed_hosts:
            return Drop.OFF_SCOPE
        return self.refuse_seed(url)

    def refuse_seed(self, url: Url) -> Drop | None:
        """Whoever seeds a page wants it: only a host that is dangerous, or not to be crawled, is refused."""
        try:
            return self._verdicts[url.host]
        except KeyError:
            if len(self._verdicts) > 100_000:
                self._verdicts.clear()
            verdict = self._verdicts[url.host] = self._refuse_host(url.host)
            return verdict

    def _refuse_host(self, host: str) -> Drop | None:
        if host in self.denied:
            return Drop.HOST_DENIED
        if self.allowed is not None and host not in self.allowed:
            return Drop.HOST_NOT_ALLOWED
        if not self.allow_private and self.addresses.refuses_host(host):
            return Drop.PRIVATE_ADDRESS
        return None

    def refuse_text(self, url: Url) -> Drop | None:
        """What costs least comes first, and what counts comes last: it must count only what is taken."""
        if self.skip_extensions and is_file(url, self.skip_extensions):
            return Drop.NOT_HTML
        trap = trap_of(url, self.trap_limits) if self.trap_limits else None
        if trap:
            return Drop(trap)
        if self.include and not self.include.find(url.text):
            return Drop.NOT_INCLUDED
        if self.exclude and self.exclude.find(url.text):
            return Drop.EXCLUDED
        return Drop.TRAP_QUERIES if self.queries.is_one_too_many(url.text) else None

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
