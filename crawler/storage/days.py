"""Of which days does the store hold pages? Every search for a newest version asks: it is remembered a while."""

import time
from collections.abc import Iterable

from crawler.storage.layout import is_day
from crawler.storage.objects import Objects

REMEMBERED_SECONDS = 5.0


class Days:
    def __init__(self, objects: Objects, folder: str) -> None:
        self._objects = objects
        self._folder = folder
        self._known: set[str] = set()
        self._read_at = -REMEMBERED_SECONDS

    def expect(self, days: Iterable[str]) -> None:
        """We are about to write there ourselves."""
        self._known.update(days)

    async def newest_first(self) -> list[str]:
        if time.monotonic() - self._read_at > REMEMBERED_SECONDS:
            self._known = {name for name in await self._objects.list_folders(self._folder) if is_day(name)}
            self._read_at = time.monotonic()
        return sorted(self._known, reverse=True)
