"""Commands as a user runs them: real processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.patience import SLOWEST

ROOT = Path(__file__).parents[2]


def scrapy(redis_url: str, *args: str, stdin: str | bytes = "", **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRAWLER_", "ORBWEAVER_"))}
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", *args],
        input=data,
        capture_output=True,
        cwd=ROOT,
        env={**kept, "CRAWLER_REDIS_URL": redis_url, **environ},
        timeout=60 * SLOWEST,
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def hear_interrupts() -> None:
    """In a child, before it runs: a test run in the background of a shell ignores them, and so would all it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
