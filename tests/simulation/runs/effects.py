"""Counts the effects of faults on each machine; a fault without an effect proves nothing.

Counted by machine: a leadership or a place in an ISR that is lost, a leader epoch of what it leads, a session that
expires, a request that is not answered or is answered with an error (at the client and at the server), bytes that are
lost, a broker or a log directory that gives up.
"""

from collections import Counter
from collections.abc import Iterable

__all__ = ["Effects"]


class Effects:
    """Counts effects by machine; `kinds` counts them by kind for all machines."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self._of_host: Counter[str] = Counter()

    def add(self, kind: str, *hosts: str) -> None:
        self.kinds[kind] += 1
        for host in hosts:
            self._of_host[host] += 1

    def snapshot(self) -> Counter[str]:
        return self._of_host.copy()

    def have_changed(self, before: Counter[str], hosts: Iterable[str]) -> bool:
        return any(self._of_host[host] != before[host] for host in hosts)
