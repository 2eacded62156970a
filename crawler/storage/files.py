"""What else lies in the store? Backups of the index, models, snapshots: files with a key, beside the pages."""

from collections.abc import AsyncIterator, Sequence

from crawler.storage.layout import check_file_key, check_key
from crawler.storage.objects import Blob, Objects

MAX_FILE_BYTES = 4 << 30


class Files:
    """The half of a Store that does not depend on the format of pages."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects

    async def put_file(self, key: str, body: bytes, *, only_if_absent: bool = False) -> bool:
        blob = Blob(check_file_key(key), body)
        if only_if_absent:
            [written] = await self.objects.create([blob])
            return written
        return await self.objects.replace(blob)

    async def get_file(self, key: str) -> bytes | None:
        kept = await self.objects.read(check_key(key), MAX_FILE_BYTES)
        return None if kept is None else kept.data

    async def list_files(self, prefix: str) -> list[str]:
        """Of all keys that begin so, sorted."""
        folder = prefix.rpartition("/")[0]
        if folder:
            check_key(folder)
        found: list[str] = []
        async for keys in self._list_keys(folder):
            found += (key for key in keys if key.startswith(prefix))
        return sorted(found)

    async def delete_file(self, key: str) -> None:
        await self.objects.delete(check_key(key))

    async def close(self) -> None:
        await self.objects.close()

    def _list_keys(self, folder: str) -> AsyncIterator[Sequence[str]]:
        return self.objects.list_keys(folder)
