"""The command ``pybroker``, as a console script and as ``python -m pybroker``."""

import os
import signal

__all__ = ["main"]

_INTERRUPTED = 130  # what shells say of a process that SIGINT ended


def main() -> int:
    """Run the command with the process's arguments; its exit code.

    Ctrl-C in the first moment, while the command is still being imported, ends the process as quietly as later on.
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
