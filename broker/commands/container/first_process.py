"""The first process of a container (PID 1), where the kernel asks for more than a broker does.

Whatever loses its parent becomes its child and stays a zombie until it is waited for; signals do nothing that nobody
handles; and when it ends, everything else in the container is killed. So it runs the broker as a child, passes signals
on, waits for everybody, and ends a moment after the broker: the guard of its session with ZooKeeper, say, first ends
that session.

A program of its own, which imports nothing of this package and so stays small: its arguments are the command to run.
"""

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NoReturn

__all__ = ["become_first_process", "hold_signals", "run_as_first_process"]

_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_HEARD = frozenset({*_PASSED_ON, signal.SIGCHLD})
_LEAVING_S = 5.0
_SIGNALLED = 128  # how shells tell of a process that a signal ended


def hold_signals() -> None:
    """From here on they wait for `run_as_first_process`, also across `become_first_process`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)


def become_first_process(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """This process goes on as the program that runs ``command``. OSError."""
    os.execve(sys.executable, [sys.executable, "-I", "-S", __file__, *command], environment)


def run_as_first_process(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run ``command`` to its end; the exit code that it left with. Signals that come before it runs reach it, too."""
    hold_signals()
    child = os.posix_spawn(command[0], list(command), environment, setsigmask=())
    exit_code = _wait_for(child)
    _wait_for_the_rest(time.monotonic() + _LEAVING_S)
    return exit_code


def _wait_for(child: int) -> int:
    while True:
        number = signal.sigwait(_HEARD)
        if number != signal.SIGCHLD:
            os.kill(child, number)  # it is there: nobody but the lines below has waited for it
            continue
        while (ended := _ended()) is not None:
            process, status = ended
            if process == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else _SIGNALLED - code


def _wait_for_the_rest(deadline: float) -> None:
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:  # nobody is left
            return
        left = deadline - time.monotonic()
        if left <= 0:
            return
        signal.sigtimedwait({signal.SIGCHLD}, left)


def _ended() -> tuple[int, int] | None:
    """One that has ended, and its status; None: those that are left go on."""
    process, status = os.waitpid(-1, os.WNOHANG)
    return (process, status) if process else None


if __name__ == "__main__":
    sys.exit(run_as_first_process(sys.argv[1:], os.environ))
