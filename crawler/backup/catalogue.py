"""Which backups are in the store? Those with a manifest. What has none is being made, or was left by a crash."""

import os
import socket
import time
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from crawler.backup.manifest import FOLDER, MANIFEST, RUNNING, Manifest, is_version, key_of, read_manifest
from crawler.errors import EngineError, OrbweaverError
from crawler.storage.store import Store

# A backup marks itself as running with every part, which takes seconds; on another machine nothing else can be known.
SILENT_SECONDS = 3600.0


class Backup(NamedTuple):
    version: str
    manifest: Manifest | None
    trouble: str = ""  # why there is no manifest


class _Mark(msgspec.Struct):
    host: str
    process: int
    at: float


async def list_backups(store: Store) -> list[Backup]:
    """The oldest first. One that is damaged is in the list, and says so."""
    found = []
    for version, names in (await _list_versions(store)).items():
        if MANIFEST in names:
            found.append(await _read(store, version))
    return found


async def prune(store: Store, keep: int) -> list[str]:
    """Deletes all but the newest; answers which. Those that cannot be read do not count as kept, and stay."""
    good = [backup.version for backup in await list_backups(store) if backup.manifest is not None]
    old = good[: max(len(good) - keep, 0)]
    for version in old:
        await delete_backup(store, version)
    return old


async def delete_backup(store: Store, version: str) -> None:
    """The manifest first: whatever happens then, it is not taken for a whole one."""
    await store.delete_file(key_of(version, MANIFEST))
    keys = await store.list_files(f"{FOLDER}/{version}/")
    for key in sorted(keys, key=lambda key: key.endswith(RUNNING)):
        await store.delete_file(key)


async def mark_running(store: Store, version: str) -> None:
    mark = _Mark(socket.gethostname(), os.getpid(), time.time())
    await store.put_file(key_of(version, RUNNING), msgspec.json.encode(mark))


async def clear_unfinished(store: Store) -> list[str]:
    """What a crash left half done goes; what somebody is still making stays."""
    cleared = []
    for version, names in (await _list_versions(store)).items():
        if MANIFEST not in names and not await _is_being_made(store, version, names):
            await delete_backup(store, version)
            cleared.append(version)
    return cleared


async def _is_being_made(store: Store, version: str, names: Iterable[str]) -> bool:
    data = await store.get_file(key_of(version, RUNNING)) if RUNNING in names else None
    if data is None:
        return False
    try:
        mark = msgspec.json.decode(data, type=_Mark)
    except msgspec.MsgspecError:
        return False
    if mark.host == socket.gethostname():
        return _is_alive(mark.process)
    return time.time() - mark.at < SILENT_SECONDS


def _is_alive(process: int) -> bool:
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


async def _list_versions(store: Store) -> dict[str, set[str]]:
    """Of every version the names of its files."""
    versions: dict[str, set[str]] = {}
    for key in await store.list_files(f"{FOLDER}/"):
        version, _, name = key.removeprefix(f"{FOLDER}/").partition("/")
        if is_version(version) and name:
            versions.setdefault(version, set()).add(name)
    return dict(sorted(versions.items()))


async def _read(store: Store, version: str) -> Backup:
    data = await store.get_file(key_of(version, MANIFEST))
    if data is None:
        return Backup(version, None, "it was deleted just now")
    try:
        return Backup(version, read_manifest(data, version))
    except EngineError as error:
        return Backup(version, None, str(error))


class NoBackup(OrbweaverError):
    pass


async def choose_backup(store: Store, version: str = "") -> Manifest:
    """The newest if none is named. Raises NoBackup, EngineRefused or Damaged."""
    if version and not is_version(version):
        raise NoBackup(f"{version!r:.100} is not the name of a backup; scrapy search --backups lists them")
    if not version:
        versions = [name for name, names in (await _list_versions(store)).items() if MANIFEST in names]
        if not versions:
            raise NoBackup("there is no backup in the store; scrapy search --backup makes one")
        version = versions[-1]
    data = await store.get_file(key_of(version, MANIFEST))
    if data is None:
        raise NoBackup(f"there is no backup {version} in the store; scrapy search --backups lists them")
    return read_manifest(data, version)
