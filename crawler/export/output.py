"""Where does an export go? To standard output, a pipe or a device as it is made; to a file in one step, when all of it
is there.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from scrapy.exporters import BaseItemExporter, JsonLinesItemExporter

from crawler.errors import CannotExport, ConfigurationError
from crawler.export.safe_csv import SafeCsvItemExporter

FORMATS = ("jsonl", "csv", "parquet")
ENDINGS = {".jsonl": "jsonl", ".jl": "jsonl", ".csv": "csv", ".parquet": "parquet"}


def choose_format(named: str, path: Path | None) -> str:
    """As it is named, else by how the file's name ends, else JSON lines."""
    ending = path.suffix.lower() if path else ""
    if not named and ending and ending not in ENDINGS:
        raise ConfigurationError(
            f"{path} ends in none of {', '.join(ENDINGS)}: say which format it is with --format {'|'.join(FORMATS)}"
        )
    return named or ENDINGS.get(ending, "jsonl")


class PlainJsonLinesItemExporter(JsonLinesItemExporter):
    """Letters as they are, and not as escapes, which make Russian three times as long."""

    def __init__(self, file: Any, **options: Any) -> None:
        super().__init__(file, ensure_ascii=False, **options)

    def export_item(self, item: Any) -> None:
        line = self.encoder.encode(dict(self.get_serialized_fields(item)))
        self.file.write(line.encode("utf-8", "replace") + b"\n")  # half a surrogate pair is no text


def make_exporter(format_: str, file: Any, fields: Sequence[str], types: Mapping[str, type]) -> BaseItemExporter:
    """``types`` of the fields: Parquet has them, in the others everything is text."""
    if format_ == "csv":
        return SafeCsvItemExporter(file, fields_to_export=list(fields), errors="replace")
    if format_ == "parquet":
        from crawler.export.parquet import ParquetItemExporter

        return ParquetItemExporter(file, fields_to_export=list(fields), types=types)
    return PlainJsonLinesItemExporter(file, fields_to_export=list(fields))


@contextlib.contextmanager
def open_output(path: Path | None, format_: str) -> Iterator[IO[bytes]]:
    if path is None:
        if format_ == "parquet" and sys.stdout.isatty():
            raise ConfigurationError("Parquet is nothing for a terminal: give a file with -o, or a pipe")
        yield _Stream(sys.stdout.buffer)  # type: ignore[misc]
        sys.stdout.buffer.flush()
        return
    if path.is_dir():
        raise ConfigurationError(f"{path} is a directory: give a file in it")
    if path.exists() and not path.is_file():  # a file must not take its place: that would be the end of /dev/null
        with path.open("wb") as special:
            yield _Stream(special)  # type: ignore[misc]
        return
    path = Path(os.path.realpath(path))  # what a link leads to is replaced, and not the link
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
