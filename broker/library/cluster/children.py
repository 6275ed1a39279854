"""What the brokers of a cluster have started: the guards of their sessions, which outlive them for a moment.

A guard that does not reach its ZooKeeper any more, for that has gone, too, or the wire to it, would look for it for a
minute.
"""

import os
import select
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = ["Children"]


class Children:
    """The children that the processes ``parents`` have now, as far as the system tells of them (Linux)."""

    def __init__(self, parents: Iterable[int]) -> None:
        self._descriptors: list[int] = []
        for child in (child for parent in parents for child in _children_of(parent)):
            with suppress(OSError):  # it has just ended, or this Linux is too old
                self._descriptors.append(os.pidfd_open(child))

    def end(self, within_s: float) -> None:
        """Returns when they have ended: by themselves within that time, or else killed."""
        left = set(self._descriptors)
        ends = select.poll()
        for descriptor in left:
            ends.register(descriptor, select.POLLIN)
        deadline = time.monotonic() + within_s
        while left and (wait_s := deadline - time.monotonic()) > 0:
            for descriptor, _ in ends.poll(wait_s * 1000):
                ends.unregister(descriptor)
                left.discard(descriptor)
        for descriptor in left:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()


def _children_of(parent: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{parent}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []
