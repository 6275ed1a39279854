"""Errors of storage: refused records with their details, a full disk, too many open files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..protocol.errors import (
    CorruptRecordError,
    ErrorCode,
    InvalidRecordError,
    InvalidTimestampError,
    KafkaError,
    KafkaStorageError,
)


class RecordError(NamedTuple):
    """The error of one record in a refused batch (KIP-467). `batch_index` counts from 0."""

    batch_index: int
    message: str


class InvalidChecksumError(CorruptRecordError):
    """A batch's bytes do not have the checksum that its header tells."""


class InvalidMagicError(InvalidRecordError):
    """An append mixes messages of two formats."""


class InvalidSequenceError(InvalidRecordError):
    """A batch has a wrong base offset, count of records, or sequence."""


class InvalidRecordsError(InvalidRecordError):
    """A batch was refused because some of its records are invalid. ``keyless_count``: how many lack their key."""

    def __init__(self, message: str, record_errors: Sequence[RecordError], keyless_count: int = 0) -> None:
        super().__init__(message)
        self.record_errors = tuple(record_errors)
        self.keyless_count = keyless_count


class InvalidTimestampsError(InvalidTimestampError):
    """A batch was refused because of its records' timestamps. ``keyless_count``: how many lack their key."""

    def __init__(self, message: str, record_errors: Sequence[RecordError], keyless_count: int = 0) -> None:
        super().__init__(message)
        self.record_errors = tuple(record_errors)
        self.keyless_count = keyless_count


def record_errors_of(error: KafkaError) -> tuple[RecordError, ...]:
    """Return the record errors of a refusal; () when it is about the batch as a whole."""
    if isinstance(error, InvalidRecordsError | InvalidTimestampsError):
        return error.record_errors
    return ()


class OffsetsOutOfOrderError(KafkaError):
    """The offsets of a replicated record set do not rise."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class UnexpectedAppendOffsetError(KafkaError):
    """A replicated record set begins before the log's end. The follower may have to restart from its offset."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, message: str, first_offset: int, last_offset: int) -> None:
        super().__init__(message)
        self.first_offset = first_offset
        self.last_offset = last_offset


class NoSpaceError(KafkaStorageError):
    """The log directory has no space left. It stays online: the same step works once there is space again."""


class NameTakenError(KafkaStorageError):
    """The partition's directory, or a file in it, cannot be used: something else has its name, or it is forbidden."""


class NoDescriptorsError(NoSpaceError):
    """The process or the system can open no more files (EMFILE, ENFILE). Nothing was read or written."""
