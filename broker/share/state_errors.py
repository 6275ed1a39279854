"""The errors that members get when the state of a share partition cannot be read or written."""

from ...protocol.errors import ErrorCode

__all__ = ["error_of_load", "error_of_write", "must_load_again"]

_CODES = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
_ENDING = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
_KNOWN_TO_FETCHES = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def error_of_write(code: ErrorCode) -> ErrorCode:
    """The error of an acknowledgement, for an error of the share coordinator."""
    return _CODES.get(code, ErrorCode.UNKNOWN_SERVER_ERROR)


def error_of_load(code: ErrorCode) -> ErrorCode:
    """The error of a fetch. Kafka's consumers fetch again after UNKNOWN_SERVER_ERROR, and end with an exception when a
    fetch has an error that they do not expect, such as COORDINATOR_NOT_AVAILABLE."""
    told = error_of_write(code)
    return told if told in _KNOWN_TO_FETCHES else ErrorCode.UNKNOWN_SERVER_ERROR


def must_load_again(code: ErrorCode) -> bool:
    """Whether the state in memory may differ from the stored one after this error of a write."""
    return code in _ENDING
