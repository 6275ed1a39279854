"""Finds where the last records of partitions begin.

**How.** Offsets are not enough: compaction takes some away, and transactions put markers between the records. So it
reads the last offsets and counts the records there; if some are missing, it reads more offsets in front of them.
"""

from collections.abc import Callable, Mapping, Sequence

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.fetching.fetches import MAX_PLAIN_BYTES
from ...client.fetching.partition_reader import Batches, PartitionReader
from ...protocol.records.batch import RecordBatch
from ...protocol.records.record import read_records

__all__ = ["starts_of_last"]

_TIMES = 4


def starts_of_last(
    cluster: AdminCluster,
    firsts: Mapping[TopicPartition, int],
    lasts: Mapping[TopicPartition, int],
    count: int,
    tell: Callable[[str], None],
) -> dict[TopicPartition, int]:
    """The offset in each partition from which on it has ``count`` records, or all that it has.

    ``lasts``: the ends of the partitions. Raises KafkaError, ConnectionError.
    """
    starts = dict(lasts)
    missing = dict.fromkeys(lasts, count)
    times = 1
    while wanted := {at: start for at, start in starts.items() if missing[at] and start > firsts[at]}:
        begins = {at: max(firsts[at], end - missing[at] * times) for at, end in wanted.items()}
        found: dict[TopicPartition, list[Sequence[int]]] = {at: [] for at in wanted}
        for batches in PartitionReader(cluster, begins, wanted, tell).batches():
            found[batches.at] += [_offsets(batch, batches) for batch in batches.batches]
        for at, begin in begins.items():
            starts[at] = begin
            for offsets in reversed(found[at]):
                if len(offsets) >= missing[at]:
                    starts[at], missing[at] = offsets[-missing[at]], 0
                    break
                missing[at] -= len(offsets)
        times *= _TIMES
    return starts


def _offsets(batch: RecordBatch, found: Batches) -> Sequence[int]:
    """The offsets of the records that count; only a batch with gaps is decompressed for that."""
    if batch.magic >= 2 and batch.last_offset - batch.base_offset + 1 == batch.record_count:
        return range(max(batch.base_offset, found.start), min(batch.last_offset + 1, found.end))
    records = read_records(batch, MAX_PLAIN_BYTES)
    return [record.offset for record in records if found.start <= record.offset < found.end]
