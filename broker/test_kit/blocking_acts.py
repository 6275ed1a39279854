"""Acts for code without an event loop."""

from collections.abc import Callable, Coroutine
from typing import Any

from .acts import Acts

__all__ = ["BlockingActs"]


class BlockingActs:
    """The methods of `Acts`; each blocks until it is done. ``call`` runs a coroutine on the broker's loop."""

    def __init__(self, acts: Acts, call: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._acts = acts
        self._call = call
        self.disk = acts.disk
        """Makes the broker's disks full, slow or broken."""

    def apply_retention(self) -> None:
        """As `Acts.apply_retention`."""
        self._call(self._acts.apply_retention())

    def compact(self, topic: str | None = None) -> None:
        """As `Acts.compact`."""
        self._call(self._acts.compact(topic))

    def expire_session(self) -> None:
        """As `Acts.expire_session`."""
        self._call(self._acts.expire_session())

    def expire_offsets(self) -> None:
        """As `Acts.expire_offsets`."""
        self._call(self._acts.expire_offsets())

    def fence(self, transactional_id: str) -> dict[str, int]:
        """As `Acts.fence`."""
        producer: dict[str, int] = self._call(self._acts.fence(transactional_id))
        return producer

    def leave_open(self, transactional_id: str, topic: str, partition: int = 0) -> dict[str, int]:
        """As `Acts.leave_open`."""
        producer: dict[str, int] = self._call(self._acts.leave_open(transactional_id, topic, partition))
        return producer

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """As `Acts.move_leader`."""
        self._call(self._acts.move_leader(topic, partition, to))

    def move_coordinator(self, group: str, to: int | None = None) -> int:
        """As `Acts.move_coordinator`."""
        broker_id: int = self._call(self._acts.move_coordinator(group, to))
        return broker_id
