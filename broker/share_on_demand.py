"""The share coordination of a broker, made when it is first needed, because most brokers never have a share group."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..protocol.errors import ErrorCode
from .coordinator.share.ports import SharePartitionKey, ShareState, StateRead, StateSummary, StateWrite

if TYPE_CHECKING:
    from .coordinator.coordinator_partitions import CoordinatorPartitions
    from .share_coordination import ShareCoordination

__all__ = ["ShareOnDemand"]


class ShareOnDemand:
    """``make`` imports and makes it. ``states``: those of all brokers of the cluster; a call for one makes it."""

    def __init__(self, make: "Callable[[], ShareCoordination]") -> None:
        self._make = make
        self._made: ShareCoordination | None = None
        self._is_started = False
        self._is_over = False
        self.states = _StatesOnDemand(lambda: self.get().states)

    def get(self) -> "ShareCoordination":
        """Make it, unless it is there. After the end it answers nothing."""
        if self._made is None:
            self._made = self._make()
            if self._is_over:
                self._made.kill()
            elif self._is_started:
                self._made.coordinator.start()
        return self._made

    def partitions(self) -> "CoordinatorPartitions[Any]":
        """The partitions of ``__share_group_state`` that this broker coordinates."""
        return self.get().coordinator.partitions

    def partition_for(self, key: str) -> int:
        """The partition of ``__share_group_state`` for a key of FindCoordinator."""
        return self.get().coordinator.registry.partition_for_text(key)

    def start(self) -> None:
        """Start the periodic work, now or when there is some."""
        self._is_started = True
        if self._made is not None:
            self._made.coordinator.start()

    async def close(self) -> None:
        """Stop answering, without waiting for appends."""
        self._is_over = True
        if self._made is not None:
            await self._made.close()

    def kill(self) -> None:
        """Stop answering."""
        self._is_over = True
        if self._made is not None:
            self._made.kill()


class _StatesOnDemand:
    """Implements `ShareState`, whose docstrings are not repeated, by the states that ``get`` returns."""

    def __init__(self, get: Callable[[], ShareState]) -> None:
        self._get = get

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Callable[[ErrorCode], None]
    ) -> None:
        self._get().initialize(key, state_epoch, start_offset, done)

    def read(self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateRead | ErrorCode], None]) -> None:
        self._get().read(key, leader_epoch, done)

    def write(self, key: SharePartitionKey, write: StateWrite, done: Callable[[ErrorCode], None]) -> None:
        self._get().write(key, write, done)

    def delete(self, key: SharePartitionKey, done: Callable[[ErrorCode], None]) -> None:
        self._get().delete(key, done)

    def read_summary(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateSummary | ErrorCode], None]
    ) -> None:
        self._get().read_summary(key, leader_epoch, done)
