"""The command ``pybroker``: the console script, and ``python -m pybroker``."""

import os
import signal

__all__ = ["main"]

_INTERRUPTED = 130  # the exit code that shells give to a process ended by SIGINT


def main() -> int:
    """Run the command with the process's arguments; returns the exit code.

    Ctrl-C during the imports ends the process quietly, as it does later.
    """
    before = signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(_INTERRUPTED))
    from pybroker.broker.commands.command_line import main as run_command

    try:
        signal.signal(signal.SIGINT, before)
        return run_command()
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(main())
