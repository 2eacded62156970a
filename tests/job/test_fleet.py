"""Are workers started, watched, started again and stopped as promised?"""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from crawler.job import fleet as fleet_module
from crawler.job.fleet import Fleet
from tests.servers import wait_until


@pytest.fixture
def said():
    return []


@pytest.fixture
def make_fleet(tmp_path, said, monkeypatch):
    monkeypatch.setattr(fleet_module, "RESTART_DELAY_SECONDS", 0.05)

    def make(script, number=1):
        return Fleet(number, ["-s", "A=b"], tmp_path, said.append, [sys.executable, "-c", textwrap.dedent(script)])

    return make


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"


def test_workers_get_their_arguments_and_a_log_each(make_fleet, tmp_path, said):
    fleet = make_fleet("import sys; print(sys.argv[1:])", number=2)
    assert asyncio.run(fleet.run()) == 0
    for number in (1, 2):
        log = tmp_path / f"worker-{number}.log"
        assert log.read_text().strip() == str(["-s", "A=b", "-s", f"LOG_FILE={log}"])
    assert said == []


def test_a_worker_that_dies_is_reported_and_started_again(make_fleet, tmp_path, said):
    fleet = make_fleet(f"""
        import os, pathlib, signal
        with open({str(tmp_path / "tries")!r}, "a+") as tries:
            tries.write("x")
            tries.seek(0)
            number = len(tries.read())
        print("line of try", number, flush=True)
        if number < 3:
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert asyncio.run(fleet.run()) == 0
    assert len(said) == 2
    assert "Worker 1 ended unexpectedly (SIGKILL): starting it again" in said[0]
    assert "line of try 1" in said[0]
    assert "line of try 1" not in said[1]


def test_a_worker_that_keeps_dying_is_given_up(make_fleet, said):
    assert asyncio.run(make_fleet("raise SystemExit('no Redis here')").run()) == 1
    assert len(said) == 1 + fleet_module.RESTARTS
    assert "exit status 1" in said[0]
    assert "no Redis here" in said[0]
    assert all("no Redis here" not in message and "the same as before" in message for message in said[1:])
    assert "giving up" in said[-1]


DRAINS = """
    import signal, sys, time
    told = 0
    def on_term(*_):
        global told
        told += 1
        print("told", told, flush=True)
    signal.signal(signal.SIGTERM, on_term)
    print("ready", flush=True)
    while not told:
        time.sleep(0.02)
    time.sleep(0.5)
    print("drained", told, flush=True)
"""


async def until_running(fleet, log):
    """The worker may be ready before its start has come back to us."""
    for _ in range(500):
        if fleet.running == 1 and log.exists() and "ready" in log.read_text():
            return
        await asyncio.sleep(0.02)
    raise TimeoutError("the worker is not ready")


def test_stopping_tells_each_worker_once_and_waits(make_fleet, tmp_path, said):
    async def scenario():
        fleet = make_fleet(DRAINS)
        work = asyncio.create_task(fleet.run())
        await until_running(fleet, tmp_path / "worker-1.log")
        fleet.stop()
        fleet.stop()
        assert await work == 0
        assert fleet.running == 0

    asyncio.run(scenario())
    assert (tmp_path / "worker-1.log").read_text().split("\n")[-2] == "drained 1"
    assert said == []


def test_killing_does_not_wait(make_fleet, tmp_path):
    async def scenario():
        fleet = make_fleet("import time\nprint('ready', flush=True)\ntime.sleep(600)")
        work = asyncio.create_task(fleet.run())
        await until_running(fleet, tmp_path / "worker-1.log")
        fleet.kill()
        await asyncio.wait_for(work, 10)

    asyncio.run(scenario())


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = f"""
        import asyncio, pathlib, sys, threading, time
        for _ in range(3):
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        from crawler.job.fleet import Fleet
        worker = "from crawler.job.fleet import end_with_parent; end_with_parent()" + {textwrap.dedent(DRAINS)!r}
        fleet = Fleet(1, [], pathlib.Path({str(tmp_path)!r}), print, [sys.executable, "-c", worker])
        async def main():
            work = asyncio.create_task(fleet.run())
            while not fleet._running:
                await asyncio.sleep(0.01)
            print(fleet._running[1].pid, flush=True)
            await work
        asyncio.run(main())
    """
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    wait_until(lambda: "ready" in (tmp_path / "worker-1.log").read_text(), "the worker to be ready")
    assert is_running(pid)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not is_running(pid), "the worker to end")
    assert "drained 1" in (tmp_path / "worker-1.log").read_text()
