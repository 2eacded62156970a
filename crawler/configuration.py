"""Is the value of a setting one that we can work with? Asked once, by whoever reads settings into a config."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from scrapy.settings import BaseSettings

from crawler.errors import ConfigurationError

N = TypeVar("N", int, float)


class SettingsReader:
    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings

    def text(self, name: str) -> str:
        value = self._settings.get(name)
        if not value or not isinstance(value, str):
            raise ConfigurationError(f"{name} is {value!r}; it needs a value")
        return value

    def flag(self, name: str) -> bool:
        try:
            return self._settings.getbool(name)
        except ValueError:
            raise ConfigurationError(f"{name} is {self._settings.get(name)!r}; use True or False") from None

    def path(self, name: str) -> Path | None:
        value = self._settings.get(name)
        if value and not isinstance(value, str | Path):
            raise ConfigurationError(f"{name} is {value!r}; it must be the name of a file, or empty")
        return Path(value).expanduser().absolute() if value else None

    def words(self, name: str) -> tuple[str, ...]:
        """In lower case."""
        values = self._settings.get(name)
        values = values.replace(",", " ").split() if isinstance(values, str) else values
        if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
            raise ConfigurationError(f"{name} is {values!r}; it must be a list of words, or words with commas between")
        return tuple(value.strip().lower() for value in values)

    def delays(self, name: str) -> tuple[float, ...]:
        raw = self._settings.get(name)
        try:
            values = tuple(float(value) for value in self._settings.getlist(name))
        except ValueError:
            values = (-1.0,)
        if any(not 0 <= value <= 86400 for value in values):
            raise ConfigurationError(f"{name} is {raw!r}; it must be seconds from 0 to 86400, such as [1, 2, 4]")
        return values

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        value = self.text(name)
        if value not in choices:
            raise ConfigurationError(f"{name} is {value!r}; use {' or '.join(choices)}")
        return value

    def whole(self, name: str, low: int, high: int) -> int:
        return self._within(name, int, "a whole number", low, high)

    def number(self, name: str, low: float, high: float) -> float:
        return self._within(name, float, "a number", low, high)

    def _within(self, name: str, kind: Callable[[Any], N], words: str, low: N, high: N) -> N:
        raw = self._settings.get(name)
        try:
            value = kind(raw)
        except (TypeError, ValueError):
            raise ConfigurationError(f"{name} is {raw!r}; it must be {words} from {low} to {high}") from None
        if not low <= value <= high:
            raise ConfigurationError(f"{name} is {raw!r}; it must be {words} from {low} to {high}")
        return value
