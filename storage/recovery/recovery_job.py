"""What a recovering child process is told, line by line, and what it tells. Plain data, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ...base.topic_partition import TopicPartition
from ..log_config import LogConfig
from .log_recovery import StartingPoint


@dataclass(frozen=True, slots=True)
class RecoveryJob:
    """One log whose end may not be whole; `unflushed_bytes` are to be read."""

    path: str
    topic_partition: TopicPartition
    config: LogConfig
    start: StartingPoint
    unflushed_bytes: int
    now_ms: int

    def to_json(self) -> str:
        plain = {"topic_partition": list(self.topic_partition), "config": self.config.settings()}
        return json.dumps(asdict(self) | plain)

    @classmethod
    def from_json(cls, line: str) -> RecoveryJob:
        fields: dict[str, Any] = json.loads(line)
        config: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in fields["config"].items()
        }
        return cls(
            fields["path"],
            TopicPartition(*fields["topic_partition"]),
            LogConfig(**config),
            StartingPoint(**fields["start"]),
            fields["unflushed_bytes"],
            fields["now_ms"],
        )


class RecoveryReport(NamedTuple):
    """`path` is recovered, or could not be (`failure`); or so many bytes more were read; or a line is to be logged."""

    path: str = ""
    failure: str = ""
    read_bytes: int = 0
    level: int = 0
    message: str = ""

    def to_json(self) -> str:
        return json.dumps(self)

    @classmethod
    def from_json(cls, line: str) -> RecoveryReport:
        return cls(*json.loads(line))
