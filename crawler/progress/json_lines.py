"""Progress for programs: one JSON object a line, the last one with ``"event": "finished"``."""

import json
from dataclasses import asdict
from typing import Any, TextIO

from crawler.progress.snapshot import Snapshot
from crawler.progress.summary import Summary


class JsonReporter:
    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err

    def begin(self) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        self._write({"event": "progress", **_rounded(snapshot)})

    def say(self, message: str) -> None:
        print(message, file=self._err, flush=True)

    def end(self) -> None:
        pass

    def finish(self, summary: Summary) -> None:
        self._write(
            {
                "event": "finished",
                "reason": summary.reason,
                "explanation": summary.explanation,
                **_rounded(summary.snapshot),
                "hosts": summary.hosts,
                "pages_file": summary.pages_file,
                "stored_in": summary.stored_in,
                "indexed_in": summary.indexed_in,
                "spooled": summary.spooled,
                "continue": summary.continue_command,
            }
        )

    def _write(self, record: dict[str, Any]) -> None:
        print(json.dumps(record, ensure_ascii=False), file=self._out, flush=True)


def _rounded(snapshot: Snapshot) -> dict[str, Any]:
    record = asdict(snapshot)
    record["mean_pages_per_second"] = snapshot.mean_pages_per_second
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in record.items()}
