"""How far is it? A line on standard error now and then: what takes hours must not look as if it hung."""

import sys
import time

EVERY_SECONDS = 1.0
EVERY_SECONDS_IN_A_LOG = 30.0


class Progress:
    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._next = 0.0
        self._is_open = False  # a line that is written over by the next

    def tell(self, what: str, done: int, of: int = 0) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (EVERY_SECONDS if self._is_terminal else EVERY_SECONDS_IN_A_LOG)
        text = f"{what}: {done:,}{f' of {of:,}' if of else ''}"
        print(f"\r\x1b[K{text}" if self._is_terminal else text, end="" if self._is_terminal else "\n", file=sys.stderr)
        self._is_open = self._is_terminal

    def say(self, text: str) -> None:
        if self._is_open:
            print("\r\x1b[K", end="", file=sys.stderr)
            self._is_open = False
        print(text, file=sys.stderr, flush=True)
        self._next = 0.0

    def end(self) -> None:
        if self._is_open:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._is_open = False
