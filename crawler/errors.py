"""Every error this project raises on purpose.

::

    OrbweaverError
    ├── ConfigurationError      a setting or an argument has a value we cannot work with
    ├── EngineError             Redis, the store or the index cannot be used
    │   ├── EngineUnavailable   not there, or not there any more: waiting may help
    │   ├── EngineRefused       there, but says no: wrong password, wrong version, wrong partitions
    │   └── Damaged             what was kept cannot be read back: cut off, changed, or not ours; names the file
    ├── BadQuery                a search that makes no sense, or asks for more than is allowed
    ├── CannotExport            a row that does not fit the file, or a file that cannot be written
    ├── BadUrl                  a seed or link that is no crawlable URL; carries the drop reason
    └── CannotTravel            a Request that cannot be written to the queue; names the field

How a download failed is said with Scrapy's own exceptions, see ``crawler/download/errors.py``.
"""

import reprlib


class OrbweaverError(Exception):
    """A message says what was wrong, with which value, and what to do."""


class ConfigurationError(OrbweaverError):
    pass


class EngineError(OrbweaverError):
    pass


class EngineUnavailable(EngineError):
    pass


class EngineRefused(EngineError):
    pass


class Damaged(EngineError):
    pass


class BadQuery(OrbweaverError):
    pass


class CannotExport(OrbweaverError):
    pass


class BadUrl(OrbweaverError):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class CannotTravel(OrbweaverError):
    def __init__(self, field: str, value: object, hint: str) -> None:
        super().__init__(
            f"this request cannot be queued: its {field} is {_describe(value)} ({type(value).__name__}); {hint}"
        )
        self.field = field


def _describe(value: object) -> str:
    """Never fails: what cannot travel may be nested without end, or have a broken ``__repr__``."""
    brief = reprlib.Repr()
    brief.maxstring = brief.maxother = 200
    try:
        return brief.repr(value)[:200]
    except Exception:
        return "something without a repr"
