"""The commands of the project, each a file: ``scrapy NAME`` runs ``NAME.py``. They parse and print."""

import sys
from types import TracebackType


def _end_without_words(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Loading all commands takes a second, and who presses Ctrl-C in it has no use for a traceback."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _end_without_words
