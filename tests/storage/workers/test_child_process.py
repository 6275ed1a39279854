"""A child process gets tasks and sends back progress, results and errors; it never outlives its parent."""

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker.protocol.errors import UnknownTopicOrPartitionError
from pybroker.storage.errors import InvalidRecordsError, RecordError
from pybroker.storage.workers import child_process
from pybroker.storage.workers.child_process import ChildEndedError, ChildProcess

PROGRAM = "support.processes.child_program"


@pytest.fixture
def child() -> Iterator[ChildProcess]:
    one = ChildProcess(PROGRAM)
    yield one
    one.end()


def test_child_runs_one_task_after_the_other(child: ChildProcess) -> None:
    assert child.run(("echo", 1)) == 1
    assert child.run(("echo", None)) is None
    big = os.urandom(1 << 20) * 16
    assert child.run(("echo", big)) == big


def test_progress_arrives_in_order_before_the_result(child: ChildProcess) -> None:
    seen: list[int] = []
    assert child.run(("count", 1000), seen.append) == "counted"
    assert seen == list(range(1000))


def test_output_of_a_task_does_not_mix_with_its_messages(child: ChildProcess) -> None:
    assert child.run(("print",)) == "printed"
    assert child.run(("echo", 1)) == 1


def test_errors_of_a_task_arrive_with_their_class_and_fields(child: ChildProcess) -> None:
    with pytest.raises(InvalidRecordsError, match="no") as refused:
        child.run(("refuse",))
    expected = InvalidRecordsError("no", [RecordError(3, "key")])
    assert (type(refused.value), refused.value.__dict__) == (type(expected), expected.__dict__)
    with pytest.raises(UnknownTopicOrPartitionError):
        child.run(("miss",))
    with pytest.raises(FileNotFoundError, match="/no/such/file") as missing:
        child.run(("open", "/no/such/file"))
    assert (missing.value.errno, missing.value.filename) == (errno.ENOENT, "/no/such/file")
    assert child.run(("echo", 1)) == 1


def test_other_errors_end_the_child_with_a_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    child = ChildProcess(PROGRAM)
    with pytest.raises(ChildEndedError, match="ended with code 1"):
        child.run(("fail",))
    assert "ZeroDivisionError: a bug" in capfd.readouterr().err
    with pytest.raises(ChildEndedError):
        child.run(("echo", 1))
    child.end()


def test_child_that_is_killed_in_the_middle_of_a_task_has_ended(child: ChildProcess) -> None:
    with pytest.raises(ChildEndedError, match="ended with code -9"):
        child.run(("sleep",), lambda value: child.kill())


def test_child_has_the_priority_it_asks_for(child: ChildProcess) -> None:
    assert child.run(("priority",)) == min(os.getpriority(os.PRIO_PROCESS, 0) + 3, 19)


@pytest.mark.parametrize("task", ["sleep", "report for ever"])
def test_child_exits_in_the_middle_of_a_task_when_its_stdin_closes(child: ChildProcess, task: str) -> None:
    stdin = child._process.stdin
    assert stdin is not None
    with pytest.raises(ChildEndedError, match="ended with code 0"):
        child.run((task,), lambda value: stdin.close())
    assert child.wait() == 0


def test_child_without_a_task_exits_after_its_idle_time(monkeypatch: pytest.MonkeyPatch) -> None:
    start = child_process._START.replace("import main; main()", "import main_with_little_patience as main; main()")
    monkeypatch.setattr(child_process, "_START", start)
    child = ChildProcess(PROGRAM)
    assert child.wait() == 0
    with pytest.raises(ChildEndedError):
        child.run("task")
    child.end()


def test_ended_child_takes_no_more_tasks(child: ChildProcess) -> None:
    child.end()
    with pytest.raises(ChildEndedError):
        child.run(("echo", 1))


@pytest.mark.parametrize("output", ["no pickle", "", "import sys; sys.stdout.buffer.write(bytes(100))"])
def test_output_that_is_no_message_is_an_error(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = output if output.startswith("import") else f"print({output!r})"
    monkeypatch.setattr(child_process, "command_of", lambda module: [sys.executable, "-c", program])
    child = ChildProcess("any")
    with pytest.raises(ChildEndedError):
        child.run(("echo", 1))
    child.end()


def test_program_that_cannot_be_started_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "command_of", lambda module: [str(tmp_path / "nothing")])
    with pytest.raises(ChildEndedError, match="could not be started"):
        ChildProcess("any")
