"""The offsets of a streaming query in its checkpoint: those of Spark's Kafka source, as JSON objects.

    {"events":{"0":100,"1":90}}

The end of a query's first micro-batch also says where that began, under the key "" that no topic can have:

    {"events":{"0":100},"":{"events":{"0":40}}}

Spark keeps the end of a batch before it runs, but not the beginning of the first one. Were the query to be started
again in the middle of it, "latest", or a timestamp, would have become another offset by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...base.topic_partition import TopicPartition
from ..options.partition_json import PartitionNumbers, numbers_by_topic, numbers_from_topics

Position = dict[str, Any]
"""As Spark keeps it."""

_BEGAN = ""


def position_of(offsets: Mapping[TopicPartition, int], began: Mapping[TopicPartition, int] | None = None) -> Position:
    """`began`: where the query's first batch, which ends at `offsets`, begins."""
    position: Position = dict(numbers_by_topic(offsets))
    if began is not None:
        position[_BEGAN] = numbers_by_topic(began)
    return position


def offsets_of(position: Position) -> PartitionNumbers:
    """The offset of each partition."""
    return numbers_from_topics({topic: numbers for topic, numbers in position.items() if topic != _BEGAN})


def beginning_of(position: Position) -> PartitionNumbers | None:
    """Where the batch that ends here begins, if it is the first one."""
    began = position.get(_BEGAN)
    return None if began is None else numbers_from_topics(began)
