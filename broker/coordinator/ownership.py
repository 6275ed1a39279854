"""Which partitions of an internal topic this broker coordinates: owned, loading, or coordinated by another broker."""

from collections.abc import Callable

from ...protocol.errors import ErrorCode

__all__ = ["PartitionOwnership"]


class PartitionOwnership:
    """The state of each partition.

    A partition's coordinator epoch is its leader epoch. Calls with an older epoch are ignored, so that a late load or
    unload does not undo a newer one.
    """

    def __init__(self) -> None:
        self._owned: set[int] = set()
        self._loading: dict[int, list[Callable[[], None]]] = {}
        """Each partition being loaded, with the actions to do afterwards."""
        self._epochs: dict[int, int] = {}
        self.is_active = True
        """False when the broker is stopping."""

    def check(self, partition: int) -> ErrorCode:
        """NONE when this broker coordinates the partition, else the error for the client."""
        if not self.is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if partition in self._loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NONE if self.owns(partition) else ErrorCode.NOT_COORDINATOR

    def owns(self, partition: int) -> bool:
        """Whether this broker coordinates the partition, which is loaded."""
        return partition in self._owned

    def epoch_of(self, partition: int) -> int:
        """The coordinator epoch under which this broker coordinates or loads the partition."""
        return self._epochs[partition]

    def is_loading(self, partition: int, epoch: int) -> bool:
        """Whether the load that began under ``epoch`` is still valid."""
        return partition in self._loading and self._epochs.get(partition) == epoch

    @property
    def is_loading_any(self) -> bool:
        """Whether any partition is being loaded."""
        return bool(self._loading)

    def begin_loading(self, partition: int, epoch: int) -> bool:
        """Whether the caller must load the partition: False when it is owned or loading already, or ``epoch`` is old.

        An owned partition stays owned under a new epoch, because no other broker wrote to its log in between.
        """
        if self.is_loading(partition, epoch) or not self._accept_epoch(partition, epoch) or self.owns(partition):
            return False
        self._loading[partition] = []
        return True

    def do_after_loading(self, partition: int, action: Callable[[], None]) -> bool:
        """Whether the partition is being loaded. If so, ``action`` is done as soon as it is owned."""
        waiting = self._loading.get(partition)
        if waiting is None:
            return False
        waiting.append(action)
        return True

    def finish_loading(self, partition: int) -> None:
        """The partition is owned now."""
        self._owned.add(partition)
        for action in self._loading.pop(partition, ()):
            action()

    def give_up_loading(self, partition: int, epoch: int) -> None:
        """The partition could not be read: requests get NOT_COORDINATOR until this broker is elected again."""
        if self.is_loading(partition, epoch):
            del self._loading[partition]

    def release(self, partition: int, epoch: int | None) -> bool:
        """Give the partition up; False when ``epoch`` is old.

        ``epoch`` None: the topic was deleted. A new topic of that name counts its epochs from 0 again.
        """
        if epoch is None:
            self._epochs.pop(partition, None)
        elif not self._accept_epoch(partition, epoch):
            return False
        self._owned.discard(partition)
        self._loading.pop(partition, None)
        return True

    def _accept_epoch(self, partition: int, epoch: int) -> bool:
        if epoch < self._epochs.get(partition, epoch):
            return False
        self._epochs[partition] = epoch
        return True
