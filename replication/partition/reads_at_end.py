"""Fetches that find nothing new in a partition: recognised without a look at the log."""

from .end_of_partition import EndOfPartition
from .fetch import FetchParams, FetchResult, PartitionFetch
from .hosted_partition import HostedPartition
from .isolation import Isolation

__all__ = ["end_for_follower", "is_plain", "result_at_end"]


def result_at_end(hosted: HostedPartition, fetch: PartitionFetch, params: FetchParams) -> FetchResult | None:
    """The result for a consumer that has read everything it may read; None when `read_partition` has to find out.

    The result belongs to all fetches: do not change it.
    """
    if params.isolation is Isolation.LOG_END:  # a debugging consumer, replica id -2
        return end_for_follower(hosted, fetch)
    high_watermark = hosted.partition.high_watermark
    if fetch.fetch_offset != high_watermark or not is_plain(hosted, fetch):
        return None
    end = _end_of(hosted, high_watermark)
    return end.uncommitted if params.isolation is Isolation.HIGH_WATERMARK else end.committed


def end_for_follower(hosted: HostedPartition, fetch: PartitionFetch) -> FetchResult | None:
    """The result for a follower whose log is our whole log; None when `read_partition` has to find out.

    The result belongs to all fetches: do not change it.
    """
    if fetch.fetch_offset != hosted.log.view.log_end_offset or not is_plain(hosted, fetch):
        return None
    return _end_of(hosted, hosted.partition.high_watermark).uncommitted


def _end_of(hosted: HostedPartition, high_watermark: int) -> EndOfPartition:
    view = hosted.log.view
    end = hosted.end
    if end is None or end.view is not view or end.high_watermark != high_watermark:
        end = hosted.end = EndOfPartition(view, high_watermark, hosted.log.last_stable_offset(high_watermark))
    return end


def is_plain(hosted: HostedPartition, fetch: PartitionFetch) -> bool:
    """Whether the partition is led here and the fetch names its current leader epoch, topic id and last epoch.

    Such a fetcher's log is the same as ours up to the offset it fetches, because its last epoch is our last one.
    """
    partition = hosted.partition
    leader_epoch, topic_id, last_epoch = fetch.current_leader_epoch, fetch.topic_id, fetch.last_fetched_epoch
    return (
        partition.leader is not None
        and (leader_epoch < 0 or leader_epoch == partition.leader_epoch)
        and (topic_id is None or topic_id is partition.topic_id)  # reading makes equal ones the same
        and (last_epoch < 0 or last_epoch == hosted.log.latest_epoch)
    )
