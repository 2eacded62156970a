"""What anybody can meet is one line in a worker's log, and no traceback: a mistake in a setting, a Redis that is not
there, a host that does not answer.

Scrapy lets what goes wrong while a spider opens end as an exception that nobody retrieved, which asyncio logs; and it
logs every download that failed with the stack of our own code.
"""

import logging

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)

from crawler.errors import OrbweaverError

_DOWNLOAD_ERRORS = (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)


def explain_in_one_line() -> None:
    """Called by a worker as it starts."""
    logging.getLogger("asyncio").addFilter(_shorten)
    logging.getLogger("scrapy.core.scraper").addFilter(_shorten_download)
    logging.getLogger("scrapy.utils.signal").addFilter(_is_no_echo)


def _shorten(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, OrbweaverError):
        record.msg, record.args = "%s", (error,)
        record.levelno, record.levelname = logging.CRITICAL, "CRITICAL"
        record.exc_info = record.exc_text = None
    return True


def _shorten_download(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, _DOWNLOAD_ERRORS):
        record.msg, record.args = "%s: %s: %s", (record.getMessage(), type(error).__name__, error)
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.exc_info = record.exc_text = None
    return True


def _is_no_echo(record: logging.LogRecord) -> bool:
    """When a spider could not open, Scrapy's own statistics stumble over never having begun: why is told elsewhere."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, AssertionError) and "CoreStats.spider_closed" in record.getMessage())
