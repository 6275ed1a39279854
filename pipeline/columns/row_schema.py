"""Rows of both data sources as Arrow batches: the columns of Spark's Kafka source, and more for log directories."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...base.topic_partition import TopicPartition
from .row_buffers import HEADERS_TYPE, Gathered

_ROW_FIELDS = [
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.timestamp("us", tz="UTC")),
    pa.field("timestampType", pa.int32()),
]
_HEADERS_FIELD = pa.field("headers", HEADERS_TYPE)
_LOG_FIELDS = [
    pa.field("leaderEpoch", pa.int32()),
    pa.field("producerId", pa.int64()),
    pa.field("codec", pa.string()),
    pa.field("batchPosition", pa.int64()),
    pa.field("segment", pa.string()),
]


def topic_rows(at: TopicPartition, gathered: Gathered) -> pa.RecordBatch:
    """Returns rows of the format "pybroker" as an Arrow batch."""
    fields, columns = _row(at, gathered)
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def log_rows(at: TopicPartition, segment: str, gathered: Gathered) -> pa.RecordBatch:
    """Returns rows of the format "pybroker-log" as an Arrow batch."""
    fields, columns = _row(at, gathered)
    facts = gathered.facts
    columns += [
        gathered.repeated([each.leader_epoch for each in facts], np.int32),
        gathered.repeated([each.producer_id for each in facts], np.int64),
        gathered.repeated_text([each.codec for each in facts]),
        gathered.repeated([each.position for each in facts], np.int64),
        pa.repeat(pa.scalar(segment), gathered.rows),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema([*fields, *_LOG_FIELDS]))


def _row(at: TopicPartition, gathered: Gathered) -> tuple[list[pa.Field], list[pa.Array]]:
    columns = [
        gathered.key,
        gathered.value,
        pa.repeat(pa.scalar(at.topic), gathered.rows),
        pa.repeat(pa.scalar(at.partition, pa.int32()), gathered.rows),
        gathered.offset,
        gathered.timestamp,
        gathered.repeated([each.timestamp_type for each in gathered.facts], np.int32),
    ]
    if gathered.headers is None:
        return list(_ROW_FIELDS), columns
    return [*_ROW_FIELDS, _HEADERS_FIELD], [*columns, gathered.headers]
