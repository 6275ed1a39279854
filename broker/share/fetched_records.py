"""The parameters of a member's fetch, the parts of the broker that it uses, and its results."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...base.timers import Scheduler
from ...protocol.errors import ErrorCode
from ...replication.leader.fetch_reads import FetchReads
from ...replication.partition.fetch import PartitionFetch
from ...replication.partition.isolation import Isolation
from ...storage.files.files import FileRegion
from .acquisition import Acquired
from .active_share_partition import ActiveSharePartition
from .partition_memory import ShareMemory
from .ports import Place

__all__ = ["FetchedRecords", "ShareFetchParams", "ShareFetchParts", "partition_fetch"]


class ShareFetchParams(NamedTuple):
    """The parameters of a fetch. ``batch_size``, ``is_record_limit``: see `Acquisition`."""

    member_id: str
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    isolation: Isolation
    is_record_limit: bool


class FetchedRecords(NamedTuple):
    """The result for one partition: records and which of them it holds now, or an error."""

    active: ActiveSharePartition
    error: ErrorCode
    records: FileRegion | None = None
    acquired: Sequence[Acquired] = ()


class ShareFetchParts(NamedTuple):
    """``log_start_offset`` of the log of a share partition. ``memory``: see `PartitionMemory`."""

    reads: FetchReads
    timers: Scheduler
    memory: ShareMemory
    log_start_offset: Callable[[ActiveSharePartition], int]


def partition_fetch(place: Place, offset: int, max_bytes: int) -> PartitionFetch:
    """The read of a partition in the leader epoch of its share partition."""
    topic_id, partition = place.key.topic_id, place.key.partition
    return PartitionFetch(
        (topic_id.int, partition),
        place.topic_partition,
        offset,
        max_bytes,
        topic_id=topic_id,
        current_leader_epoch=place.leader_epoch,
    )
