"""How does a CSV file stay harmless in a spreadsheet? Used by ``-o``, ``-O`` (``FEED_EXPORTERS``) and ``export``."""

import json
import unicodedata
from typing import Any

from scrapy.exporters import CsvItemExporter

# A cell that begins like this is a formula to a spreadsheet: a page's title could make it run one. The last four are
# the wide forms of the first; programs that begin with a pipe or a percent sign were run by old ones.
FORMULA_STARTS = ("=", "+", "-", "@", "|", "%", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class SafeCsvItemExporter(CsvItemExporter):
    """A text that a spreadsheet would run has an apostrophe before it, which spreadsheets do not show. Numbers are as
    they are. Columns that were chosen have their names in the first line even if there is no row.
    """

    def start_exporting(self) -> None:
        super().start_exporting()
        if self.fields_to_export:
            self._headers_not_written = False
            self._write_headers_and_set_fields_to_export({})

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        value = super().serialize_field(field, name, value)
        if isinstance(value, dict):
            value = json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, str) and _is_formula(value):
            return "'" + value
        return value


def _is_formula(text: str) -> bool:
    for letter in text:
        if letter in FORMULA_STARTS:
            return True
        if unicodedata.category(letter)[0] not in "CZ":  # spaces and what cannot be seen: some of them leave it out
            return False
    return False
