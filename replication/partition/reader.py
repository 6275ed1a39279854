"""Reads one partition for one fetch: checks whether the reader may read, and up to which offset."""

import logging

from ...protocol.errors import ErrorCode, InconsistentTopicIdError, KafkaError, OffsetOutOfRangeError
from ...storage.log.log import Log
from .fetch import EpochEnd, FetchParams, FetchResult, PartitionFetch
from .hosted_partition import HostedPartition
from .isolation import Isolation
from .nearest_replica import ReplicaChoice

__all__ = ["available_bytes", "read_partition", "sent_on", "warm_up"]

logger = logging.getLogger(__name__)


def warm_up(log: Log, offset: int) -> None:
    """Runs on a worker: look an offset up, so that the next look-up finds index and batch headers in the page cache."""
    try:
        log.read(offset, 1, log.log_end_offset, True)
    except KafkaError as error:
        logger.debug("%s: offset %d cannot be looked up: %s", log.topic_partition, offset, error)


def read_partition(
    hosted: HostedPartition,
    fetch: PartitionFetch,
    params: FetchParams,
    max_bytes: int,
    *,
    min_one_batch: bool,
    cached_only: bool,
) -> FetchResult:
    """Read ``fetch`` as far as its isolation allows. Raises KafkaError; with ``cached_only`` NotCachedError too."""
    partition = hosted.partition
    partition.check_readable(fetch.current_leader_epoch, leader_only=params.leader_only)
    topic_id = fetch.topic_id
    if topic_id is not None and topic_id is not partition.topic_id and partition.topic_id is not None:
        if topic_id != partition.topic_id:
            raise InconsistentTopicIdError()
        fetch.topic_id = partition.topic_id  # the same object, which is quicker to compare the next time
    log = hosted.log
    high_watermark = partition.high_watermark
    log_start_offset = log.log_start_offset
    last_stable_offset = log.last_stable_offset(high_watermark)
    result = FetchResult(ErrorCode.NONE, high_watermark, last_stable_offset, log_start_offset)
    if fetch.last_fetched_epoch >= 0:
        result.diverging_epoch = diverging_epoch(hosted, fetch)
        if result.diverging_epoch is not None:
            return result
    isolation = params.isolation
    if isolation is Isolation.HIGH_WATERMARK:
        end = high_watermark
    elif isolation is Isolation.COMMITTED:
        end = last_stable_offset
        result.aborted_transactions = []
    else:
        end = log.log_end_offset
    offset = fetch.fetch_offset
    if offset == end:
        return result  # the common case of a consumer that has everything
    read = log.read(offset, max_bytes, end, min_one_batch, isolation is Isolation.COMMITTED, cached_only=cached_only)
    if read.region is not None and (params.hard_max_bytes or not read.first_batch_incomplete):
        # Clients from v3 on get nothing rather than part of a batch.
        result.records = read.region
        result.size_bytes = read.region.size_bytes
        result.is_cut = read.region.size_bytes >= max_bytes
        if read.aborted_transactions:
            result.aborted_transactions = read.aborted_transactions
    return result


def sent_on(hosted: HostedPartition, fetch: PartitionFetch, nearest: ReplicaChoice, now_ms: int) -> FetchResult | None:
    """The result that sends a consumer to another replica; None when it should read here."""
    partition = hosted.partition
    if partition.leader is None or fetch.current_leader_epoch not in (-1, partition.leader_epoch):
        return None
    if fetch.topic_id is not None and partition.topic_id not in (None, fetch.topic_id):
        return None  # another topic: reading raises the error
    broker_id = nearest(partition, fetch.fetch_offset, now_ms)
    if broker_id is None:
        return None
    high_watermark = partition.high_watermark
    return FetchResult(
        ErrorCode.NONE,
        high_watermark,
        hosted.log.last_stable_offset(high_watermark),
        hosted.log.log_start_offset,
        preferred_read_replica=broker_id,
    )


def diverging_epoch(hosted: HostedPartition, fetch: PartitionFetch) -> EpochEnd | None:
    """Where the fetcher's log diverges from ours, judged by the last epoch it fetched; None when it does not (KIP-595).

    Raises OffsetOutOfRangeError when our epochs cannot tell, or when the offset is before our start.
    """
    log = hosted.log
    view = log.view
    if (
        fetch.last_fetched_epoch == log.latest_epoch
        and view.log_start_offset <= fetch.fetch_offset <= view.log_end_offset
    ):
        return None  # nearly always: the last epoch ends where the log does
    found = log.end_offset_for_epoch(fetch.last_fetched_epoch)
    if found is None:
        raise OffsetOutOfRangeError(
            f"{hosted.topic_partition}: the end of leader epoch {fetch.last_fetched_epoch}, last fetched, is unknown"
        )
    if fetch.fetch_offset < log.log_start_offset:
        raise OffsetOutOfRangeError(
            f"{hosted.topic_partition}: offset {fetch.fetch_offset} is before the log start {log.log_start_offset}"
        )
    epoch, end_offset = found
    if epoch < fetch.last_fetched_epoch or end_offset < fetch.fetch_offset:
        return EpochEnd(epoch, end_offset)
    return None


def available_bytes(hosted: HostedPartition, fetch: PartitionFetch, params: FetchParams) -> int | None:
    """The bytes that a parked fetch would get from this partition; None: it must not wait any longer.

    None stands for an error, a divergence, a truncation below its offset, or records in another segment than the end: a
    read stops at the end of a segment, so waiting would not bring more.
    """
    partition = hosted.partition
    try:
        partition.check_readable(fetch.current_leader_epoch, leader_only=params.leader_only)
        if fetch.last_fetched_epoch >= 0 and diverging_epoch(hosted, fetch) is not None:
            return None
    except KafkaError:
        return None
    view = hosted.log.view
    end = partition.readable_end(params.isolation)
    offset = fetch.fetch_offset
    if offset == end:
        return 0
    if offset > end:
        return None
    if params.min_bytes <= 1:
        return 1
    if view.slot_of(offset) < view.slot_of(end):
        return None
    try:
        return min(hosted.log.bytes_between(offset, end), fetch.max_bytes)
    except KafkaError:  # the log's directory has failed
        return None
