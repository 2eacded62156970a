"""How do documents get into the embedded index, each once and never an older one over a newer? Calls block."""

import contextlib
import threading
from collections.abc import Iterator, Sequence

import tantivy

from crawler.errors import EngineUnavailable
from crawler.search.cleaning import Unfit, prepare
from crawler.search.document import Document
from crawler.search.embedded_files import IndexFiles, WriterLock
from crawler.search.embedded_reader import Reader
from crawler.search.embedded_schema import encode, key_of
from crawler.search.index import Poison

# One thread writes one segment a commit; more would write as many small ones, which then have to be merged.
THREADS = 1


class Writer:
    def __init__(self, files: IndexFiles, reader: Reader, heap_bytes: int) -> None:
        self._files = files
        self._reader = reader
        self._heap_bytes = heap_bytes
        self._lock = threading.Lock()
        self._process_lock = WriterLock(files.path / "writer.lock")
        self._writer: tantivy.IndexWriter | None = None

    @property
    def is_held(self) -> bool:
        return self._process_lock.is_held

    def try_lock(self) -> bool:
        with self._lock:
            self._leave_what_is_gone()
            return self._process_lock.try_lock()

    def write(self, documents: Sequence[Document]) -> list[Poison]:
        with self._lock:
            self._require_lock()  # before the work of encoding them, which would be for nothing
        poison: list[Poison] = []
        newest: dict[str, Document] = {}
        rows: dict[str, tantivy.Document] = {}
        for document in documents:
            try:
                fit = prepare(document)
                known = newest.get(fit.id)
                if known is None or known.fetched_at <= fit.fetched_at:
                    rows[fit.id] = encode(fit)
                    newest[fit.id] = fit
            except (Unfit, ValueError, TypeError, OverflowError) as error:
                poison.append(Poison(document, str(error)))
        if newest:
            with self._lock:
                self._require_lock()
                self._add(newest, rows)
        return poison

    def _add(self, documents: dict[str, Document], rows: dict[str, tantivy.Document]) -> None:
        # Only this process writes and every write is committed, so that this is what is there.
        versions = self._reader.snapshot().versions(list(documents))
        with self._transaction() as writer:
            for id_, document in documents.items():
                version = versions.get(key_of(id_))
                if version is not None:
                    if version > document.fetched_at:
                        continue
                    writer.delete_documents_by_term("id", id_)
                writer.add_document(rows[id_])

    def delete(self, ids: Sequence[str]) -> None:
        with self._lock:
            self._require_lock()
            if ids:
                with self._transaction() as writer:
                    for id_ in ids:
                        writer.delete_documents_by_term("id", id_)

    def clear(self) -> None:
        with self._lock:
            self._require_lock()
            self._drop_writer()
            self._files.switch(self._files.begin(self._files.newest()))

    def optimise(self) -> None:
        """Written anew: one segment after the other, full ones, and without the documents that were replaced. tantivy
        can merge segments, but its Python package offers no call for it.
        """
        with self._lock:
            self._require_lock()
            self._files.require_room()
            self._drop_writer()
            generation = self._files.begin(self._files.current())
            try:
                target = self._files.open(generation).writer(self._heap_bytes, THREADS)
                for documents in self._reader.snapshot().documents():
                    for document in documents:
                        target.add_document(encode(document))
                target.commit()
                target.wait_merging_threads()
            except BaseException:
                self._files.discard(generation)  # the old one stays in use
                raise
            self._files.switch(generation)

    def close(self) -> None:
        with self._lock:
            self._drop_writer()
            self._process_lock.release()

    def _require_lock(self) -> None:
        self._leave_what_is_gone()
        self._process_lock.require()

    def _leave_what_is_gone(self) -> None:
        """A writer that went on would put the old files' names into the index that is there now, and spoil it."""
        if self._process_lock.is_lost():
            self._writer = None
            self._process_lock.release()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[tantivy.IndexWriter]:
        try:
            if self._writer is None:
                self._writer = self._files.open(self._files.current()).writer(self._heap_bytes, THREADS)
            yield self._writer
            self._writer.commit()
        except BaseException as error:
            # Nothing of it is committed. A writer that has failed once (a full disk) fails for ever: the next is new.
            self._writer = None
            if isinstance(error, ValueError | OSError) or type(error).__name__ == "PanicException":
                raise EngineUnavailable(
                    f"the index in {self._files.path} could not be written; is the disk full? ({error})"
                ) from error
            raise

    def _drop_writer(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.wait_merging_threads()
