"""How are pages found with no server at all? By tantivy, in this process and on a directory that others may share.

Any number of processes search; one writes, whoever has the lock. Every write is committed before it returns, so that
``kill -9`` loses nothing that was answered for. tantivy blocks, so that all of it runs in threads.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from importlib.metadata import version
from typing import ParamSpec, TypeVar

from crawler.errors import EngineUnavailable, OrbweaverError
from crawler.search import embedded_words
from crawler.search.document import Document
from crawler.search.embedded_files import IndexFiles
from crawler.search.embedded_reader import Reader
from crawler.search.embedded_writer import Writer
from crawler.search.index import Hits, IndexStats, Poison
from crawler.search.opening import IndexConfig
from crawler.search.query import Query

P = ParamSpec("P")
R = TypeVar("R")


class EmbeddedIndex:
    def __init__(self, config: IndexConfig) -> None:
        self._files = IndexFiles(config.path)
        self._reader = Reader(self._files)
        self._writer = Writer(self._files, self._reader, config.heap_bytes)

    async def open(self) -> None:
        await self._in_thread(self._reader.snapshot)

    # --- Writing -----------------------------------------------------------------------------

    @property
    def is_writer(self) -> bool:
        return self._writer.is_held

    async def try_lock(self) -> bool:
        """Whether this process may write now. Held until ``close``; ``write`` asks for it too."""
        return await self._in_thread(self._writer.try_lock)

    async def unlock(self) -> None:
        """Another process may write from here on."""
        await self._in_thread(self._writer.close)

    async def write(self, documents: Sequence[Document]) -> list[Poison]:
        return await self._in_thread(self._writer.write, documents)

    async def refresh(self) -> None:
        await self._in_thread(self._reader.snapshot)

    async def delete(self, ids: Sequence[str]) -> None:
        await self._in_thread(self._writer.delete, ids)

    async def optimise(self) -> None:
        await self._in_thread(self._writer.optimise)

    async def clear(self) -> None:
        """Also of an index of another version, which ``open`` refuses."""
        await self._in_thread(self._writer.clear)

    # --- Reading -----------------------------------------------------------------------------

    async def search(self, query: Query) -> Hits:
        return await self._in_thread(lambda: self._reader.snapshot().search(query))

    async def get(self, id_: str) -> Document | None:
        return await self._in_thread(lambda: self._reader.snapshot().get(id_))

    async def complete(self, prefix: str, most: int) -> list[str]:
        return await self._in_thread(lambda: embedded_words.complete(self._reader.snapshot(), prefix, most))

    async def correct(self, words: Sequence[str]) -> dict[str, str]:
        return await self._in_thread(lambda: embedded_words.correct(self._reader.snapshot(), words))

    async def documents(self) -> AsyncIterator[Document]:
        snapshot = await self._in_thread(self._reader.snapshot)
        parts = snapshot.documents()
        while (part := await self._in_thread(next, parts, None)) is not None:
            for document in part:
                yield document

    async def stats(self) -> IndexStats:
        def look() -> IndexStats:
            number = self._reader.snapshot().searcher.num_docs
            return IndexStats(number, self._files.size_bytes(), f"tantivy {version('tantivy')}")

        return await self._in_thread(look)

    async def close(self) -> None:
        await self._in_thread(self._writer.close)
        self._reader.close()

    async def _in_thread(self, call: Callable[P, R], *args: P.args, **values: P.kwargs) -> R:
        try:
            return await asyncio.to_thread(call, *args, **values)
        except OrbweaverError:
            raise
        except OSError as error:
            raise EngineUnavailable(f"the index in {self._files.path} cannot be used: {error}") from error
        except ValueError as error:  # tantivy has no errors of its own
            if "Lockfile" in str(error):
                raise EngineUnavailable(
                    f"the index in {self._files.path} cannot be locked, which searching needs too: make the directory "
                    "writable, or search a copy of it"
                ) from error
            raise self._cannot_be_read(error) from error
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # of Rust; no Exception, and it would end the process
                raise self._cannot_be_read(error) from error
            raise

    def _cannot_be_read(self, error: BaseException) -> EngineUnavailable:
        return EngineUnavailable(
            f"the index in {self._files.path} cannot be used: {error}. If that does not pass, its files are damaged: "
            "remove that directory while nothing crawls, and make the index anew with scrapy search --rebuild"
        )
