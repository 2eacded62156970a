"""How does a CSV file stay harmless in a spreadsheet? Used by ``-o``, ``-O`` (``FEED_EXPORTERS``) and ``export``."""

import json
from typing import Any

from scrapy.exporters import CsvItemExporter

# A cell that begins like this is a formula to a spreadsheet: a page's title could make it run one.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class SafeCsvItemExporter(CsvItemExporter):
    """A text that a spreadsheet would run has an apostrophe before it, which spreadsheets do not show."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        value = super().serialize_field(field, name, value)
        if isinstance(value, dict):
            value = json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, str) and value.startswith(FORMULA_STARTS):
            return "'" + value
        return value
