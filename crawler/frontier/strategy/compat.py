"""How does Frontera 0.8.1, of 2019, run on the libraries of today?

It imports names that ``w3lib.util`` and ``collections`` have since lost. They are put back while something imports
Frontera, and taken away again: another library may well ask whether they exist. Everything here imports Frontera
through this module.
"""

import collections
import collections.abc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scrapy.utils.misc import load_object

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # w3lib.util is itself on its way out
    import w3lib.util

_LOST_BY_COLLECTIONS = [name for name in collections.abc.__all__ if not hasattr(collections, name)]


@contextmanager
def lost_names() -> Iterator[None]:
    """Nests: only what was missing is put back, and only that is removed."""
    added: list[tuple[Any, str]] = []
    for name in _LOST_BY_COLLECTIONS:
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
            added.append((collections, name))
    if not hasattr(w3lib.util, "to_native_str"):
        w3lib.util.to_native_str = w3lib.util.to_unicode  # type: ignore[attr-defined]
        added.append((w3lib.util, "to_native_str"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", SyntaxWarning)
            yield
    finally:
        for module, name in added:
            delattr(module, name)


def load_class(path: str) -> Any:
    """A class by its dotted path, from a module that may import any part of Frontera."""
    with lost_names():
        return load_object(path)


with lost_names():
    from frontera.core.components import States
    from frontera.core.manager import StatesContext
    from frontera.core.models import Request, Response
    from frontera.settings import Settings
    from frontera.strategy import BaseCrawlingStrategy

__all__ = ["BaseCrawlingStrategy", "Request", "Response", "Settings", "States", "StatesContext", "load_class"]
