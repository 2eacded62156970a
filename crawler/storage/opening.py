"""Which store do the settings mean? Asked by the pipelines, the commands and whoever else reads or writes pages."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from scrapy.settings import BaseSettings

from crawler.configuration import SettingsReader
from crawler.errors import ConfigurationError, EngineRefused
from crawler.storage.directory import DirectoryObjects
from crawler.storage.html import HtmlStore
from crawler.storage.layout import check_key
from crawler.storage.objects import Objects
from crawler.storage.s3_place import S3Place
from crawler.storage.store import Store

IN_DATA_DIR = "file:./data/store"  # the default of STORE_URL: follows DATA_DIR, as the other embedded engines do
FORMATS = ("html", "warc")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True)
class StoreConfig:
    place: Path | S3Place
    format: str
    sync: bool
    data_dir: Path
    warc_max_bytes: int
    waiting_bytes: int  # of WARC files that wait for S3
    requests_at_once: int

    @property
    def name(self) -> str:
        """For people."""
        place = self.place
        return str(place) if isinstance(place, Path) else f"s3://{'/'.join(filter(None, (place.bucket, place.prefix)))}"

    @property
    def waiting_room(self) -> Path | None:
        """Where WARC files for S3 lie until they are uploaded: one folder for each place they may be meant for."""
        if self.format != "warc" or isinstance(self.place, Path):
            return None
        target = f"{self.place.endpoint_url} {self.place.bucket} {self.place.prefix}"
        return self.data_dir / "uploads" / hashlib.sha256(target.encode()).hexdigest()[:16]

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        read = SettingsReader(settings)
        data_dir = Path(read.text("DATA_DIR")).expanduser().absolute()
        return cls(
            place=_read_place(settings, read, data_dir),
            format=read.choice("STORE_FORMAT", FORMATS),
            sync=read.flag("STORE_SYNC"),
            data_dir=data_dir,
            warc_max_bytes=read.whole("WARC_MAX_BYTES", 1, 1 << 40),
            waiting_bytes=read.whole("SPOOL_BYTES", 1024, 1 << 50),
            requests_at_once=read.whole("S3_REQUESTS_AT_ONCE", 1, 1000),
        )


def build_store(config: StoreConfig) -> Store:
    """Not opened: enough to read. To write, open it first."""
    # Imported when they are needed: boto3 alone takes a third of a second and 30 MB, of every worker and command.
    objects: Objects
    if isinstance(config.place, S3Place):
        from crawler.storage.s3 import S3Objects

        objects = S3Objects(config.place, at_once=config.requests_at_once)
    else:
        objects = DirectoryObjects(config.place, sync=config.sync)
    if config.format == "html":
        return HtmlStore(objects)
    from crawler.storage.warc import WarcStore

    folder = config.place if isinstance(config.place, Path) else config.waiting_room
    assert folder is not None  # noqa: S101  # of WARC files on S3 there is one
    uploads = isinstance(config.place, S3Place)
    return WarcStore(
        objects, folder, uploads=uploads, sync=config.sync, max_bytes=config.warc_max_bytes,
        waiting_bytes=config.waiting_bytes,
    )  # fmt: skip


async def open_store(settings: BaseSettings) -> Store:
    """Raises EngineUnavailable or EngineRefused when nothing can be written there."""
    store = build_store(StoreConfig.from_settings(settings))
    await store.open()
    return store


def _read_place(settings: BaseSettings, read: SettingsReader, data_dir: Path) -> Path | S3Place:
    url = read.text("STORE_URL")
    if url == IN_DATA_DIR:
        return data_dir / "store"
    scheme, colon, rest = url.partition(":")
    if colon and scheme == "file":
        path = unquote(rest.removeprefix("//")) if rest.startswith("///") else rest
        if not path or path.startswith("//") or "\0" in path:
            raise ConfigurationError(f"STORE_URL is {url!r}; write file:./folder or file:/folder")
        return Path(path).expanduser().absolute()
    if colon and scheme == "s3":
        return _read_s3(settings, read, url)
    raise ConfigurationError(f"STORE_URL is {url!r:.200}; use file:./folder or s3://bucket/prefix")


def _read_s3(settings: BaseSettings, read: SettingsReader, url: str) -> S3Place:
    parts = urlsplit(url)
    prefix = parts.path.strip("/")
    if "@" in parts.netloc:
        raise ConfigurationError("STORE_URL holds a key; give keys by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    if not _BUCKET.fullmatch(parts.netloc) or parts.query or parts.fragment:
        raise ConfigurationError(f"STORE_URL is {url!r:.200}; use s3://bucket/prefix")
    try:
        prefix = prefix and check_key(prefix)
    except EngineRefused as error:
        raise ConfigurationError(f"STORE_URL is {url!r:.200}: {error}") from None
    endpoint = settings.get("S3_ENDPOINT_URL") or ""
    if endpoint:
        server = urlsplit(endpoint)
        if "@" in server.netloc:
            raise ConfigurationError("S3_ENDPOINT_URL holds a password; give keys by AWS_ACCESS_KEY_ID and the like")
        if server.scheme not in ("http", "https") or not server.hostname:
            raise ConfigurationError(f"S3_ENDPOINT_URL is {endpoint!r:.200}; write http://host:port or https://host")
    region = settings.get("S3_REGION") or ""
    return S3Place(parts.netloc, prefix, endpoint.rstrip("/"), region, read.flag("S3_CREATE_BUCKET"))
