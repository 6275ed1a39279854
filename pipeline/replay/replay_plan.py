"""What a replay is to do, as it was when it began: a file in the checkpoint, written before the first row goes out.

Whoever goes on, after a crash or on purpose, writes the same rows in the same order, as the same producer.
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
    """A plan can't be read, or is another replay's; says where."""


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """`rows` of `source` from offset `first` to `last` go to `target`, which ended at `base` before.

    `oldest_ms` is the earliest of their timestamps.
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
        """Whether each offset in between has a row."""
        return self.last - self.first + 1 == self.rows


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """`selection` is the one it was made for, with what it says of the target, as JSON. `cluster`: the target's id."""

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
        """As it stands in its file."""
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
            raise PlanError(f"{path} is of version {content['version']}, known is {_VERSION}")
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
