"""Is the lock of the embedded index held, and given back, whatever the disk says?"""

import errno
import os
from pathlib import Path

import pytest

from crawler.search.embedded_files import WriterLock


def test_a_full_disk_neither_costs_the_lock_nor_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    first, second = WriterLock(tmp_path / "lock"), WriterLock(tmp_path / "lock")
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", refuse)  # its process id has no room
        assert first.try_lock()
    assert not second.try_lock()
    first.release()
    assert second.try_lock()
    second.release()
