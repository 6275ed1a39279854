"""The errors of the records of one batch, collected while the records are walked."""

from __future__ import annotations

from ...base.topic_partition import TopicPartition
from ...protocol.records.batch import NO_TIMESTAMP, RecordBatch, TimestampType
from ...protocol.records.walk import Record
from ..errors import InvalidRecordsError, InvalidTimestampsError, RecordError
from ..log_config import LogConfig

_SHOWN_ERRORS = 3


class RecordErrors:
    """Checks the records of a batch one by one and collects the errors. The batch is refused as a whole."""

    def __init__(self, topic_partition: TopicPartition, config: LogConfig, now_ms: int) -> None:
        self._topic_partition = topic_partition
        self._config = config
        self._now_ms = now_ms
        self._index = 0
        self._errors: list[RecordError] = []
        self._error_count = 0
        self._keyless_count = 0
        self._about_timestamps = False

    def check(self, batch: RecordBatch, record: Record) -> None:
        message = self._key_error(record)
        if message is not None:
            self._keyless_count += 1
        else:
            message = self._timestamp_error(batch, record)
            self._about_timestamps = self._about_timestamps or message is not None
        if message is not None:
            self._error_count += 1
            if (
                self._error_count <= self._config.max_record_errors
            ):  # a small batch can hold millions of invalid records
                self._errors.append(RecordError(self._index, message))
        self._index += 1

    def _key_error(self, record: Record) -> str | None:
        if not self._config.compact or record.key is not None:
            return None
        return f"Compacted topic cannot accept message without key in topic partition {self._topic_partition}"

    def _timestamp_error(self, batch: RecordBatch, record: Record) -> str | None:
        config = self._config
        if not config.log_append_time and record.timestamp_ms != NO_TIMESTAMP:
            age = self._now_ms - record.timestamp_ms
            before, after = config.message_timestamp_before_max_ms, config.message_timestamp_after_max_ms
            if age <= before and -age <= after:
                return None
            return (
                f"Timestamp {record.timestamp_ms} of the record is out of range: it should be within "
                f"[{self._now_ms - before}, {self._now_ms + after}]"
            )
        if batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
            return "Invalid timestamp type: a producer should not set it to LogAppendTime"
        return None

    def raise_if_any(self) -> None:
        errors = self._errors
        if not self._error_count:
            return
        if self._about_timestamps:
            raise InvalidTimestampsError(
                "One or more records have been rejected due to invalid timestamp", errors, self._keyless_count
            )
        shown = "; ".join(f"record {error.batch_index}: {error.message}" for error in errors[:_SHOWN_ERRORS])
        raise InvalidRecordsError(
            f"One or more records have been rejected due to {self._error_count} record errors in total: {shown}",
            errors,
            self._keyless_count,
        )
