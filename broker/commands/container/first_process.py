"""The first process of a container (PID 1): runs the broker as its child and forwards signals.

Why: orphaned processes become children of PID 1 and stay zombies until it waits for them. Signals without a handler do
nothing in PID 1. When PID 1 ends, every process of the container is killed.
How: it waits for all children and ends a moment after the broker, so that the session guard can end the broker's
session with ZooKeeper first.
Limits: it imports nothing of this package, to stay small; its arguments are the command to run.
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
_SIGNALLED = 128  # shells add this to the number of the signal that ended a process


def hold_signals() -> None:
    """Block signals until `run_as_first_process` handles them, also across `become_first_process`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)


def become_first_process(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by one that runs ``command``. Raises OSError."""
    os.execve(sys.executable, [sys.executable, "-I", "-S", __file__, *command], environment)


def run_as_first_process(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run ``command`` to its end; returns its exit code. Signals that came earlier are forwarded, too."""
    hold_signals()
    child = os.posix_spawn(command[0], list(command), environment, setsigmask=())
    exit_code = _wait_for(child)
    _wait_for_the_rest(time.monotonic() + _LEAVING_S)
    return exit_code


def _wait_for(child: int) -> int:
    while True:
        number = signal.sigwait(_HEARD)
        if number != signal.SIGCHLD:
            os.kill(child, number)  # the child exists: only the lines below wait for it
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
        except ChildProcessError:  # no child is left
            return
        left = deadline - time.monotonic()
        if left <= 0:
            return
        signal.sigtimedwait({signal.SIGCHLD}, left)


def _ended() -> tuple[int, int] | None:
    """A child that has ended, and its status; None when no child has ended."""
    process, status = os.waitpid(-1, os.WNOHANG)
    return (process, status) if process else None


if __name__ == "__main__":
    sys.exit(run_as_first_process(sys.argv[1:], os.environ))
