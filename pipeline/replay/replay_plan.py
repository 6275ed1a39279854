"""The plan of a replay: a file in the checkpoint, written before the first row is sent.

A continued replay writes the same rows in the same order, as the same producer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...base.topic_partition import TopicPartition
from ..appending.sequenced_batches import ProducerIdentity
from ..archive.manifest import to_text

_VERSION = 1


class PlanError(Exception):
    """A plan can't be read or belongs to another replay; the message says where."""


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """The plan of one partition: `rows` rows of `source` with offsets `first` to `last` go to `target`, which ended at
    `base`.

    `oldest_ms` is their earliest timestamp.
    """

    source: TopicPartition
    target: TopicPartition
    rows: int
    first: int
    last: int
    base: int
    oldest_ms: int

    @property
    def is_dense(self) -> bool:
        """Returns whether every offset from `first` to `last` has a row."""
        return self.last - self.first + 1 == self.rows


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """The plan of a replay. `selection`: its selection and target options, as JSON. `cluster`: id of the target
    cluster.
    """

    selection: Mapping[str, Any]
    cluster: str
    producer_id: int
    partitions: tuple[PartitionPlan, ...]

    @property
    def identity(self) -> ProducerIdentity:
        return ProducerIdentity(self.producer_id, 0)

    @property
    def rows(self) -> int:
        return sum(each.rows for each in self.partitions)

    def to_text(self) -> str:
        """Returns the content of the plan's file."""
        partitions = [
            {
                "topic": each.source.topic,
                "partition": each.source.partition,
                "to": each.target.topic,
                "rows": each.rows,
                "first": each.first,
                "last": each.last,
                "base": each.base,
                "oldest": each.oldest_ms,
            }
            for each in self.partitions
        ]
        about = {"version": _VERSION, "selection": dict(self.selection), "cluster": self.cluster}
        return to_text({**about, "producerId": self.producer_id, "partitions": partitions})


def parse_plan(path: str, text: str) -> ReplayPlan:
    """The inverse of `ReplayPlan.to_text`. Raises PlanError."""
    try:
        content = json.loads(text)
        if content["version"] != _VERSION:
            raise PlanError(f"{path} has version {content['version']}, but only {_VERSION} is supported")
        partitions = tuple(
            PartitionPlan(
                TopicPartition(each["topic"], each["partition"]),
                TopicPartition(each["to"], each["partition"]),
                each["rows"],
                each["first"],
                each["last"],
                each["base"],
                each["oldest"],
            )
            for each in content["partitions"]
        )
        return ReplayPlan(content["selection"], content["cluster"], content["producerId"], partitions)
    except (ValueError, KeyError, TypeError) as error:
        raise PlanError(f"{path} can't be read: {error!r}") from None
