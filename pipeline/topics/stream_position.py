"""Offsets of a streaming query in its checkpoint, as JSON objects in the form of Spark's Kafka source.

    {"events":{"0":100,"1":90}}
    {"events":{"0":100},"":{"events":{"0":40}}}     the end of the first micro-batch, with its start under the key ""

**Why**: Spark stores the end of a batch before it runs, but not the start of the first one. If the query is restarted
in that batch, `latest` or a timestamp could mean another offset. No topic can have the name "".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...base.topic_partition import TopicPartition
from ..options.partition_json import PartitionNumbers, numbers_by_topic, numbers_from_topics

Position = dict[str, Any]
"""A position as Spark stores it."""

_NO_TOPIC = ""


def position_of(offsets: Mapping[TopicPartition, int], began: Mapping[TopicPartition, int] | None = None) -> Position:
    """Returns a position. `began`: the start of the query's first batch, which ends at `offsets`."""
    position: Position = dict(numbers_by_topic(offsets))
    if began is not None:
        position[_NO_TOPIC] = numbers_by_topic(began)
    return position


def reported(
    latest: PartitionNumbers, reached: PartitionNumbers, isolation_level: str, lag_seconds: float | None
) -> Position:
    """Returns the latest offsets for a progress report of a query that has read up to `reached`, with facts about the
    query under the key "".
    """
    unread = sum(max(end - reached.get(at, 0), 0) for at, end in latest.items())
    facts = {"isolation.level": isolation_level, "lag": unread, "lag.seconds": lag_seconds if unread else None}
    return {**position_of(latest), _NO_TOPIC: facts}


def offsets_of(position: Position) -> PartitionNumbers:
    """Returns the offset of each partition."""
    return numbers_from_topics({topic: numbers for topic, numbers in position.items() if topic != _NO_TOPIC})


def beginning_of(position: Position) -> PartitionNumbers | None:
    """Returns the start of the batch that ends at this position if it is the query's first; else None."""
    began = position.get(_NO_TOPIC)
    return None if began is None else numbers_from_topics(began)
