"""Ends the child processes of a cluster's brokers: their session guards, which live a moment longer.

Why: a guard that cannot reach ZooKeeper, because it or the proxy to it is gone, would keep trying for a minute.
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
    """The present children of the processes ``parents``; known on Linux only."""

    def __init__(self, parents: Iterable[int]) -> None:
        self._descriptors: list[int] = []
        for child in (child for parent in parents for child in _children_of(parent)):
            with suppress(OSError):  # it has ended, or this Linux is too old
                self._descriptors.append(os.pidfd_open(child))

    def end(self, within_s: float) -> None:
        """Wait ``within_s`` for the children to end, then kill the rest."""
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
