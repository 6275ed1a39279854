"""What consumers that have everything are told of a partition: the most frequent result of all.

A consumer's session names all its partitions, each fetch of it reads them, and most have nothing new. So this result is
made once, when log or high watermark have changed, and is then the same object for everyone; whoever was told it
before knows by its identity that it is no news.
"""

from ..protocol.errors import ErrorCode
from ..storage.log_view import LogView
from .fetch import FetchParams, FetchResult, PartitionFetch
from .hosted_partition import HostedPartition
from .isolation import Isolation
from .partition import Partition

__all__ = ["EndOfPartition", "is_plain", "result_at_end"]


class EndOfPartition:
    """The results at one moment of a partition: true as long as it has this ``view`` and this ``high_watermark``."""

    __slots__ = ("committed", "high_watermark", "uncommitted", "view")

    def __init__(self, hosted: HostedPartition, view: LogView, high_watermark: int) -> None:
        last_stable_offset = hosted.log.last_stable_offset(high_watermark)
        offsets = (high_watermark, last_stable_offset, view.log_start_offset)
        self.view = view
        self.high_watermark = high_watermark
        self.uncommitted = FetchResult(ErrorCode.NONE, *offsets)
        self.committed: FetchResult | None = None
        """For read_committed; None when such a consumer does not get as far."""
        if last_stable_offset == high_watermark:
            self.committed = FetchResult(ErrorCode.NONE, *offsets, aborted_transactions=[])


def result_at_end(hosted: HostedPartition, fetch: PartitionFetch, params: FetchParams) -> FetchResult | None:
    """The result for a consumer that has everything there is for it; None when `read_partition` has to find out.

    It is shared: not to be changed.
    """
    partition = hosted.partition
    high_watermark = partition.high_watermark
    if fetch.fetch_offset != high_watermark or not is_plain(partition, fetch):
        return None
    view = hosted.log.view
    end = hosted.end
    if end is None or end.view is not view or end.high_watermark != high_watermark:
        end = hosted.end = EndOfPartition(hosted, view, high_watermark)
    return end.uncommitted if params.isolation is Isolation.HIGH_WATERMARK else end.committed


def is_plain(partition: Partition, fetch: PartitionFetch) -> bool:
    """Whether any consumer may read the partition, and this one believes of it what is so."""
    leader_epoch, topic_id = fetch.current_leader_epoch, fetch.topic_id
    return (
        partition.leader is not None
        and (leader_epoch < 0 or leader_epoch == partition.leader_epoch)
        and (topic_id is None or topic_id is partition.topic_id)  # reading makes equal ones the same
        and fetch.last_fetched_epoch < 0
    )
