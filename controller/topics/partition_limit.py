"""The limits on the number of partitions: in the whole cluster, and in one creation.

``pybroker.partitions.max`` bounds the cluster; Kafka leaves that to a policy class of the user's.
``pybroker.partitions.max.per.creation`` bounds one request; Kafka has it as a constant, with KRaft only.
"""

from collections.abc import Callable

from ...config.config import Config
from ...protocol.errors import InvalidPartitionsError, PolicyViolationError

__all__ = ["PartitionLimit"]


class PartitionLimit:
    """``count`` returns how many partitions the controller knows; unseen ones may exceed the limit."""

    def __init__(self, max_partitions: int, max_at_once: int, count: Callable[[], int]) -> None:
        self._max_partitions = max_partitions
        self._max_at_once = max_at_once
        self._count = count

    @classmethod
    def from_config(cls, config: Config, count: Callable[[], int]) -> "PartitionLimit":
        return cls(config.int("pybroker.partitions.max"), config.int("pybroker.partitions.max.per.creation"), count)

    def check_at_once(self, added: int) -> None:
        """Raises InvalidPartitionsError when one request adds too many partitions.

        Without this check a request of a few bytes could fill the memory before any other check.
        """
        if added > self._max_at_once:
            raise InvalidPartitionsError(
                f"At most {self._max_at_once} partitions can be created at once (pybroker.partitions.max.per.creation)."
            )

    def check(self, added: int) -> None:
        """Raises PolicyViolationError when the cluster would have too many partitions with ``added`` more."""
        present = self._count()
        if present + added > self._max_partitions:
            raise PolicyViolationError(
                f"The cluster has {present} partitions; {added} more would exceed the limit of {self._max_partitions} "
                "(pybroker.partitions.max)."
            )
