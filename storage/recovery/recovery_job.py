"""The messages between the broker and a recovering child process."""

from __future__ import annotations

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ..log_config import LogConfig
from .log_recovery import StartingPoint


@frozen
class RecoveryJob:
    """One log whose end may be damaged; `unflushed_bytes` have to be read."""

    path: str
    topic_partition: TopicPartition
    config: LogConfig
    start: StartingPoint
    unflushed_bytes: int
    now_ms: int


@frozen
class Recovered:
    """The log at `path` is recovered and closed."""

    path: str


@frozen
class NotRecovered:
    """The log at `path` could not be recovered; the broker tries it itself."""

    path: str
    reason: str


@frozen
class BytesRead:
    """Progress: so many bytes more were read."""

    size_bytes: int


@frozen
class LogLine:
    """A line for the broker's log: the parts of its `logging.LogRecord`."""

    logger: str
    level: int
    template: str
    arguments: tuple[str | int | float, ...]


RecoveryReport = Recovered | NotRecovered | BytesRead | LogLine
