"""Is what was spooled still there, whole and once, whatever died in between?"""

import contextlib
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from crawler.delivery.spool import SEGMENT_BYTES, Spool, SpoolFull

MANY = 1 << 30


def open_spool(directory: Path, most_bytes: int = MANY) -> Spool:
    spool = Spool(directory, most_bytes)
    spool.open()
    return spool


def take_all(spool: Spool) -> list[bytes]:
    records = []
    for segment in spool.claim():
        records += list(segment.records())
        segment.delete()
    return records


def test_what_goes_in_comes_out_in_order(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    spool.append([b"one", b""])
    spool.append([b"two" * 1000])
    assert take_all(spool) == []  # still being written
    spool.end_segment()
    assert take_all(spool) == [b"one", b"", b"two" * 1000]
    assert spool.is_empty()
    assert os.listdir(tmp_path) == []


def test_a_full_segment_is_delivered_while_the_next_is_written(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    spool.append([bytes(SEGMENT_BYTES)])
    spool.append([b"next"])
    assert [len(record) for record in take_all(spool)] == [SEGMENT_BYTES]
    assert not spool.is_empty()
    spool.end_segment()
    assert take_all(spool) == [b"next"]


def test_a_segment_is_delivered_by_one(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    spool.append([b"x"])
    spool.end_segment()
    [segment] = spool.claim()
    assert list(open_spool(tmp_path).claim()) == []
    segment.release()
    assert take_all(open_spool(tmp_path)) == [b"x"]


def test_over_the_limit_nothing_is_written(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, most_bytes=100)
    spool.append([b"x" * 40])
    with pytest.raises(SpoolFull, match="SPOOL_BYTES"):
        spool.append([b"y" * 20, b"z" * 40])
    spool.append([b"y" * 20])
    spool.end_segment()
    assert take_all(spool) == [b"x" * 40, b"y" * 20]


def test_the_limit_is_one_for_all_processes(tmp_path: Path) -> None:
    other = open_spool(tmp_path)
    other.append([b"x" * 90])
    with pytest.raises(SpoolFull):
        open_spool(tmp_path, most_bytes=100).append([b"y" * 20])


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = open_spool(tmp_path)
    spool.append([b"before"])
    write = os.write

    def write_some(file: int, data: memoryview) -> int:
        if len(data) > 20:
            return write(file, data[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", write_some)
    with pytest.raises(SpoolFull, match="No space left"):
        spool.append([b"x" * 30])
    monkeypatch.undo()
    spool.append([b"after"])
    spool.end_segment()
    assert take_all(spool) == [b"before", b"after"]


def test_a_process_that_may_open_no_more_files_is_told_that_there_is_no_room(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 20, hard))
    held = []
    try:
        with contextlib.suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(SpoolFull, match="Too many open files"):
            spool.append([b"x"])
    finally:
        for file in held:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    spool.append([b"x"])
    spool.end_segment()
    assert take_all(spool) == [b"x"]


def test_a_file_system_without_locks_is_not_filled_with_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    spool = open_spool(tmp_path)
    monkeypatch.setattr("crawler.delivery.spool.fcntl.flock", fail)
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with pytest.raises(SpoolFull, match="No locks available"):
            spool.append([b"x"])
    assert os.listdir(tmp_path) == []
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_what_comes_after_somebody_removed_the_directory_is_safe(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "spool")
    spool.append([b"gone"])
    shutil.rmtree(tmp_path / "spool")
    spool.append([b"open"])
    spool.end_segment()
    assert take_all(spool) == [b"open"]
    shutil.rmtree(tmp_path / "spool")
    spool.append([b"closed"])
    spool.end_segment()
    assert take_all(spool) == [b"closed"]


@pytest.mark.parametrize("cut", [1, 5, 8, 9])
def test_a_torn_record_is_left_out(tmp_path: Path, cut: int) -> None:
    spool = open_spool(tmp_path)
    spool.append([b"whole", b"torn"])
    spool.end_segment()
    [path] = tmp_path.iterdir()
    os.truncate(path, path.stat().st_size - cut)
    assert take_all(spool) == [b"whole"]


def test_a_spoilt_record_ends_the_segment(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    spool.append([b"whole", b"spoilt"])
    spool.end_segment()
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    [segment] = spool.claim()
    assert list(segment.records()) == [b"whole"]
    assert segment.is_spoilt  # and so it is kept


@pytest.mark.parametrize("cut", [1, 5, 8])
def test_a_torn_segment_is_not_spoilt(tmp_path: Path, cut: int) -> None:
    spool = open_spool(tmp_path)
    spool.append([b"whole", b"torn"])
    spool.end_segment()
    [path] = tmp_path.iterdir()
    os.truncate(path, path.stat().st_size - cut)
    [segment] = spool.claim()
    assert list(segment.records()) == [b"whole"]
    assert not segment.is_spoilt


def test_threads_append_whole_records(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)

    def append(letter: bytes) -> None:
        for _ in range(200):
            spool.append([letter * 500, letter * 500])

    threads = [threading.Thread(target=append, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spool.end_segment()
    records = take_all(spool)
    assert sorted(records) == sorted([b"a" * 500] * 400 + [b"b" * 500] * 400 + [b"c" * 500] * 400)


def test_a_killed_process_leaves_all_that_it_called_safe(tmp_path: Path) -> None:
    program = """if True:
        import sys
        from pathlib import Path
        from crawler.delivery.spool import Spool
        spool = Spool(Path(sys.argv[1]), 1 << 30)
        for number in range(10**9):
            spool.append([b"%d" % number])
            print(number, flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) == 500:
            process.send_signal(signal.SIGKILL)
            break
    rest = process.stdout.read().split()
    process.wait()
    last = int(rest[-1]) if rest else 500
    records = [int(record) for record in take_all(open_spool(tmp_path))]
    assert records[: last + 1] == list(range(last + 1))
    assert len(records) <= last + 2  # one may be written and not told
