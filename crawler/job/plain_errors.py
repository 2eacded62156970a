"""A mistake in a setting, or a Redis that is not there, is one line in a worker's log, and no traceback.

Scrapy lets what goes wrong while a spider opens end as an exception that nobody retrieved, which asyncio logs.
"""

import logging

from crawler.errors import OrbweaverError


def explain_in_one_line() -> None:
    """Called by a worker as it starts."""
    logging.getLogger("asyncio").addFilter(_shorten)


def _shorten(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, OrbweaverError):
        record.msg, record.args = "%s", (error,)
        record.levelno, record.levelname = logging.CRITICAL, "CRITICAL"
        record.exc_info = record.exc_text = None
    return True
