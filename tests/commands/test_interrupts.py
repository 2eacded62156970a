"""What does Ctrl-C show before a command has begun?"""

import signal
import subprocess
import sys

import pytest

from tests.commands.processes import ROOT


@pytest.mark.parametrize(("error", "status"), [("KeyboardInterrupt", -signal.SIGINT), ("ValueError", 1)])
def test_only_an_interrupt_ends_without_words(error, status):
    # A test run in the background of a shell ignores interrupts, and so would what it starts.
    hear = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{hear}; import crawler.commands; raise {error}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status
    assert (done.stderr == "") == (error == "KeyboardInterrupt"), done.stderr
