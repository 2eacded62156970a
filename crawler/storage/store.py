"""What every store can do. Pages are put many at a time, by id and time: putting one again changes nothing."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from crawler.storage.page import Page, PageInfo


class Store(Protocol):
    """Raises EngineUnavailable when waiting may help, EngineRefused when it will not; see ``crawler/errors.py``."""

    async def open(self) -> None:
        """Checks that it can be written to, so that a wrong password is told before the crawl and not after it."""

    async def put(self, pages: Sequence[Page]) -> None:
        """All of them are safe when this returns. If it raises some may be; they may be put again."""

    async def get(self, key: str) -> Page | None: ...

    async def find(self, id_: str) -> Page | None:
        """The newest version of a page, by the id of its URL; one with ``same_as`` with the body of that."""

    def pages(self, *, crawl: str = "", since_day: str = "") -> AsyncIterator[PageInfo]:
        """Of everything that is kept, in the order of days."""

    async def put_file(self, key: str, body: bytes, *, only_if_absent: bool = False) -> bool:
        """Anything else that lies beside the pages, such as a backup of the index; answers whether it was written."""

    async def get_file(self, key: str) -> bytes | None: ...

    async def list_files(self, prefix: str) -> list[str]: ...

    async def delete_file(self, key: str) -> None: ...

    async def close(self) -> None: ...
