"""What does a backup consist of? Parts, and a manifest that says so: it is written last, and makes the backup exist.

::

    backups/index/20260131T120000123Z-5f3a/part-00000.jsonl.gz   documents, one JSON object a line
    backups/index/20260131T120000123Z-5f3a/running.json          while it is being made: by whom
    backups/index/20260131T120000123Z-5f3a/manifest.json         how many parts there are, with their hashes
"""

import re
import secrets
from datetime import UTC, datetime

import msgspec

from crawler.errors import Damaged, EngineRefused

FOLDER = "backups/index"
FORMAT = 1  # of the parts and of the manifest; one that is not known is not read
MANIFEST = "manifest.json"
RUNNING = "running.json"
_VERSION = re.compile(r"\d{8}T\d{9}Z-[0-9a-f]{4}")
_PART = re.compile(r"part-\d{5}\.jsonl\.gz")


class Part(msgspec.Struct, frozen=True):
    name: str
    bytes: int
    sha256: str
    documents: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    version: str
    made_at: str
    engine: str  # that the documents come from: for people, since any engine can take them
    documents: int
    parts: list[Part]

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)


class _Format(msgspec.Struct):
    format: int = 0


def new_version(now: datetime | None = None) -> str:
    """Sorts by time; the end tells two apart that are begun in the same millisecond."""
    now = now or datetime.now(UTC)
    return f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03}Z-{secrets.token_hex(2)}"


def is_version(text: str) -> bool:
    return _VERSION.fullmatch(text) is not None


def part_name(number: int) -> str:
    return f"part-{number:05}.jsonl.gz"


def key_of(version: str, name: str) -> str:
    return f"{FOLDER}/{version}/{name}"


def read_manifest(data: bytes, version: str) -> Manifest:
    name = key_of(version, MANIFEST)
    try:
        found = msgspec.json.decode(data, type=_Format).format
        if found != FORMAT:
            raise EngineRefused(
                f"the backup {version} has format {found}, and this program reads format {FORMAT}: restore it with the "
                "version of the program that made it, or run scrapy search --rebuild"
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Damaged(f"{name} is damaged ({error}): choose another backup, see scrapy search --backups") from None
    names = {part.name for part in manifest.parts}
    is_whole = (
        manifest.version == version
        and len(names) == len(manifest.parts)
        and all(_PART.fullmatch(part) for part in names)
        and manifest.documents == sum(part.documents for part in manifest.parts)
    )
    if not is_whole:
        raise Damaged(f"{name} is damaged: its numbers do not agree; choose another, see scrapy search --backups")
    return manifest
