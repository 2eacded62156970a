"""A process that puts pages, killed at any moment."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def put_and_kill(format_: str, place: str, data_dir: Path, batches: int) -> int:
    """How many pages the process was promised to be safe, at least."""
    command = [sys.executable, "-m", "tests.storage.putting", format_, place, str(data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        for _ in range(batches):
            safe = process.stdout.readline()
        process.kill()
        rest = process.stdout.read().splitlines()
    whole = [int(line) for line in [safe, *rest] if line.strip()]
    assert whole
    return max(whole)
