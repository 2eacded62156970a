"""Does everything that was put reach the engine, once it is there; and does nobody wait who need not?"""

import asyncio
import errno
import json
import os
import resource
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from crawler.delivery.batching import Batcher, BatchLimits
from crawler.delivery.outlet import REJECTED_FILE, Outlet, Rejected, Route
from crawler.delivery.spool import Spool, SpoolFull
from crawler.errors import EngineRefused, EngineUnavailable

SOON = BatchLimits(count=10, bytes=1000, seconds=0.01)


class Engine:
    """Takes numbers."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.batches: list[int] = []
        self.is_away = False
        self.is_open = False
        self.refuses = False
        self.bad: set[int] = set()  # rejected
        self.broken: set[int] = set()  # the client itself fails on them
        self.writer: object = None

    async def open(self) -> None:
        if self.refuses:
            raise EngineRefused("wrong password")
        if self.is_away:
            raise EngineUnavailable("nobody answers")
        self.is_open = True

    async def send(self, numbers: Sequence[int]) -> list[Rejected]:
        await asyncio.sleep(0)
        assert self.is_open
        if self.is_away:
            raise EngineUnavailable("nobody answers")
        if self.broken & set(numbers):
            raise KeyError("what is this?")
        self.batches.append(len(numbers))
        self.taken += [number for number in numbers if number not in self.bad]
        return [Rejected(str(number), "too odd") for number in numbers if number in self.bad]


def route(engine: Engine, **more: Any) -> Route[int]:
    return Route("engine", engine.open, engine.send, lambda number: b"%d" % number, int, **more)


def open_outlet(engine: Engine, directory: Path, most_bytes: int = 1 << 20, **more: Any) -> Outlet[int]:
    spool = Spool(directory, most_bytes)
    spool.open()
    return Outlet(route(engine, **more), spool, SOON, round_seconds=0.02)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  no event tells of it
            await asyncio.sleep(0.005)


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))  # type: ignore[arg-type]


def test_calls_become_batches(tmp_path: Path) -> None:
    engine = Engine()

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path)
        await outlet.open()
        await asyncio.gather(*(outlet.put(number, 10) for number in range(35)))
        assert await outlet.close()

    run(work)
    assert sorted(engine.taken) == list(range(35))
    assert engine.batches == [10, 10, 10, 5]


def test_batches_are_bounded_in_bytes(tmp_path: Path) -> None:
    engine = Engine()

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path)
        await asyncio.gather(*(outlet.put(number, 600) for number in range(3)), outlet.put(3, 5000))
        await outlet.close()

    run(work)
    assert engine.batches == [1, 1, 1, 1]


def test_an_engine_that_was_away_gets_all(tmp_path: Path) -> None:
    engine = Engine()
    engine.is_away = True

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path)
        await outlet.open()
        await asyncio.gather(*(outlet.put(number, 10) for number in range(30)))  # returns: they are safe
        assert engine.taken == []
        assert "nobody answers" in outlet.trouble
        engine.is_away = False
        await until(lambda: len(engine.taken) == 30)
        await outlet.put(30, 10)
        assert await outlet.close()
        assert outlet.trouble == ""
        assert outlet.counts["spooled"] == 30

    run(work)
    assert sorted(engine.taken) == list(range(31))


def test_an_engine_that_refuses_us_is_told_at_once(tmp_path: Path) -> None:
    engine = Engine()
    engine.refuses = True

    async def work() -> None:
        with pytest.raises(EngineRefused, match="wrong password"):
            await open_outlet(engine, tmp_path).open()

    run(work)


def test_what_is_not_delivered_stays_for_the_next(tmp_path: Path) -> None:
    engine = Engine()
    engine.is_away = True

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path)
        await outlet.open()
        await outlet.put(1, 10)
        assert not await outlet.close()
        engine.is_away = False
        assert await open_outlet(engine, tmp_path).close()

    run(work)
    assert engine.taken == [1]


def test_a_full_spool_holds_back_and_then_lets_go(tmp_path: Path) -> None:
    engine = Engine()
    engine.is_away = True

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path, most_bytes=50)
        await outlet.open()
        await outlet.put(1000, 10)
        puts = [asyncio.ensure_future(outlet.put(number, 10)) for number in range(1001, 1021)]
        await until(lambda: outlet.counts["spooled"] == 1)
        done, waiting = await asyncio.wait(puts, timeout=0.2)
        assert len(waiting) == 20
        assert not done
        engine.is_away = False
        await asyncio.gather(*puts)
        assert await outlet.close()

    run(work)
    assert sorted(engine.taken) == list(range(1000, 1021))


def test_what_is_rejected_is_set_aside_with_the_error(tmp_path: Path) -> None:
    engine = Engine()
    engine.bad = {3}

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path)
        await asyncio.gather(*(outlet.put(number, 10) for number in range(5)))
        assert await outlet.close()
        assert outlet.counts == {"delivered": 4, "rejected": 1}

    run(work)
    [line] = (tmp_path / REJECTED_FILE).read_text().splitlines()
    assert json.loads(line)["name"] == "3"
    assert json.loads(line)["error"] == "too odd"


def test_the_list_of_what_is_rejected_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.delivery.outlet.MOST_REJECTED_BYTES", 1000)
    engine = Engine()
    engine.bad = set(range(200))

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path)
        for start in range(0, 200, 10):
            await asyncio.gather(*(outlet.put(number, 10) for number in range(start, start + 10)))
        assert await outlet.close()

    run(work)
    assert json.loads((tmp_path / REJECTED_FILE).read_text().splitlines()[-1])["name"] == "199"
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 5000


def test_one_that_breaks_the_client_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    engine = Engine()
    engine.broken = {3}

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path)
        results = await asyncio.gather(*(outlet.put(number, 10) for number in range(5)), return_exceptions=True)
        assert [type(result) for result in results] == [type(None)] * 3 + [KeyError] + [type(None)]
        await outlet.close()

    run(work)
    assert engine.taken == [0, 1, 2, 4]


def test_a_record_that_cannot_be_read_is_put_aside(tmp_path: Path) -> None:
    engine = Engine()
    spool = Spool(tmp_path, 1000)
    spool.append([b"1", b"no number", b"2"])
    spool.end_segment()

    async def work() -> None:
        assert await open_outlet(engine, tmp_path).close()

    run(work)
    assert engine.taken == [1, 2]
    [aside] = tmp_path.glob("*.aside")
    assert b"no number" in aside.read_bytes()


def test_what_follows_a_damage_is_not_deleted(tmp_path: Path) -> None:
    engine = Engine()
    spool = Spool(tmp_path, 1000)
    spool.append([b"1", b"2", b"3"])
    spool.end_segment()
    [path] = tmp_path.iterdir()
    damaged = bytearray(path.read_bytes())
    damaged[9 + 8] = ord("9")  # the second record
    path.write_bytes(damaged)

    async def work() -> None:
        await open_outlet(engine, tmp_path).close()

    run(work)
    assert engine.taken == [1]
    [aside] = tmp_path.glob("*.aside")
    assert aside.read_bytes() == bytes(damaged)


def test_a_segment_that_could_not_be_removed_is_delivered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine()
    spool = Spool(tmp_path, 1 << 20)
    for number in range(2):
        spool.append([b"%d" % number])
        spool.end_segment()
    last, unlink = max(tmp_path.iterdir()), Path.unlink

    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        if path == last:
            raise PermissionError(errno.EACCES, "Permission denied")
        unlink(path, missing_ok=missing_ok)

    async def work() -> None:
        monkeypatch.setattr(Path, "unlink", refuse)
        assert not await open_outlet(engine, tmp_path).close()
        monkeypatch.undo()
        assert await open_outlet(engine, tmp_path).close()

    run(work)
    assert engine.taken == [0, 1, 1]


def test_an_error_of_the_disk_does_not_end_the_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    engine.is_away = True
    end_segment, errors = Spool.end_segment, [OSError(errno.EIO, "Input/output error")]

    def fail_once(spool: Spool) -> None:
        if errors:
            raise errors.pop()
        end_segment(spool)

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path)
        await outlet.open()
        await outlet.put(1, 10)
        monkeypatch.setattr(Spool, "end_segment", fail_once)
        await until(lambda: not errors)
        engine.is_away = False
        await until(lambda: engine.taken == [1])
        assert await outlet.close()

    run(work)


def test_more_segments_than_a_process_may_open_are_delivered(tmp_path: Path) -> None:
    engine = Engine()
    spool = Spool(tmp_path, 1 << 20)
    for number in range(600):
        spool.append([b"%d" % number])
        spool.end_segment()

    async def work() -> None:
        assert await open_outlet(engine, tmp_path).close()

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 100, hard))
    try:
        run(work)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert engine.taken == list(range(600))


def test_with_one_writer_all_reach_it_whoever_spooled(tmp_path: Path) -> None:
    engine = Engine()

    def outlet_of(name: str) -> Outlet[int]:
        async def take_turn() -> bool:
            engine.writer = engine.writer or name
            return engine.writer == name

        async def end_turn() -> None:
            engine.writer = None if engine.writer == name else engine.writer

        return open_outlet(engine, tmp_path, take_turn=take_turn, end_turn=end_turn)

    async def work() -> None:
        outlets = [outlet_of(name) for name in "abc"]
        for outlet in outlets:
            await outlet.open()
        await asyncio.gather(*(outlets[number % 3].put(number, 10) for number in range(300)))
        await asyncio.gather(*(outlet.close() for outlet in outlets))
        assert engine.writer is None
        assert Spool(tmp_path, 1).is_empty()

    run(work)
    assert sorted(engine.taken) == list(range(300))


def test_a_caller_that_gave_up_harms_nobody(tmp_path: Path) -> None:
    engine = Engine()

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path)
        first = asyncio.ensure_future(outlet.put(1, 10))
        second = asyncio.ensure_future(outlet.put(2, 10))
        await asyncio.sleep(0)
        first.cancel()
        await second
        await outlet.close()

    run(work)
    assert engine.taken == [1, 2]


def test_an_error_of_the_whole_batch_is_every_callers() -> None:
    async def fail(items: list[int]) -> list[None]:
        raise ValueError(items)

    async def work() -> None:
        batcher: Batcher[int, None] = Batcher(fail, SOON)
        results = await asyncio.gather(batcher.put(1), batcher.put(2), return_exceptions=True)
        assert [str(result) for result in results] == ["[1, 2]", "[1, 2]"]

    run(work)


def test_no_more_batches_at_once_than_allowed() -> None:
    now = most = 0

    async def count(items: list[int]) -> list[int]:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return items

    async def work() -> None:
        batcher: Batcher[int, int] = Batcher(count, BatchLimits(count=2, bytes=1000, seconds=0.001, at_once=3))
        assert await asyncio.gather(*(batcher.put(number) for number in range(40))) == list(range(40))

    run(work)
    assert most == 3


def test_a_batch_waits_for_others_as_long_as_they_come() -> None:
    batches = []

    async def send(items: list[int]) -> list[int]:
        batches.append(items)
        return items

    async def work() -> None:
        batcher: Batcher[int, int] = Batcher(send, BatchLimits(count=100, bytes=1000, seconds=3600, gap_seconds=0.5))
        puts = []
        for number in range(10):
            puts.append(asyncio.ensure_future(batcher.put(number)))
            await asyncio.sleep(0.001)
        async with asyncio.timeout(60):
            await asyncio.gather(*puts)

    run(work)
    assert batches == [list(range(10))]


def test_a_batch_does_not_wait_for_ever_although_others_come() -> None:
    async def send(items: list[int]) -> list[int]:
        return items

    async def work() -> None:
        batcher: Batcher[int, int] = Batcher(send, BatchLimits(count=10**9, bytes=1, seconds=0.02, gap_seconds=3600))
        first = asyncio.ensure_future(batcher.put(0))
        others = []
        async with asyncio.timeout(60):
            while not first.done():
                others.append(asyncio.ensure_future(batcher.put(1)))
                await asyncio.sleep(0.001)
            await asyncio.gather(*others)

    run(work)


@pytest.mark.parametrize("times", range(3))
def test_flush_ends_what_waits(times: int) -> None:
    async def work() -> None:
        async def send(items: list[int]) -> list[int]:
            return items

        batcher: Batcher[int, int] = Batcher(send, BatchLimits(count=100, bytes=1000, seconds=3600))
        puts = [asyncio.ensure_future(batcher.put(number)) for number in range(times * 120)]
        await asyncio.sleep(0)
        await batcher.flush()
        assert [put.result() for put in puts] == list(range(times * 120))

    run(work)


def test_of_two_that_end_together_one_delivers_what_the_other_has(tmp_path: Path) -> None:
    """The second asks for the lock while the first has it, and hears no only after the first has looked around."""
    engine = Engine()
    owner: list[str] = ["first"]

    async def work() -> None:
        first_is_closed = asyncio.Event()

        async def first_turn() -> bool:
            return owner == ["first"]

        async def end_first() -> None:
            owner.clear()

        async def second_turn() -> bool:
            had = list(owner)
            if "first" in had:
                await first_is_closed.wait()
                return False
            return True

        async def end_second() -> None:
            pass

        first = open_outlet(engine, tmp_path, take_turn=first_turn, end_turn=end_first)
        second = open_outlet(engine, tmp_path, take_turn=second_turn, end_turn=end_second)
        await second.put(1, 10)
        closing = asyncio.create_task(second.close())
        await asyncio.sleep(0.1)  # it holds its segment, and waits to hear whether it may write
        assert await first.open() is None
        await first.close()
        first_is_closed.set()
        assert await closing

    run(work)
    assert engine.taken == [1]


def test_a_worker_that_stops_does_not_wait_for_room(tmp_path: Path) -> None:
    engine = Engine()
    engine.is_away = True

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path, most_bytes=15)
        await outlet.open()
        await outlet.put(1, 10)
        waiting = outlet.put(2, 10)
        await until(lambda: outlet._is_full)
        outlet.is_stopping = lambda: True
        with pytest.raises(SpoolFull):
            await waiting
        assert not await outlet.close()
        engine.is_away = False
        after = open_outlet(engine, tmp_path)
        await after.open()
        assert await after.close()

    run(work)
    assert engine.taken == [1]


def test_an_engine_that_cannot_even_say_whose_turn_it_is_is_asked_again(tmp_path: Path) -> None:
    engine = Engine()
    answers: list[Exception] = [EngineUnavailable("the disk is full"), OSError("what?")]

    async def take_turn() -> bool:
        if answers:
            raise answers.pop(0)
        return True

    async def work() -> None:
        outlet = open_outlet(engine, tmp_path, take_turn=take_turn)
        await outlet.open()
        await outlet.put(1, 10)
        await until(lambda: engine.taken == [1])
        assert await outlet.close()

    run(work)
