"""Which settings does the environment override? ``settings.py`` asks, once."""

import ast
import os
from collections.abc import Mapping
from typing import Any

from crawler.errors import ConfigurationError

PREFIX = "CRAWLER_"


def overrides_from_environment(defaults: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Values of ``CRAWLER_NAME`` variables, read as the type of the default they replace."""
    found = {}
    for variable, text in environ.items():
        name = variable.removeprefix(PREFIX)
        if name != variable and name.isupper():
            found[name] = _read(variable, text, defaults.get(name, ""))
    return found


def _read(variable: str, text: str, default: Any) -> Any:
    if default is None or isinstance(default, str):
        return text
    if isinstance(default, bool):
        return _read_bool(variable, text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if isinstance(value, int) and isinstance(default, float):
        value = float(value)
    if not isinstance(value, type(default)):
        raise ConfigurationError(
            f"{variable} is {text!r}, but a {type(default).__name__} is needed, such as {default!r}"
        )
    return value


def _read_bool(variable: str, text: str) -> bool:
    word = text.strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"", "0", "false", "no", "off"}:
        return False
    raise ConfigurationError(f"{variable} is {text!r}, but only true or false will do")
