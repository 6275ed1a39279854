"""The checks of a follower on a record set from its leader: whole batches, valid checksums, rising offsets."""

from __future__ import annotations

from ...base.buffer import Buffer
from ...base.topic_partition import TopicPartition
from ...protocol.errors import CorruptRecordError
from ...protocol.records.batch import NO_TIMESTAMP, iter_batches
from ..errors import OffsetsOutOfOrderError, UnexpectedAppendOffsetError
from ..producers.prepared_append import NO_FIRST_OFFSET, PreparedAppend, PreparedBatch, producer_update
from ..producers.producer_state import DataBatch, EndMarker


def prepare_replica_append(records: Buffer, topic_partition: TopicPartition, next_offset: int) -> PreparedAppend | None:
    """Check `records`, whose offsets stay as they are. Return None when they hold no whole batch.

    Raises CorruptRecordError, OffsetsOutOfOrderError, UnexpectedAppendOffsetError.
    """
    batches: list[PreparedBatch] = []
    producers: list[DataBatch | EndMarker] = []
    last_offset = -1
    max_timestamp, offset_of_max = NO_TIMESTAMP, -1
    rising = True
    end = 0
    for batch in iter_batches(records):
        if not batch.is_valid_crc():
            raise CorruptRecordError(
                f"{topic_partition}: the replicated batch at offset {batch.base_offset} is corrupt "
                f"(stored crc {batch.crc})"
            )
        rising = rising and batch.last_offset > last_offset
        last_offset = batch.last_offset
        if batch.max_timestamp > max_timestamp:
            max_timestamp, offset_of_max = batch.max_timestamp, last_offset
        leader_epoch = batch.partition_leader_epoch
        batches.append(PreparedBatch(batch.size_bytes, batch.base_offset, last_offset, batch.magic, leader_epoch))
        if batch.producer_id >= 0:
            update = producer_update(batch, batch.base_offset)
            if update is not None:
                producers.append(update)
        end = batch.end
    if not batches:
        return None
    first = batches[0]
    if not rising:
        offsets = [batch.last_offset for batch in batches]
        raise OffsetsOutOfOrderError(
            f"{topic_partition}: the last offsets of the replicated batches do not rise: {offsets}"
        )
    if first.base_offset < next_offset:
        raise UnexpectedAppendOffsetError(
            f"{topic_partition}: the replicated batches have offsets {first.base_offset} to {last_offset}, but "
            f"the log ends at {next_offset}",
            first.base_offset,
            last_offset,
        )
    data = records if end == len(records) else memoryview(records)[:end]
    first_offset = first.base_offset if first.magic >= 2 else NO_FIRST_OFFSET
    return PreparedAppend(data, first_offset, last_offset, max_timestamp, offset_of_max, batches, producers)
