"""The outcome of an append to an internal topic, as its coordinator takes it.

Why an outcome is not just an error: a record that was written but not committed in time may be committed later. If the
coordinator went on from the old state then, it and the log would disagree.
"""

from enum import Enum, auto

from ...protocol.errors import ErrorCode, KafkaError
from .internal_log import AppendOutcome

__all__ = ["TOO_LARGE", "AppendResult", "append_error", "append_result"]

TOO_LARGE = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE})
_REFUSED = TOO_LARGE | {
    ErrorCode.KAFKA_STORAGE_ERROR,  # a full disk; after other errors of a disk this broker does not lead any more
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
_UNAVAILABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
_MOVED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR})


class AppendResult(Enum):
    """The knowledge about a record after its append."""

    COMMITTED = auto()
    """Also when the ISR has shrunk below the minimum since: the high watermark covers the record."""
    NOT_WRITTEN = auto()
    """It was refused before it was written, so it will never take effect."""
    IN_DOUBT = auto()
    """It may be in the log and be committed later."""


def append_result(outcome: AppendOutcome) -> AppendResult:
    if not isinstance(outcome, KafkaError) or outcome.code is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
        return AppendResult.COMMITTED
    return AppendResult.NOT_WRITTEN if outcome.code in _REFUSED else AppendResult.IN_DOUBT


def append_error(code: ErrorCode) -> ErrorCode:
    """The error code for a client whose change was not committed."""
    if code in _UNAVAILABLE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in _MOVED:
        return ErrorCode.NOT_COORDINATOR
    return ErrorCode.UNKNOWN_SERVER_ERROR if code in TOO_LARGE else code
