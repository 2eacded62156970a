"""Which engine does INDEX_URL mean, and how is it reached?

::

    file:./data/index                                    embedded: tantivy in this process
    elasticsearch+https://user:password@host:9200/pages  Elasticsearch, index "pages"
    opensearch+http://host:9200/pages                    OpenSearch
"""

import importlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast
from urllib.parse import unquote, urlsplit

from scrapy.settings import BaseSettings

from crawler.configuration import SettingsReader
from crawler.errors import ConfigurationError
from crawler.search.index import Index

EXAMPLES = "use file:./data/index, elasticsearch+https://host:9200/pages or opensearch+https://host:9200/pages"
# What both servers accept as the name of an index.
INDEX_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}")
DEFAULT_PORT = 9200

ENGINES = {
    "file": ("crawler.search.embedded", "EmbeddedIndex"),
    "elasticsearch": ("crawler.search.elastic", "ElasticIndex"),
    "opensearch": ("crawler.search.opensearch", "OpenSearchIndex"),
}


@dataclass(frozen=True, slots=True)
class IndexConfig:
    engine: Literal["file", "elasticsearch", "opensearch"]
    path: Path = Path()  # embedded: a directory
    server: str = ""  # the others: https://host:9200, with neither user nor password
    name: str = ""  # of the index there
    user: str = ""
    password: str = field(default="", repr=False)
    ca_file: Path | None = None
    timeout_seconds: float = 30.0
    batch_documents: int = 500
    batch_bytes: int = 8 * 1024 * 1024
    heap_bytes: int = 64 * 1024 * 1024

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> "IndexConfig":
        reader = SettingsReader(settings)
        return cls.from_url(
            reader.text("INDEX_URL"),
            ca_file=reader.path("INDEX_CA_FILE"),
            timeout_seconds=reader.number("INDEX_TIMEOUT_SECONDS", 0.1, 3600),
            batch_documents=reader.whole("INDEX_BATCH_DOCUMENTS", 1, 100_000),
            batch_bytes=reader.whole("INDEX_BATCH_BYTES", 1024, 1 << 30),
            heap_bytes=reader.whole("INDEX_HEAP_BYTES", 15_000_000, 4 * 1024**3),
        )

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        ca_file: Path | None = None,
        timeout_seconds: float = 30.0,
        batch_documents: int = 500,
        batch_bytes: int = 8 * 1024 * 1024,
        heap_bytes: int = 64 * 1024 * 1024,
    ) -> "IndexConfig":
        engine, path, server, name, user, password = _read_url(url)
        return cls(
            engine=cast('Literal["file", "elasticsearch", "opensearch"]', engine),
            path=path, server=server, name=name, user=user, password=password, ca_file=ca_file,
            timeout_seconds=timeout_seconds, batch_documents=batch_documents, batch_bytes=batch_bytes,
            heap_bytes=heap_bytes,
        )  # fmt: skip

    @property
    def url(self) -> str:
        """For people: without the password."""
        if self.engine == "file":
            return f"file:{self.path}"
        return f"{self.engine}+{self.server}/{self.name}"


def open_index(config: IndexConfig) -> Index:
    """Not opened yet: ``await index.open()``. Engines are imported here, so that only one has to be installed."""
    module, name = ENGINES[config.engine]
    try:
        engine: Callable[[IndexConfig], Index] = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise ConfigurationError(f"INDEX_URL is {config.url}, which needs a package: {error}") from error
    return engine(config)


def _read_url(url: str) -> tuple[str, Path, str, str, str, str]:
    """Messages never repeat the URL: it may hold a password, even when it is malformed."""
    scheme, colon, rest = url.partition(":")
    if colon and scheme.lower() == "file":
        path = unquote(rest[2:] if rest.startswith("//") else rest)
        if not path or "\0" in path:
            raise ConfigurationError(f"INDEX_URL names no directory; {EXAMPLES}")
        return "file", Path(os.path.abspath(Path(path).expanduser())), "", "", "", ""
    engine, _, transport = scheme.lower().partition("+")
    if engine not in ("elasticsearch", "opensearch") or transport not in ("http", "https"):
        raise ConfigurationError(f"INDEX_URL begins with none of the engines; {EXAMPLES}")
    try:
        parts = urlsplit(f"{transport}:{rest}")
        port = parts.port or DEFAULT_PORT
    except ValueError:
        raise ConfigurationError(f"INDEX_URL is no URL: its host or port cannot be read; {EXAMPLES}") from None
    if not parts.hostname:
        raise ConfigurationError(f"INDEX_URL names no host; {EXAMPLES}")
    if parts.query or parts.fragment:
        raise ConfigurationError(f"INDEX_URL has something after a ? or #, which is not read; {EXAMPLES}")
    name = unquote(parts.path.strip("/")) or "pages"
    if not INDEX_NAME.fullmatch(name):
        raise ConfigurationError(
            f"INDEX_URL names an index {name!r}; use a-z, 0-9, '.', '_' and '-', and a letter or digit to begin with"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    server = f"{transport}://{host}:{port}"
    return engine, Path(), server, name, unquote(parts.username or ""), unquote(parts.password or "")
