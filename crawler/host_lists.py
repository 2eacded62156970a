"""Is this host on a list of the person who crawls? ``HOSTS_DENY_FILE`` and ``HOSTS_ALLOW_FILE``, one host a line::

    # a comment
    example.com          # this host, on any port
    *.example.com        # every host below it, however deep, and not itself
    .example.com         # both
    bücher.example       # as people write it, or as xn--bcher-kva.example

A look costs as many steps as the host has labels, whether the list has ten lines or a million.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from crawler.errors import BadUrl, ConfigurationError
from crawler.urls import canonicalise

# Most lines are a name in its plain form; the others go through the parser of URLs, which costs ten times as much.
# A last label of digits, or of 0x…, would be an address, which has other spellings.
_PLAIN = re.compile(rb"(\*?\.)?((?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)")
_LONGEST = 253  # of a host name


@dataclass(slots=True)
class HostList:
    hosts: set[str] = field(default_factory=set)
    domains: set[str] = field(default_factory=set)  # every host below these is on the list

    def __contains__(self, host: object) -> bool:
        """``host`` as a Url has it, perhaps with a port."""
        name = _without_port(str(host))
        if name in self.hosts:
            return True
        domains = self.domains
        if domains:
            dot = name.find(".")
            while dot >= 0:
                if name[dot + 1 :] in domains:
                    return True
                dot = name.find(".", dot + 1)
        return False

    def __len__(self) -> int:
        return len(self.hosts) + len(self.domains)

    def add(self, mark: str, name: str) -> None:
        if mark:
            self.domains.add(name)
        if mark != "*.":
            self.hosts.add(name)


def load_host_list(setting: str, path: Path) -> HostList:
    """Raises ConfigurationError with the file and the line."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigurationError(f"{setting}: {path} cannot be read: {error.strerror}") from None
    hosts = HostList()
    add_host = hosts.hosts.add
    match = _PLAIN.fullmatch
    for number, line in enumerate(lines, 1):
        plain = match(line)
        if plain and plain[1] is None and len(line) <= _LONGEST:
            add_host(line.decode())
            continue
        text = line.partition(b"#")[0].strip()
        if text:
            try:
                hosts.add(*_read(text))
            except ValueError as error:
                raise ConfigurationError(
                    f"{setting}: {path}, line {number}: {line.decode(errors='replace')!r:.100} {error}; "
                    "a line is one host, such as example.com, *.example.com or .example.com"
                ) from None
    return hosts


def _read(text: bytes) -> tuple[str, str]:
    """What stands before a name, ``*.`` or ``.`` or nothing, and the name."""
    plain = _PLAIN.fullmatch(text)
    if plain and len(plain[2]) <= _LONGEST:
        return (plain[1] or b"").decode(), plain[2].decode()
    try:
        name = text.decode()
    except UnicodeDecodeError:
        raise ValueError("is not text in UTF-8") from None
    mark = next((mark for mark in ("*.", ".") if name.startswith(mark)), "")
    name = name[len(mark) :]
    if any(character in name for character in "/@?#\\") or len(name.split()) > 1:
        raise ValueError("is more than a host")
    if ":" in name.rpartition("]")[2]:
        raise ValueError("has a port; a list is about whole hosts")
    try:
        host = canonicalise(f"http://{name}/").host.removesuffix(".")
    except BadUrl:
        raise ValueError("is not a host") from None
    if not host or "*" in host or host.startswith(".") or ".." in host or len(host) > _LONGEST:
        raise ValueError("is not a host")
    return mark, host


@lru_cache(maxsize=4096)
def _without_port(host: str) -> str:
    """And without the dot at the end of a full name, which would be a way around any list."""
    if not host.endswith("]") and ":" in host:
        host = host.rpartition(":")[0]
    return host.rstrip(".")
