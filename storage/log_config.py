"""The settings of one log as plain numbers, looked up once instead of at every append."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any

from ..base.frozen import frozen
from ..config.config import Config
from ..config.topic_config import TopicConfig
from ..protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from .inline_limits import DEFAULT_INLINE_BYTES, DEFAULT_INLINE_RECORDS, InlineLimits

_UNBOUNDED = (1 << 63) - 1
_DAY_MS = 24 * 3600 * 1000


@frozen
class LogConfig:
    """Kafka's topic settings that storage acts on, with Kafka's defaults. Times in ms, sizes in bytes."""

    segment_bytes: int = 1 << 30
    preallocate: bool = False
    segment_ms: int = 7 * _DAY_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    flush_messages: int = _UNBOUNDED
    flush_ms: int = _UNBOUNDED
    retention_bytes: int = -1
    retention_ms: int = 7 * _DAY_MS
    max_message_bytes: int = 1048588
    file_delete_delay_ms: int = 60_000
    cleanup_policy: tuple[str, ...] = ("delete",)
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = _UNBOUNDED
    message_timestamp_after_max_ms: int = _UNBOUNDED
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = _UNBOUNDED
    delete_retention_ms: int = _DAY_MS
    validate_every_record: bool = False
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES
    inline_max_bytes: int = DEFAULT_INLINE_BYTES
    inline_max_records: int = DEFAULT_INLINE_RECORDS
    max_record_errors: int = 1000
    producer_id_expiration_ms: int = _DAY_MS
    max_producer_ids: int = 10_000
    # derived from the settings above
    compact: bool = field(init=False)
    delete: bool = field(init=False)
    log_append_time: bool = field(init=False)
    max_segment_ms: int = field(init=False)
    """`segment.ms`, or for a compacted topic `max.compaction.lag.ms` when that is shorter."""

    def __post_init__(self) -> None:
        derive = object.__setattr__  # the class is frozen
        compact = "compact" in self.cleanup_policy
        derive(self, "compact", compact)
        derive(self, "delete", "delete" in self.cleanup_policy)
        derive(self, "log_append_time", self.message_timestamp_type == "LogAppendTime")
        longest_ms = min(self.max_compaction_lag_ms, self.segment_ms) if compact else self.segment_ms
        derive(self, "max_segment_ms", longest_ms)

    @classmethod
    def from_topic_config(cls, topic: TopicConfig, broker: Config | None = None) -> LogConfig:
        """Return the settings of a topic's logs. `broker` has the settings for every log; None means their defaults.

        `segment.index.bytes` of a topic cannot exceed the broker's `log.index.size.max.bytes`, because the index of an
        active segment is in memory.
        """
        index_bytes = topic.int("segment.index.bytes")
        return cls(
            segment_bytes=topic.int("segment.bytes"),
            preallocate=topic.boolean("preallocate"),
            segment_ms=topic.int("segment.ms"),
            segment_jitter_ms=topic.int("segment.jitter.ms"),
            segment_index_bytes=index_bytes
            if broker is None
            else min(index_bytes, broker.int("log.index.size.max.bytes")),
            index_interval_bytes=topic.int("index.interval.bytes"),
            flush_messages=topic.int("flush.messages"),
            flush_ms=topic.int("flush.ms"),
            retention_bytes=topic.int("retention.bytes"),
            retention_ms=topic.int("retention.ms"),
            max_message_bytes=topic.int("max.message.bytes"),
            file_delete_delay_ms=topic.int("file.delete.delay.ms"),
            cleanup_policy=topic.list("cleanup.policy"),
            compression_type=topic.string("compression.type"),
            compression_gzip_level=topic.int("compression.gzip.level"),
            compression_lz4_level=topic.int("compression.lz4.level"),
            compression_zstd_level=topic.int("compression.zstd.level"),
            message_timestamp_type=topic.string("message.timestamp.type"),
            message_timestamp_before_max_ms=topic.timestamp_before_max_ms,
            message_timestamp_after_max_ms=topic.timestamp_after_max_ms,
            min_cleanable_dirty_ratio=topic.double("min.cleanable.dirty.ratio"),
            min_compaction_lag_ms=topic.int("min.compaction.lag.ms"),
            max_compaction_lag_ms=topic.int("max.compaction.lag.ms"),
            delete_retention_ms=topic.int("delete.retention.ms"),
            validate_every_record=broker is not None and broker.string("pybroker.record.validation") == "full",
            max_decompressed_bytes=(
                DEFAULT_MAX_DECOMPRESSED_BYTES
                if broker is None
                else broker.int("pybroker.batch.max.decompressed.bytes")
            ),
            inline_max_bytes=DEFAULT_INLINE_BYTES if broker is None else broker.int("pybroker.batch.inline.max.bytes"),
            inline_max_records=DEFAULT_INLINE_RECORDS
            if broker is None
            else broker.int("pybroker.batch.inline.max.records"),
            max_record_errors=1000 if broker is None else broker.int("pybroker.batch.max.record.errors"),
            producer_id_expiration_ms=_DAY_MS if broker is None else broker.int("producer.id.expiration.ms"),
            max_producer_ids=10_000 if broker is None else broker.int("pybroker.producer.ids.max.per.partition"),
        )

    def settings(self) -> dict[str, Any]:
        """Return the arguments for which `LogConfig(**settings)` equals this object."""
        return {setting.name: getattr(self, setting.name) for setting in fields(self) if setting.init}

    @property
    def inline(self) -> InlineLimits:
        """Limits up to which a batch is unpacked in the broker's own process."""
        return InlineLimits(self.inline_max_bytes, self.inline_max_records)
