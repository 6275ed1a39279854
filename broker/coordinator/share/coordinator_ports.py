"""The parts of the broker that the share coordinator uses."""

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from ....base.timers import Scheduler

__all__ = ["ShareCoordinatorPorts"]


class ShareCoordinatorPorts(NamedTuple):
    """``now_ms``: the wall clock, for stored timestamps.

    Attributes:
        has_partition: whether the topic of this id exists and has the partition.
        delete_records: delete the records of a partition of ``__share_group_state`` before an offset.
    """

    scheduler: Scheduler
    now_ms: Callable[[], int]
    has_partition: Callable[[UUID, int], bool]
    delete_records: Callable[[int, int], None]
