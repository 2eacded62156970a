"""Does Scrapy still have the private names that ``engine_hooks`` uses? Fails loudly when a new version moves them."""

import inspect
from typing import Any

import pytest
from scrapy import Request
from scrapy.core import engine as scrapy_engine
from scrapy.core.engine import ExecutionEngine

from crawler.frontier import engine_hooks


class NextCall:
    def __init__(self) -> None:
        self.scheduled = 0

    def schedule(self, delay: float = 0) -> None:
        self.scheduled += 1


class Slot:
    def __init__(self) -> None:
        self.closing: object | None = None
        self.nextcall = NextCall()
        self.removed: list[Request] = []

    def remove_request(self, request: Request) -> None:
        self.removed.append(request)
        if request.url.endswith("/unknown"):
            raise KeyError(request)


class Engine:
    running = True

    def __init__(self, slot: Slot | None) -> None:
        self._slot = slot


@pytest.fixture
def slot() -> Slot:
    return Slot()


@pytest.fixture
def engine(slot: Slot) -> Any:
    return Engine(slot)


def test_scrapy_still_has_the_names() -> None:
    made = inspect.getsource(ExecutionEngine.__init__)
    assert "self._slot" in made, "ExecutionEngine._slot has moved: see engine_hooks.py"
    slot_source = inspect.getsource(scrapy_engine._Slot.__init__)
    for name in ("nextcall", "closing", "inprogress"):
        assert f"self.{name}" in slot_source, f"_Slot.{name} has moved: see engine_hooks.py"
    assert list(inspect.signature(scrapy_engine._Slot.remove_request).parameters) == ["self", "request"]


def test_the_engine_still_removes_requests_through_the_slot() -> None:
    """What replaces ``remove_request`` on the slot is called only while the engine looks it up there each time."""
    for method in (ExecutionEngine._remove_request, ExecutionEngine.download_async):
        assert "self._slot.remove_request(" in inspect.getsource(method), "see engine_hooks.watch_finished"
    opened = inspect.getsource(ExecutionEngine.open_spider_async)
    assert opened.index("self._slot = ") < opened.index(".open("), "the scheduler must be opened inside a slot"


def test_wake(engine: Any, slot: Slot) -> None:
    engine_hooks.wake(engine)
    assert slot.nextcall.scheduled == 1
    slot.closing = object()
    engine_hooks.wake(engine)
    assert slot.nextcall.scheduled == 1
    engine_hooks.wake(Engine(None))  # type: ignore[arg-type]


def test_finished_is_told_after_the_request_was_removed(engine: Any, slot: Slot) -> None:
    told: list[tuple[Request, int]] = []
    engine_hooks.watch_finished(engine, lambda request: told.append((request, len(slot.removed))))
    request = Request("http://a.example/")
    slot.remove_request(request)
    assert told == [(request, 1)]


def test_finished_is_told_even_if_scrapy_fails(engine: Any, slot: Slot) -> None:
    told: list[Request] = []
    engine_hooks.watch_finished(engine, told.append)
    with pytest.raises(KeyError):
        slot.remove_request(Request("http://a.example/unknown"))
    assert len(told) == 1


def test_is_stopping(engine: Any, slot: Slot) -> None:
    assert not engine_hooks.is_stopping(engine)
    slot.closing = object()
    assert engine_hooks.is_stopping(engine)
    slot.closing = None
    engine.running = False
    assert engine_hooks.is_stopping(engine)
    assert engine_hooks.is_stopping(Engine(None))  # type: ignore[arg-type]
