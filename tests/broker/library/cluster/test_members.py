"""A broker process of a cluster starts, pauses, stops, and ends with the program that started it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from pybroker.broker.library.cluster.members import BrokerMember, ZooKeeperMember
from pybroker.broker.library.cluster.ports import free_ports, give_back
from pybroker.broker.start_error import StartError
from support.processes.process_state import has_ended
from support.time.patience import await_that


@pytest.fixture
def member(tmp_path: Path) -> Iterator[BrokerMember]:
    settings = {"listeners": f"PLAINTEXT://127.0.0.1:{free_ports(1)[0]}", "log.dirs": str(tmp_path / "data")}
    member = BrokerMember(1, tmp_path / "broker-1", settings)
    yield member
    member.kill()


def test_a_broker_is_started_stopped_and_started_again(member: BrokerMember) -> None:
    for _ in range(2):
        member.begin()
        member.wait_until_ready()
        assert member.is_running
        member.stop()
        assert not member.is_running
    assert member.log_file.read_text().count("stopped") == 2


def test_a_paused_broker_is_stopped_and_killed_all_the_same(member: BrokerMember) -> None:
    member.begin()
    member.wait_until_ready()
    assert member.pid is not None
    process = psutil.Process(member.pid)
    member.pause()
    await_that(lambda: process.status() == psutil.STATUS_STOPPED, "it is stopped")
    member.resume()
    await_that(lambda: process.status() != psutil.STATUS_STOPPED, "it goes on")
    member.pause()
    member.stop()
    assert "stopped" in member.log_file.read_text()
    member.begin()
    member.wait_until_ready()
    member.pause()
    member.kill()
    assert not member.is_running
    for ended in (member.kill, member.stop, member.resume):
        ended()
    with pytest.raises(RuntimeError, match="broker 1 is not running"):
        member.pause()


def test_output_of_a_broker_that_does_not_start_is_in_the_error(member: BrokerMember) -> None:
    member.settings["num.io.threads"] = "many"
    member.begin()
    with pytest.raises(StartError, match="broker 1 ended before it was ready") as told:
        member.wait_until_ready()
    assert "num.io.threads=many" in str(told.value)
    member.settings["num.io.threads"] = "2"
    member.begin()
    member.wait_until_ready()
    with pytest.raises(RuntimeError, match="already running"):
        member.begin()


def test_setting_value_reaches_the_broker_unchanged(member: BrokerMember) -> None:
    member.settings["log.dirs"] = str(member.directory / "back\\slash")
    member.begin()
    member.wait_until_ready()
    assert (member.directory / "back\\slash" / "meta.properties").exists()


def test_a_broker_ends_with_the_program_that_started_it(tmp_path: Path) -> None:
    program = "\n".join(
        [
            "import os, signal, sys",
            "from pathlib import Path",
            "from pybroker.broker.library.cluster.members import BrokerMember",
            "settings = {'listeners': 'PLAINTEXT://127.0.0.1:0', 'log.dirs': sys.argv[1] + '/data'}",
            "member = BrokerMember(1, Path(sys.argv[1]), settings)",
            "member.begin()",
            "member.wait_until_ready()",
            "print(member.pid, flush=True)",
            "os.kill(os.getpid(), signal.SIGKILL)",
        ]
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    pid = int(done.stdout)
    await_that(partial(has_ended, pid), "the broker has ended")


def test_free_ports_are_distinct() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert not set(ports) & set(free_ports(50))


class _Scripted:
    """Stands for the random numbers of `free_ports`."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = list(numbers)

    def randrange(self, first: int, end: int) -> int:
        return self._numbers.pop(0)


def test_port_is_chosen_by_one_process_at_a_time_until_it_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import sys; from pybroker.broker.library.cluster.ports import free_ports, give_back; ports = free_ports(1)\n"
        "print(*ports, flush=True); sys.stdin.readline(); give_back(ports); print(flush=True); sys.stdin.readline()"
    )
    (mine,) = free_ports(1)
    give_back([mine])
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        theirs = int(other.stdout.readline())
        monkeypatch.setattr("pybroker.broker.library.cluster.ports.SystemRandom", lambda: _Scripted(theirs, mine))
        assert free_ports(1) == [mine]
        other.stdin.write(b"\n")
        other.stdin.flush()
        other.stdout.readline()
        monkeypatch.setattr("pybroker.broker.library.cluster.ports.SystemRandom", lambda: _Scripted(theirs))
        assert free_ports(1) == [theirs]
        other.stdin.close()
    give_back([mine, theirs])


def test_port_of_a_zookeeper_in_java_is_given_back_when_it_ends_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = ZooKeeperMember(tmp_path, "java", tmp_path, kept=False)
    member.kill()
    (other,) = free_ports(1)
    give_back([other])
    monkeypatch.setattr("pybroker.broker.library.cluster.ports.SystemRandom", lambda: _Scripted(member.port, other))
    assert free_ports(1) == [other], "it may start again, so that it keeps its port"
    member.close()
    monkeypatch.setattr("pybroker.broker.library.cluster.ports.SystemRandom", lambda: _Scripted(member.port))
    assert free_ports(1) == [member.port]
    give_back([member.port, other])
