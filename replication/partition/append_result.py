"""The outcome of an append to one partition."""

from dataclasses import dataclass

from ...protocol.errors import ErrorCode, KafkaError
from ...storage.errors import RecordError

__all__ = ["AppendResult"]


@dataclass(slots=True)
class AppendResult:
    """The result that the producer is told (Kafka: PartitionResponse).

    ``base_offset`` is -1 with an error, except when the wait for acknowledgements failed after the append:
    NOT_ENOUGH_REPLICAS_AFTER_APPEND, REQUEST_TIMED_OUT. (REQUEST_TIMED_OUT with -1: a large batch could not be checked
    in time; it is not in the log.) A duplicate of an idempotent producer is no error: ``base_offset`` is that of the
    first copy, or -1 when its batch is no longer remembered. ``log_append_time_ms`` is -1 unless the topic's timestamps
    are the broker's.
    """

    error: ErrorCode = ErrorCode.NONE
    base_offset: int = -1
    last_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: tuple[RecordError, ...] = ()
    message: str | None = None

    @classmethod
    def failed(cls, error: KafkaError, log_start_offset: int = -1) -> "AppendResult":
        return cls(error.code, log_start_offset=log_start_offset, message=error.message)
