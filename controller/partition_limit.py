"""How many partitions there may be, and how many a creation may bring.

``pybroker.partitions.max``, which Kafka leaves to a policy class of the user's, and
``pybroker.partitions.max.per.creation``, which Kafka has with KRaft only, as a constant.
"""

from collections.abc import Callable

from ..protocol.errors import InvalidPartitionsError, PolicyViolationError

__all__ = ["PartitionLimit"]


class PartitionLimit:
    """``count`` says how many the controller knows of; what it has not seen yet may come over the limit."""

    def __init__(self, max_partitions: int, max_at_once: int, count: Callable[[], int]) -> None:
        self._max_partitions = max_partitions
        self._max_at_once = max_at_once
        self._count = count

    def check_at_once(self, added: int) -> None:
        """Raises InvalidPartitionsError when one creation, or one growth, is to bring so many: a request of a few bytes
        could fill the memory before anything else is looked at."""
        if added > self._max_at_once:
            raise InvalidPartitionsError(
                f"At most {self._max_at_once} partitions can be created at once (pybroker.partitions.max.per.creation)."
            )

    def check(self, added: int) -> None:
        """Raises PolicyViolationError when so many more would be too many."""
        present = self._count()
        if present + added > self._max_partitions:
            raise PolicyViolationError(
                f"There are {present} partitions; with {added} more there would be over {self._max_partitions}, which "
                "pybroker.partitions.max allows."
            )
