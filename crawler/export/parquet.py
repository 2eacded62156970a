"""How do items become a Parquet file? Used by ``-o``, ``-O`` (``FEED_EXPORTERS``) and ``export``, and imported only
then: pyarrow takes longer to load than all the rest.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import IO, Any

import pyarrow
import pyarrow.parquet
from itemadapter import ItemAdapter
from scrapy.exporters import BaseItemExporter

from crawler.errors import CannotExport

# One group of a Parquet file, and the memory that it takes: readers want them large, and bodies are.
ROWS_AT_ONCE = 10_000
BYTES_AT_ONCE = 64 * 1024 * 1024
COLUMNS: dict[type, pyarrow.DataType] = {
    str: pyarrow.string(), int: pyarrow.int64(), datetime: pyarrow.timestamp("ms", "UTC"),
    list: pyarrow.list_(pyarrow.string()),
}  # fmt: skip


class ParquetItemExporter(BaseItemExporter):
    """Columns and types are those of the first group of items, if no ``types`` are given; what does not fit later is an
    error, not a loss.
    """

    def __init__(self, file: IO[bytes], types: Mapping[str, type] | None = None, **options: Any) -> None:
        super().__init__(dont_fail=True, **options)
        self._file = file
        self._types = types or {}
        self._times = [name for name, type_ in self._types.items() if type_ is datetime]
        self._bytes = 0
        self._rows: list[dict[str, Any]] = []
        self._writer: pyarrow.parquet.ParquetWriter | None = None
        self._schema: pyarrow.Schema | None = None

    def export_item(self, item: Any) -> None:
        adapter = ItemAdapter(item)
        names = self.fields_to_export or adapter.keys()
        row = {name: _plain(adapter.get(name)) for name in names}
        for name in self._times:  # ISO 8601, as the other formats have it
            if name in row:
                row[name] = datetime.fromisoformat(row[name]) if row[name] else None
        self._rows.append(row)
        self._bytes += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(self._rows) >= ROWS_AT_ONCE or self._bytes >= BYTES_AT_ONCE:
            self._write()

    def finish_exporting(self) -> None:
        if self._rows or self._writer is None:
            self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        rows, self._rows, self._bytes = self._rows, [], 0
        if self._schema is None:
            self._schema = _find_schema(rows, self.fields_to_export, self._types)
            self._writer = pyarrow.parquet.ParquetWriter(self._file, self._schema, compression="zstd")
        unknown = {name for row in rows for name in row} - set(self._schema.names)
        if unknown:
            raise CannotExport(
                f"no column for {', '.join(sorted(unknown))}: the first items had none of it (up to {ROWS_AT_ONCE}); "
                "name all columns with FEED_EXPORT_FIELDS"
            )
        try:
            table = pyarrow.Table.from_pylist(rows, schema=self._schema)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
            raise CannotExport(f"a value does not fit its column: {error}; give fields one type") from error
        assert self._writer is not None  # noqa: S101  made with the schema
        self._writer.write_table(table)


def _find_schema(rows: list[dict[str, Any]], names: Any, types: Mapping[str, type]) -> pyarrow.Schema:
    wanted = list(names) if names else list(dict.fromkeys(name for row in rows for name in row))
    columns = []
    for name in wanted:
        if name in types:
            columns.append(pyarrow.field(name, COLUMNS[types[name]]))
            continue
        values = [row.get(name) for row in rows]
        try:
            kind = pyarrow.infer_type(values)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
            raise CannotExport(f"the values of {name} have different types: {error}") from error
        if pyarrow.types.is_null(kind):
            kind = pyarrow.string()
        elif pyarrow.types.is_list(kind) and pyarrow.types.is_null(kind.value_type):
            kind = pyarrow.list_(pyarrow.string())
        columns.append(pyarrow.field(name, kind))
    return pyarrow.schema(columns)


def _plain(value: Any) -> Any:
    """Dictionaries have other keys in every row: as JSON they are one type."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # half a surrogate pair is no text to Arrow
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
