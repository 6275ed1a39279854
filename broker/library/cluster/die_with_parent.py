"""The command ``pybroker`` for as long as whoever started it lives: its standard input is the leash.

A program that is killed cannot stop its brokers any more, and they would run for ever. The ways to ZooKeeper went
through that program, so the guards of their sessions can do nothing any more, and end first.
"""

import os
import signal
import sys
import threading

from .children import Children

__all__ = ["main"]


def main() -> None:
    threading.Thread(target=_end_with_the_leash, name="leash", daemon=True).start()
    from ...commands.command_line import main as pybroker

    sys.exit(pybroker())


def _end_with_the_leash() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass  # nobody writes there
    Children([os.getpid()]).end(within_s=0)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
