"""Can other programs read what was exported, and does no page run anything in them?"""

import csv
import io
from datetime import UTC, datetime
from typing import Any

import pyarrow.parquet
import pytest

from crawler.errors import CannotExport
from crawler.export.output import make_exporter
from crawler.export.parquet import BYTES_AT_ONCE, ROWS_AT_ONCE, ParquetItemExporter
from crawler.export.safe_csv import SafeCsvItemExporter


def to_csv(*items: dict[str, Any]) -> list[dict[str, str]]:
    file = io.BytesIO()
    exporter = SafeCsvItemExporter(file)
    exporter.start_exporting()
    for item in items:
        exporter.export_item(item)
    exporter.finish_exporting()
    return list(csv.DictReader(io.StringIO(file.getvalue().decode(), newline="")))


def to_parquet(items: list[dict[str, Any]], **options: Any) -> list[dict[str, Any]]:
    file = io.BytesIO()
    exporter = ParquetItemExporter(file, **options)
    exporter.start_exporting()
    for item in items:
        exporter.export_item(item)
    exporter.finish_exporting()
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(io.BytesIO(file.getvalue())).to_pylist()
    return rows


@pytest.mark.parametrize(
    "title",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "=cmd|' /C calc'!A0",
        "\uff1dcmd",
        '=HYPERLINK("x")',
        " =1",
        "\ufeff=1",
        "\xa0\u3000@x",
        "\u200e=1",
        "\u2003-1",
        "\x01+1",
        "|cmd",
        "%0A",
    ],
)
def test_no_cell_is_a_formula(title: str) -> None:
    [row] = to_csv({"title": title})
    assert row["title"] == "'" + title


def test_other_cells_are_as_they_were() -> None:
    [row] = to_csv({"title": 'a "b", c\nd', "depth": -1, "tags": ["a", "b"], "more": {"a": 1}, "no": None})
    assert row == {"title": 'a "b", c\nd', "depth": "-1", "tags": "a,b", "more": '{"a": 1}', "no": ""}


def test_chosen_columns_are_named_even_without_rows() -> None:
    file = io.BytesIO()
    exporter = SafeCsvItemExporter(file, fields_to_export=["url", "title"])
    exporter.start_exporting()
    exporter.finish_exporting()
    assert file.getvalue() == b"url,title\r\n"


def test_json_lines_are_strict_utf8() -> None:
    file = io.BytesIO()
    exporter = make_exporter("jsonl", file, ["title"], {})
    exporter.start_exporting()
    for title in ("Привет", "a\ud800b"):
        exporter.export_item({"title": title})
    exporter.finish_exporting()
    assert file.getvalue().decode() == '{"title": "Привет"}\n{"title": "a?b"}\n'


def test_a_list_cannot_hide_a_formula() -> None:
    [row] = to_csv({"keywords": ["=1+1", "b"]})
    assert row["keywords"] == "'=1+1,b"


def test_parquet_keeps_types() -> None:
    items = [
        {"url": "a", "depth": 1, "score": 0.5, "tags": ["x"], "ok": True, "more": {"b": [1]}, "none": None, "e": []}
    ]
    assert to_parquet(items) == [{**items[0], "more": '{"b": [1]}'}]


def test_parquet_types_can_be_given() -> None:
    file = io.BytesIO()
    types = {"fetched_at": datetime, "depth": int, "tags": list, "title": str}
    exporter = ParquetItemExporter(file, fields_to_export=[*types], types=types)
    exporter.start_exporting()
    exporter.export_item({"fetched_at": "2026-01-31T12:00:00.250Z", "depth": 2, "tags": [], "title": ""})
    exporter.export_item({"fetched_at": ""})
    exporter.finish_exporting()
    table = pyarrow.parquet.read_table(io.BytesIO(file.getvalue()))
    assert [str(kind) for kind in table.schema.types] == [
        "timestamp[ms, tz=UTC]", "int64", "list<element: string>", "string",
    ]  # fmt: skip
    times = table.column("fetched_at").to_pylist()
    assert times == [datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC), None]


def test_parquet_of_large_bodies_is_written_in_parts() -> None:
    file = io.BytesIO()
    exporter = ParquetItemExporter(file)
    exporter.start_exporting()
    for _ in range(20):
        exporter.export_item({"html": "x" * (BYTES_AT_ONCE // 8)})
    exporter.finish_exporting()
    metadata = pyarrow.parquet.ParquetFile(io.BytesIO(file.getvalue())).metadata
    assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == [8, 8, 4]


def test_parquet_of_many_rows_with_gaps() -> None:
    items: list[dict[str, Any]] = [{"url": f"page {number}"} for number in range(ROWS_AT_ONCE * 2 + 5)]
    items[3]["depth"] = 3
    rows = to_parquet(items)
    assert len(rows) == len(items)
    assert [row["url"] for row in rows] == [item["url"] for item in items]
    assert [row["depth"] for row in rows if row["depth"] is not None] == [3]


def test_parquet_of_nothing_is_a_file() -> None:
    assert to_parquet([]) == []


def test_chosen_columns_in_their_order() -> None:
    [row] = to_parquet([{"a": 1, "b": 2, "c": 3}], fields_to_export=["c", "missing", "a"])
    assert list(row.items()) == [("c", 3), ("missing", None), ("a", 1)]


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert to_parquet([{"title": "a\ud800b"}]) == [{"title": "a?b"}]


def test_what_does_not_fit_is_told_and_not_lost() -> None:
    rows: list[dict[str, Any]] = [{"depth": 1}] * ROWS_AT_ONCE
    with pytest.raises(CannotExport, match="does not fit its column"):
        to_parquet([*rows, {"depth": "deep"}])
    with pytest.raises(CannotExport, match="no column for title"):
        to_parquet([*rows, {"depth": 1, "title": "x"}])
    with pytest.raises(CannotExport, match="different types"):
        to_parquet([{"depth": [1]}, {"depth": "deep"}])
