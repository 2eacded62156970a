"""The two things we need from Scrapy's engine that it does not offer, in one place.

Both names are private to Scrapy; ``tests/frontier/test_engine_hooks.py`` fails loudly when a new version moves them.
"""

from collections.abc import Callable

from scrapy import Request
from scrapy.core.engine import ExecutionEngine


def wake(engine: ExecutionEngine) -> None:
    """Makes the engine ask for requests now. By itself it looks again only every five seconds."""
    slot = engine._slot
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()


def watch_finished(engine: ExecutionEngine, on_finished: Callable[[Request], None]) -> None:
    """Calls back when a request is completely done: downloaded, its callback run, its items through the pipelines."""
    slot = engine._slot
    assert slot is not None  # noqa: S101  the scheduler is opened inside a slot
    remove_request = slot.remove_request

    def remove_and_tell(request: Request) -> None:
        try:
            remove_request(request)
        finally:
            on_finished(request)

    slot.remove_request = remove_and_tell  # type: ignore[method-assign]


def is_stopping(engine: ExecutionEngine) -> bool:
    slot = engine._slot
    return not engine.running or slot is None or slot.closing is not None
