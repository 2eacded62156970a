"""Where does an export go? To standard output as it is made; to a file in one step, when all of it is there."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from scrapy.exporters import BaseItemExporter, JsonLinesItemExporter

from crawler.errors import CannotExport, ConfigurationError
from crawler.export.safe_csv import SafeCsvItemExporter

FORMATS = ("jsonl", "csv", "parquet")
ENDINGS = {".jsonl": "jsonl", ".jl": "jsonl", ".csv": "csv", ".parquet": "parquet"}


def choose_format(named: str, path: Path | None) -> str:
    """As it is named, else by how the file's name ends, else JSON lines."""
    return named or ENDINGS.get(path.suffix.lower() if path else "", "jsonl")


def make_exporter(format_: str, file: Any, fields: Sequence[str]) -> BaseItemExporter:
    if format_ == "csv":
        # Half a surrogate pair is no text; JSON can write it, and the others replace it.
        return SafeCsvItemExporter(file, fields_to_export=list(fields), errors="replace")
    if format_ == "parquet":
        from crawler.export.parquet import ParquetItemExporter

        return ParquetItemExporter(file, fields_to_export=list(fields))
    return JsonLinesItemExporter(file, fields_to_export=list(fields))


@contextlib.contextmanager
def open_output(path: Path | None, format_: str) -> Iterator[IO[bytes]]:
    if path is None:
        if format_ == "parquet" and sys.stdout.isatty():
            raise ConfigurationError("Parquet is nothing for a terminal: give a file with -o, or a pipe")
        yield _Stream(sys.stdout.buffer)  # type: ignore[misc]
        sys.stdout.buffer.flush()
        return
    try:
        number, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None
    try:
        with open(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # a temporary file is its owner's alone
        os.replace(name, path)
    except OSError as error:
        raise CannotExport(f"{path} could not be written: {error.strerror}; there is no such file now, or still "
                           "the one from before") from None  # fmt: skip
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


class _Stream:
    """A pipe does not say where it is, which the Parquet writer wants to know."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._position = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        self._file.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        self._file.flush()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        pass
