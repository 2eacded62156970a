"""How do documents get into a server in bulk, each of them, whatever happens to some?

By the bulk protocol, which is the same in Elasticsearch and OpenSearch. A document is written with its time of fetch as
external version: one that comes late is answered 409, and that is as good as written. So repeating is always harmless,
also when an answer was lost. What the server has no room for now (429, 503) is offered again by itself; what it cannot
take (400) is poison. A bulk that is too large is halved.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from crawler.errors import EngineRefused, EngineUnavailable
from crawler.search.cleaning import Unfit, prepare
from crawler.search.document import Document
from crawler.search.index import Poison
from crawler.search.mapping import make_source
from crawler.search.snippets import plain

TOO_LARGE = 413
BUSY = 429
PATIENCE_SECONDS = 8.0  # for what the server has no room for now; then the caller's spool is the better place to wait
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0

Send = Callable[[bytes], Awaitable[tuple[int, Any]]]  # lines → status and answer; raises what concerns all of them


@dataclass(frozen=True, slots=True)
class Entry:
    position: int  # in what was offered
    document: Document
    lines: bytes


class BulkWriter:
    def __init__(
        self,
        send: Send,
        reopen: Callable[[], Awaitable[None]],
        batch_documents: int,
        batch_bytes: int,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._send = send
        self._reopen = reopen
        self._batch_documents = batch_documents
        self._batch_bytes = batch_bytes
        self._patience_seconds = patience_seconds

    async def write(self, documents: Sequence[Document]) -> list[Poison]:
        poison: dict[int, Poison] = {}
        for batch in self._split(documents, poison):
            await self._write_batch(batch, poison)
        return [poison[position] for position in sorted(poison)]

    def _split(self, documents: Sequence[Document], poison: dict[int, Poison]) -> Iterator[list[Entry]]:
        """Made one after the other: never more than one batch is held as JSON."""
        batch: list[Entry] = []
        size = 0
        for position, document in enumerate(documents):
            try:
                lines = make_lines(prepare(document))
            except (Unfit, ValueError, TypeError) as error:
                poison[position] = Poison(document, str(error))
                continue
            if batch and (len(batch) >= self._batch_documents or size + len(lines) > self._batch_bytes):
                yield batch
                batch, size = [], 0
            batch.append(Entry(position, document, lines))
            size += len(lines)
        if batch:
            yield batch

    async def _write_batch(self, batch: list[Entry], poison: dict[int, Poison]) -> None:
        deadline = time.monotonic() + self._patience_seconds
        pause = FIRST_PAUSE_SECONDS
        pending = batch
        while True:
            status, answer = await self._send(b"".join(entry.lines for entry in pending))
            if status == TOO_LARGE:
                await self._halve(pending, poison)
                return
            pending, reason = self._judge(pending, status, answer, poison)
            if not pending:
                return
            if time.monotonic() + pause > deadline:
                raise EngineUnavailable(
                    f"the index did not take {len(pending)} of {len(batch)} documents within "
                    f"{self._patience_seconds:g} s; the last answer was: {reason}"
                )
            if "index_not_found" in reason:
                await self._reopen()
            # Jitter: workers that were turned away together must not come back together.
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _halve(self, pending: list[Entry], poison: dict[int, Poison]) -> None:
        if len(pending) == 1:
            entry = pending[0]
            poison[entry.position] = Poison(
                entry.document, f"{len(entry.lines)} bytes as JSON are more than the server takes in one request (413)"
            )
            return
        middle = len(pending) // 2
        await self._write_batch(pending[:middle], poison)
        await self._write_batch(pending[middle:], poison)

    def _judge(
        self, pending: list[Entry], status: int, answer: Any, poison: dict[int, Poison]
    ) -> tuple[list[Entry], str]:
        """What must be offered again, and why."""
        if status == BUSY:
            return pending, f"429 {describe(answer)}"
        items = answer.get("items") if isinstance(answer, dict) else None
        if not isinstance(items, list) or len(items) != len(pending):
            return pending, f"{status} with an answer that is not one for each document"
        again: list[Entry] = []
        last = ""
        for entry, item in zip(pending, items, strict=True):
            result = next(iter(item.values()))
            code, error = result.get("status", 500), result.get("error")
            if code in (200, 201, 409):
                continue
            said = f"{code} {describe(error)}"
            if code in (401, 403) and "cluster_block" not in said:
                raise EngineRefused(f"the index refuses to be written to: {said}; check the rights of its user")
            # Blocks (a full disk, a read-only index) and a lost index are not the document's fault.
            if code in (400, 413, 422) and "cluster_block" not in said:
                poison[entry.position] = Poison(entry.document, said)
            else:
                again.append(entry)
                last = said
        return again, last


def make_lines(document: Document) -> bytes:
    action = {"index": {"_id": document.id, "version": document.fetched_at, "version_type": "external_gte"}}
    return msgspec.json.encode(action) + b"\n" + msgspec.json.encode(make_source(document)) + b"\n"


def describe(error: Any, most: int = 500) -> str:
    """What a server says is wrong, in one line. It may quote a page: nothing of that may reach a terminal as it is."""
    if isinstance(error, dict) and isinstance(error.get("error"), dict | str):
        error = error["error"]
    if not isinstance(error, dict):
        return plain(str(error))[:most]
    said = f"{error.get('type', '')}: {error.get('reason', '')}"
    # Of a search, only the shard says what was wrong.
    shards = error.get("failed_shards") or [{}]
    cause = error.get("caused_by") or shards[0].get("reason")
    if isinstance(cause, dict):
        said += f" ({cause.get('type', '')}: {cause.get('reason', '')})"
    return plain(said)[:most]
