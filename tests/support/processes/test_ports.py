"""Tests that ports of restarted brokers are not used by others."""

import subprocess
import sys

import pytest
from pybroker.broker.library.cluster import ports as lasting_ports
from support.processes.ports import free_port

CLAIMS = (
    f"import sys; sys.path[:0] = {sys.path!r}; from support.processes.ports import _claim; "
    "print(_claim(int(sys.argv[1])))"
)


def test_free_port_returns_each_port_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = free_port(), free_port()
    assert first != second
    offered = iter([first, second, 9_999])
    monkeypatch.setattr("support.processes.ports.free_ports", lambda _count: [next(offered)])
    assert free_port() == 9_999


def test_free_port_is_not_given_to_another_test_run() -> None:
    def claimed_by_another(port: int) -> bool:
        done = subprocess.run([sys.executable, "-c", CLAIMS, str(port)], check=True, capture_output=True, text=True)
        return done.stdout == "True\n"

    mine = free_port()
    assert not claimed_by_another(mine)
    (other,) = lasting_ports.free_ports(1)
    assert claimed_by_another(other) or other == mine
