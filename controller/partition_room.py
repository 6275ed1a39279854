"""How many partitions there may be (``pybroker.partitions.max``; Kafka leaves that to a policy class of the user's)."""

from collections.abc import Callable

from ..protocol.errors import PolicyViolationError

__all__ = ["PartitionRoom"]


class PartitionRoom:
    """``count`` says how many the controller knows of; what it has not seen yet may come over the limit."""

    def __init__(self, max_partitions: int, count: Callable[[], int]) -> None:
        self._max_partitions = max_partitions
        self._count = count

    def check(self, added: int) -> None:
        """Raises PolicyViolationError when so many more would be too many."""
        present = self._count()
        if present + added > self._max_partitions:
            raise PolicyViolationError(
                f"There are {present} partitions; with {added} more there would be over {self._max_partitions}, which "
                "pybroker.partitions.max allows."
            )
