"""Errors of storage that carry more than a code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..protocol.errors import ErrorCode, InvalidRecordError, InvalidTimestampError, KafkaError


class RecordError(NamedTuple):
    """What is wrong with one record of a refused batch (KIP-467); `batch_index` counts from 0."""

    batch_index: int
    message: str


class InvalidRecordsError(InvalidRecordError):
    """A batch is refused for some of its records."""

    def __init__(self, message: str, record_errors: Sequence[RecordError]) -> None:
        super().__init__(message)
        self.record_errors = tuple(record_errors)


class InvalidTimestampsError(InvalidTimestampError):
    """A batch is refused for its records' timestamps."""

    def __init__(self, message: str, record_errors: Sequence[RecordError]) -> None:
        super().__init__(message)
        self.record_errors = tuple(record_errors)


def record_errors_of(error: KafkaError) -> tuple[RecordError, ...]:
    """The record errors that a refusal carries; () for one that is about the batch as a whole."""
    if isinstance(error, InvalidRecordsError | InvalidTimestampsError):
        return error.record_errors
    return ()


class OffsetsOutOfOrderError(KafkaError):
    """A replicated record set whose offsets do not rise."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class UnexpectedAppendOffsetError(KafkaError):
    """A replicated record set that begins before the log's end: the follower may have to start anew from there."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, message: str, first_offset: int, last_offset: int) -> None:
        super().__init__(message)
        self.first_offset = first_offset
        self.last_offset = last_offset
