"""What fetchers that have everything are told of a partition: the most frequent result of all.

A consumer's session names all its partitions, each fetch of it reads them, and most have nothing new. So this result is
made once, when log or high watermark have changed, and is then the same object for everyone; whoever was told it
before knows by its identity that it is no news. The same goes for followers: each of their fetches names few and reads
all that they follow.
"""

from ...protocol.errors import ErrorCode
from ...storage.log.log_view import LogView
from .fetch import FetchParams, FetchResult, PartitionFetch
from .hosted_partition import HostedPartition
from .isolation import Isolation

__all__ = ["EndOfPartition", "end_for_follower", "is_plain", "result_at_end"]


class EndOfPartition:
    """The results at one moment of a partition: true as long as it has this ``view`` and this ``high_watermark``."""

    __slots__ = ("_committed", "high_watermark", "uncommitted", "view")

    def __init__(self, hosted: HostedPartition, view: LogView, high_watermark: int) -> None:
        last_stable_offset = hosted.log.last_stable_offset(high_watermark)
        self.view = view
        self.high_watermark = high_watermark
        self.uncommitted = FetchResult(ErrorCode.NONE, high_watermark, last_stable_offset, view.log_start_offset)
        self._committed: FetchResult | None = None

    @property
    def committed(self) -> FetchResult | None:
        """For read_committed; None when such a consumer does not get as far."""
        known, plain = self._committed, self.uncommitted
        if known is None and plain.last_stable_offset == plain.high_watermark:
            known = self._committed = FetchResult(
                ErrorCode.NONE,
                plain.high_watermark,
                plain.last_stable_offset,
                plain.log_start_offset,
                aborted_transactions=[],
            )
        return known


def result_at_end(hosted: HostedPartition, fetch: PartitionFetch, params: FetchParams) -> FetchResult | None:
    """The result for a consumer that has everything there is for it; None when `read_partition` has to find out.

    It is shared: not to be changed.
    """
    high_watermark = hosted.partition.high_watermark
    if fetch.fetch_offset != high_watermark or not is_plain(hosted, fetch):
        return None
    end = _end_of(hosted, high_watermark)
    return end.uncommitted if params.isolation is Isolation.HIGH_WATERMARK else end.committed


def end_for_follower(hosted: HostedPartition, fetch: PartitionFetch) -> FetchResult | None:
    """The result for a follower whose log is our whole log; None when `read_partition` has to find out.

    It is shared: not to be changed.
    """
    if fetch.fetch_offset != hosted.log.view.log_end_offset or not is_plain(hosted, fetch):
        return None
    return _end_of(hosted, hosted.partition.high_watermark).uncommitted


def _end_of(hosted: HostedPartition, high_watermark: int) -> EndOfPartition:
    view = hosted.log.view
    end = hosted.end
    if end is None or end.view is not view or end.high_watermark != high_watermark:
        end = hosted.end = EndOfPartition(hosted, view, high_watermark)
    return end


def is_plain(hosted: HostedPartition, fetch: PartitionFetch) -> bool:
    """Whether the partition is led here, and who asks believes of it what is so. Its log cannot part from ours if we
    have the offset: the last epoch that it fetched is our last one."""
    partition = hosted.partition
    leader_epoch, topic_id, last_epoch = fetch.current_leader_epoch, fetch.topic_id, fetch.last_fetched_epoch
    return (
        partition.leader is not None
        and (leader_epoch < 0 or leader_epoch == partition.leader_epoch)
        and (topic_id is None or topic_id is partition.topic_id)  # reading makes equal ones the same
        and (last_epoch < 0 or last_epoch == hosted.log.latest_epoch)
    )
