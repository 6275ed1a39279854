"""PID 1 of a container handles signals, orphans and exit codes; in its own process namespace where possible."""

import signal
import subprocess
import sys

import pytest
from pybroker.broker.commands.container import first_process
from support.processes.process_namespace import in_process_namespace

FIRST = [sys.executable, "-I", "-S", first_process.__file__, sys.executable, "-c"]


def begin(prefix: list[str], program: str) -> "subprocess.Popen[str]":
    command = [*prefix, *FIRST, program]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("", 0),
        ("import sys; sys.exit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL),
        # Signals are not blocked in the child, or this one would go on
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM); print('still there')", 128 + signal.SIGTERM),
    ],
)
def test_first_process_exits_with_the_exit_code_of_the_broker(program: str, code: int) -> None:
    process = begin([], program)
    output, errors = process.communicate()
    assert (process.returncode, output, errors) == (code, "", "")


SAYS_ITS_SIGNALS = """
import signal, sys
heard = {getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")}
signal.pthread_sigmask(signal.SIG_BLOCK, heard)
print("ready", flush=True)
while True:
    number = signal.sigwait(heard)
    print(number.name, flush=True)
    if number == signal.SIGTERM:
        sys.exit(5)
"""


def test_signals_reach_the_broker() -> None:
    process = begin([], SAYS_ITS_SIGNALS)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGTERM"):
        process.send_signal(signal.Signals[name])
        assert process.stdout.readline() == f"{name}\n"
    process.communicate()
    assert process.returncode == 5


LEAVES_AN_ORPHAN = """
import os, subprocess, sys
is_up, says_it_is_up = os.pipe()
end, held = os.pipe()
takes_a_while = f"import os, time; os.write({says_it_is_up}, b'.'); os.read({end}, 1); time.sleep(0.3)"
orphan = takes_a_while + "; print('said by an orphan', flush=True)"
fds = (says_it_is_up, end)
parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {orphan!r}], pass_fds={fds})"
subprocess.run([sys.executable, "-c", parent], check=True, pass_fds=fds)
os.read(is_up, 1)
print("its parent is gone", flush=True)  # and now this process, with which the pipe ends that it reads from
"""


def test_orphans_get_time_to_end_after_the_broker_has_ended() -> None:
    process = begin(in_process_namespace(), LEAVES_AN_ORPHAN)
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert output.splitlines() == ["its parent is gone", "said by an orphan"]


MAKES_ZOMBIES = """
import os, subprocess, sys, time
parent = 'import subprocess, sys; print(subprocess.Popen([sys.executable, "-c", ""]).pid)'
made = [int(subprocess.run([sys.executable, "-c", parent], check=True, capture_output=True).stdout) for _ in range(5)]
def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
looks = 0
while any(map(is_there, made)):
    looks += 1
    assert looks < 12000, "zombies are left"
    time.sleep(0.01)
print("waited for", len(made), flush=True)
"""


def test_ended_orphans_are_reaped() -> None:
    process = begin(in_process_namespace(), MAKES_ZOMBIES)
    assert process.communicate() == ("waited for 5\n", "")
    assert process.returncode == 0
