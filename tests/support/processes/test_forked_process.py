"""Tests that a forked `pybroker` process behaves like one that is started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.processes.broker_process import PYBROKER, BrokerProcess
from support.processes.forked_process import ForkedProcess, forked_cpu_seconds


@pytest.mark.parametrize("words", [("--version",), ("topics", "--nonsense")], ids=["succeeds", "fails"])
def test_forked_process_ends_like_a_started_one(tmp_path: Path, words: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "pybroker", *words]
    started = subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    forked = ForkedProcess(words, tmp_path, os.environ)
    assert (forked.stdout.read(), forked.wait()) == (started.stdout, started.returncode)
    assert forked.poll() == started.returncode
    forked.stdout.close()


def test_forked_broker_holds_only_its_own_files(tmp_path: Path) -> None:
    with open(tmp_path / "open", "w"), BrokerProcess(tmp_path / "first") as first:
        with BrokerProcess(tmp_path / "second", command=PYBROKER) as started:
            of_a_started_one = len(os.listdir(f"/proc/{started.pid}/fd"))
        with BrokerProcess(tmp_path / "third") as forked:
            assert len(os.listdir(f"/proc/{forked.pid}/fd")) == of_a_started_one
            assert Path(f"/proc/{forked.pid}/cwd").resolve() == forked.directory
        assert first.stop() == 0


def test_killed_process_is_seen_to_end_by_its_signal(tmp_path: Path) -> None:
    before = forked_cpu_seconds()
    broker = BrokerProcess(tmp_path).start()
    assert broker.kill() == -signal.SIGKILL
    assert forked_cpu_seconds() > before
