"""How do documents become files, and come back? As gzipped lines of JSON, which any program can read.

Memory is bounded on both ways: a part is closed at a few megabytes, and read line by line.
"""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO

import msgspec
from isal import isal_zlib

from crawler.errors import Damaged
from crawler.search.document import Document

PART_BYTES = 24 * 1024 * 1024  # before gzip: about 6 MB, held in memory while it is made, and no loss to send again
MOST_LINE_BYTES = 64 * 1024 * 1024  # a document has at most a million characters of text
DOCUMENTS_AT_ONCE = 200
BATCH_BYTES = 8 * 1024 * 1024
_LEVEL = 2
_GZIP = 31
_decoder = msgspec.json.Decoder(Document)


class PartWriter:
    """Documents of one part. With a file they go there as they come, else they are collected."""

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._file = file or io.BytesIO()
        self._compressor = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _GZIP)
        self.text_bytes = 0
        self.documents = 0

    def add(self, documents: Sequence[Document]) -> None:
        lines = b"".join(msgspec.json.encode(document) + b"\n" for document in documents)
        self._file.write(self._compressor.compress(lines))
        self.text_bytes += len(lines)
        self.documents += len(documents)

    def finish(self) -> bytes:
        """All of it, if there is no file."""
        self._file.write(self._compressor.flush())
        return self._file.getvalue() if isinstance(self._file, io.BytesIO) else b""


def read_documents(path: Path, name: str) -> Iterator[Document]:
    """``name`` is for the error if there is one: Damaged, whatever is wrong."""
    try:
        with gzip.open(path, "rb") as file:
            while line := file.readline(MOST_LINE_BYTES):
                yield _decoder.decode(line)
    except (EOFError, OSError, zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise Damaged(f"{name} is damaged: {error}") from None


def read_batches(path: Path, name: str) -> Iterator[list[Document]]:
    documents = read_documents(path, name)
    while first := list(islice(documents, 1)):
        batch, size_bytes = first, len(first[0].content)
        while len(batch) < DOCUMENTS_AT_ONCE and size_bytes < BATCH_BYTES and (more := list(islice(documents, 1))):
            batch += more
            size_bytes += len(more[0].content)
        yield batch
