"""What do ``scrapy search --backup``, ``--backups``, ``--restore`` and ``--rebuild`` do?"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from scrapy.settings import BaseSettings

from crawler.backup.backup import make_backup
from crawler.backup.catalogue import Backup, list_backups, prune
from crawler.backup.manifest import Manifest
from crawler.backup.progress import Progress
from crawler.backup.rebuild import Rebuild, Rebuilt
from crawler.backup.restore import Restored, restore_backup
from crawler.backup.workroom import find_unfinished, workroom
from crawler.errors import EngineError, EngineRefused, EngineUnavailable
from crawler.pipelines.config import KeepConfig
from crawler.pipelines.outlets import deliver_waiting, make_store_outlet
from crawler.robots.directives import Obedience
from crawler.search.embedded import EmbeddedIndex
from crawler.search.index import Index
from crawler.search.opening import open_index
from crawler.storage.opening import build_store
from crawler.storage.store import Store


class IndexKeeping:
    def __init__(self, settings: BaseSettings, progress: Progress | None = None) -> None:
        self._config = KeepConfig.from_settings(settings)
        self._obey = Obedience.from_settings(settings)
        self._room = self._config.spool_directory.parent / "rebuild"
        self._progress = progress or Progress()
        self._is_refused = False

    @asynccontextmanager
    async def index(self, *, is_replaced: bool = False) -> AsyncIterator[Index]:
        """Open, with all that was waiting for it. One that ``is_replaced`` may be of a version that cannot be opened,
        or damaged: it is cleared when there is something to put in its place.
        """
        index = open_index(self._config.index)
        try:
            try:
                await index.open()
            except EngineError:
                if not is_replaced or not isinstance(index, EmbeddedIndex):
                    raise
                self._is_refused = True
            if not self._is_refused:
                await self._deliver(index)
            if not is_replaced and (command := find_unfinished(self._room)):
                self._progress.say(f"the index is not whole: run {command} again, if it does not run any more")
            yield index
        finally:
            await index.close()

    async def backup(self, index: Index, keep: int | None) -> tuple[Manifest, list[str]]:
        """The new backup, and which older ones were deleted."""
        # It would be the newest, which is what is restored; and night by night push out those that hold something.
        if command := find_unfinished(self._room):
            raise EngineRefused(f"no backup was made, because the index is not whole: run {command} again first")
        await index.refresh()
        if not (await index.stats()).documents:
            raise EngineRefused("the index is empty, so no backup was made and none deleted; check INDEX_URL, DATA_DIR")
        async with self._store(writes=True) as store:
            manifest = await make_backup(index, store, self._progress)
            return manifest, await prune(store, keep) if keep is not None else []

    async def backups(self, keep: int | None) -> list[Backup]:
        async with self._store() as store:
            if keep is not None:
                await prune(store, keep)
            return await list_backups(store)

    async def restore(self, index: Index, version: str) -> Restored:
        with workroom(self._room) as room:
            async with self._store() as store:
                return await restore_backup(index, store, version, room, self._progress)

    async def rebuild(self, index: Index, crawl: str) -> Rebuilt:
        config = self._config
        with workroom(self._room) as room:
            async with self._store() as store:
                await self._deliver_pages(store)
                rebuild = Rebuild(
                    index, store, room, self._progress, crawl=crawl, obey=self._obey, main_text=config.main_text,
                    find_similar=config.find_duplicates, clear_first=self._is_refused,
                )  # fmt: skip
                return await rebuild.run()

    async def _deliver(self, index: Index) -> None:
        spool = self._config.spool("index")
        size_bytes = await asyncio.to_thread(spool.size_bytes)
        if size_bytes > 50_000_000:  # some seconds of work
            self._progress.say(f"{size_bytes / 1e6:.0f} MB wait for the index, and are written first…")
        try:
            await deliver_waiting(index, spool)
        except OSError as error:  # somebody else's files: what is in the index can be searched all the same
            self._progress.say(f"what waits in {spool.directory} is not in the index yet: {error}")

    async def _deliver_pages(self, store: Store) -> None:
        """A page that waits would be taken for one that is not kept, and its document removed."""
        spool = self._config.spool("store")
        if await asyncio.to_thread(spool.is_empty):
            return
        await store.open()
        outlet = make_store_outlet(store, spool)
        await outlet.drain()
        if not await asyncio.to_thread(self._config.spool("store").is_empty):
            raise EngineUnavailable(
                f"pages wait for the store in {spool.directory} ({outlet.trouble or 'a worker delivers them'}): "
                "rebuild the index when scrapy spool drain has delivered them"
            )

    @asynccontextmanager
    async def _store(self, *, writes: bool = False) -> AsyncIterator[Store]:
        store = build_store(self._config.store)
        try:
            if writes:
                await store.open()
            yield store
        finally:
            await store.close()
