"""What does a place that keeps files have to offer, so that pages can be kept there? A directory does, and S3 does.

The stores in ``html.py`` and ``warc.py`` say what is kept under which key; behind this protocol it is kept whole or not
at all. Keys are checked by the callers, see ``layout.py``.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

NO_METADATA: Mapping[str, str] = {}


class Blob(NamedTuple):
    key: str
    data: bytes
    content_type: str = "application/octet-stream"
    content_encoding: str = ""
    metadata: Mapping[str, str] = NO_METADATA  # kept where there is a place for it: on S3


class Kept(NamedTuple):
    data: bytes
    version: str  # "" where versions are not told apart


class Objects(Protocol):
    """Raises EngineUnavailable, EngineRefused, and Damaged for what is larger than the limit that was given."""

    async def open(self) -> None:
        """Checks that it can be written to. Reading works without."""

    async def create(self, blobs: Sequence[Blob]) -> list[bool]:
        """Writes those whose key is free; answers which of them were written. All are safe when this returns."""

    async def replace(self, blob: Blob, version: str = "") -> bool:
        """Answers False if it is not any more what it was when ``version`` was read."""

    async def read(self, key: str, limit_bytes: int, *, start: int = 0, whole: bool = True) -> Kept | None:
        """With ``whole`` off a longer one is cut at the limit; with it on that is an error."""

    async def read_heads(self, keys: Sequence[str], head_bytes: int) -> list[bytes | None]: ...

    async def copy(self, key: str, target: str) -> None:
        """Of one that is not there nothing."""

    async def delete(self, key: str) -> None:
        """One that is not there is deleted already."""

    def list_keys(self, folder: str) -> AsyncIterator[Sequence[str]]:
        """All below a folder, some at a time, in any order."""

    async def list_folders(self, folder: str) -> list[str]:
        """The names of those right in it, sorted."""

    async def upload(self, path: Path, key: str) -> None:
        """A file of any size."""

    async def close(self) -> None: ...
