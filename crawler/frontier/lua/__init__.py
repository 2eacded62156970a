"""The atomic steps on a frontier, one file each; ``host.lua`` is what several of them say about a host."""

import importlib.resources
import re

_INCLUDE = re.compile(rb"^-- include (\w+)$", re.MULTILINE)


def read_source(name: str) -> bytes:
    """The script as Redis gets it: Redis 6.2 has no libraries, so an ``-- include`` line is replaced here."""
    source = importlib.resources.files(__name__).joinpath(f"{name}.lua").read_bytes()
    return _INCLUDE.sub(lambda found: read_source(found[1].decode()), source)
