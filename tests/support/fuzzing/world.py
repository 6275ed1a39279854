"""The fuzzer's knowledge of its broker: existing names, and values from its responses."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any
from uuid import UUID

from pybroker.protocol.codec import NULL_UUID, Struct
from pybroker.protocol.codec.schema import Array, Nested

__all__ = ["BASE_TOPICS", "World", "structs_of"]

BASE_TOPICS = ("alpha", "beta", "compacted")
PARTITIONS = 3
GROUPS = ("readers", "writers", "workers")
OTHER_NAMES = ("", "absent", "__consumer_offsets", "made-by-a-frame", "made.by.a_frame", "a/b", "..", "x" * 249, "ü")
CONFIG_VALUES = {
    "cleanup.policy": ("delete", "compact", "compact,delete", "none", ""),
    "retention.ms": ("-1", "0", "1000", "x", None),
    "retention.bytes": ("-1", "0", "1000"),
    "segment.bytes": ("1", "14", "1000", "1048576"),
    "segment.ms": ("1", "0", "3600000"),
    "max.message.bytes": ("0", "100", "1048588"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime", "LastTuesday"),
    "compression.type": ("producer", "gzip", "lz4", "snappy", "zstd", "uncompressed", "rar"),
    "min.insync.replicas": ("1", "2", "0"),
    "index.interval.bytes": ("0", "1", "4096"),
    "flush.messages": ("1", "1000000"),
    "message.timestamp.before.max.ms": ("0", "1000", "9223372036854775807"),
    "unclean.leader.election.enable": ("true", "false", "perhaps"),
    "leader.replication.throttled.replicas": ("*", "0:0", "x"),
    "log.retention.ms": ("1000", "-1"),
    "num.io.threads": ("1", "16", "0"),
    "no.such.setting": ("1", None),
}
_LEARNT_PER_NAME = 40
_LEARNT = frozenset(
    {"member_id", "generation_id", "producer_id", "producer_epoch", "session_id", "topic_id", "leader", "leader_epoch"}
)


class World:
    """Pools of values by field name. `learn` adds the values of a response."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.learnt: dict[str, list[Any]] = {name: [] for name in _LEARNT}

    def topic(self) -> str:
        return self._random.choice(BASE_TOPICS if self._random.random() < 0.85 else OTHER_NAMES)

    def group(self) -> str:
        return self._random.choice(GROUPS if self._random.random() < 0.9 else OTHER_NAMES)

    def partition(self) -> int:
        return self._random.randrange(PARTITIONS) if self._random.random() < 0.9 else self._random.choice((3, 7, -1))

    def config(self) -> tuple[str, str | None]:
        name = self._random.choice(list(CONFIG_VALUES))
        return name, self._random.choice(CONFIG_VALUES[name])

    def topic_id(self) -> UUID:
        return UUID(int=0) if (found := self.recall("topic_id")) is None else found

    def recall(self, name: str) -> Any:
        """A value that a response had under this name; None if there was none."""
        values = self.learnt[name]
        return self._random.choice(values) if values else None

    def learn(self, answer: Struct) -> None:
        for struct in structs_of(answer):
            for field in struct.SCHEMA.fields:
                if field.name in _LEARNT:
                    self._keep(field.name, getattr(struct, field.name))

    def _keep(self, name: str, value: Any) -> None:
        values = self.learnt[name]
        if value in ("", -1, None, NULL_UUID) or value in values:
            return
        if len(values) < _LEARNT_PER_NAME:
            values.append(value)
        else:
            values[self._random.randrange(len(values))] = value

    def state(self) -> dict[str, Sequence[Any]]:
        """The knowledge as text, for a failure's report."""
        return {name: list(values) for name, values in self.learnt.items() if values}


def structs_of(message: Struct) -> Iterator[Struct]:
    """A message and all structs inside it."""
    yield message
    for field in message.SCHEMA.fields:
        wire_type = field.type
        if isinstance(wire_type, Nested):
            if (inner := getattr(message, field.name)) is not None:
                yield from structs_of(inner)
        elif isinstance(wire_type, Array) and isinstance(wire_type.element, Nested):
            for inner in getattr(message, field.name) or ():
                yield from structs_of(inner)
