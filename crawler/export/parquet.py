"""How do items become a Parquet file? Used by ``-o``, ``-O`` (``FEED_EXPORTERS``) and ``export``, and imported only
then: pyarrow takes longer to load than all the rest.
"""

import json
from typing import IO, Any

import pyarrow
import pyarrow.parquet
from itemadapter import ItemAdapter
from scrapy.exporters import BaseItemExporter

from crawler.errors import CannotExport

ROWS_AT_ONCE = 1000  # of a Parquet file: one group, and the memory that it takes


class ParquetItemExporter(BaseItemExporter):
    """Columns and types are those of the first thousand items; what does not fit later is an error, not a loss."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(dont_fail=True, **options)
        self._file = file
        self._rows: list[dict[str, Any]] = []
        self._writer: pyarrow.parquet.ParquetWriter | None = None
        self._schema: pyarrow.Schema | None = None

    def export_item(self, item: Any) -> None:
        adapter = ItemAdapter(item)
        names = self.fields_to_export or adapter.keys()
        self._rows.append({name: _plain(adapter.get(name)) for name in names})
        if len(self._rows) >= ROWS_AT_ONCE:
            self._write()

    def finish_exporting(self) -> None:
        if self._rows or self._writer is None:
            self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        rows, self._rows = self._rows, []
        if self._schema is None:
            self._schema = _find_schema(rows, self.fields_to_export)
            self._writer = pyarrow.parquet.ParquetWriter(self._file, self._schema, compression="zstd")
        unknown = {name for row in rows for name in row} - set(self._schema.names)
        if unknown:
            raise CannotExport(
                f"no column for {', '.join(sorted(unknown))}: the first {ROWS_AT_ONCE} items had none of it; "
                "name all columns with FEED_EXPORT_FIELDS"
            )
        try:
            table = pyarrow.Table.from_pylist(rows, schema=self._schema)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
            raise CannotExport(f"a value does not fit its column: {error}; give fields one type") from error
        assert self._writer is not None  # noqa: S101  made with the schema
        self._writer.write_table(table)


def _find_schema(rows: list[dict[str, Any]], names: Any) -> pyarrow.Schema:
    wanted = list(names) if names else list(dict.fromkeys(name for row in rows for name in row))
    columns = []
    for name in wanted:
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
