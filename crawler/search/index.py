"""What every engine can do; ``open_index`` chooses one by ``INDEX_URL``."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from crawler.search.document import Document
from crawler.search.query import Query


@dataclass(frozen=True, slots=True)
class Hit:
    document: Document
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    hits: list[Hit]
    total: int
    is_total_exact: bool = True


@dataclass(frozen=True, slots=True)
class Poison:
    """A document that the engine will not take, however often it is offered."""

    document: Document
    error: str


@dataclass(frozen=True, slots=True)
class IndexStats:
    documents: int
    bytes: int
    engine: str  # name and version


class Index(Protocol):
    """Raises EngineUnavailable when waiting may help, EngineRefused when it will not, BadQuery for a bad question."""

    async def open(self) -> None:
        """Makes the index with its mapping if there is none; refuses one with a mapping of another version."""

    async def write(self, documents: Sequence[Document]) -> list[Poison]:
        """Each is in the index, or was older than what is there, or is answered as poison, when this returns. Raises
        EngineUnavailable only if some were not taken: then all may be offered again.
        """

    async def refresh(self) -> None:
        """What was written can be found after this."""

    async def search(self, query: Query) -> Hits: ...

    async def get(self, id_: str) -> Document | None: ...

    async def complete(self, prefix: str, most: int) -> list[str]:
        """Words and titles that begin so, the commonest first."""

    async def correct(self, words: Sequence[str]) -> dict[str, str]:
        """Of those that have one: a word of the index that is near and much commoner."""

    async def delete(self, ids: Sequence[str]) -> None: ...

    def documents(self) -> AsyncIterator[Document]:
        """All, in no order: for backups and exports."""

    async def optimise(self) -> None: ...

    async def stats(self) -> IndexStats: ...

    async def clear(self) -> None:
        """Removes every document, and makes the mapping anew."""

    async def close(self) -> None: ...
