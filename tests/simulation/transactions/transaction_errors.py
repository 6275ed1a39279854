"""The errors of a transactional client, and the meaning of error codes for it (as in Kafka's TransactionManager)."""

from pybroker.protocol.errors import ErrorCode

__all__ = ["FIND_AGAIN", "PASSING", "AbortableError", "FatalError", "GivenUpError", "is_fatal"]


class AbortableError(Exception):
    """The transaction must be aborted; the client may go on with another one. `bumps_epoch`: under a new epoch."""

    def __init__(self, code: ErrorCode | None, *, bumps_epoch: bool = False) -> None:
        super().__init__("no response" if code is None else code.name)
        self.bumps_epoch = bumps_epoch


class FatalError(Exception):
    """The client cannot go on: another one with its transactional id has started, or its id is not known."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


class GivenUpError(Exception):
    """The client was told to stop while it waited for a coordinator."""


FIND_AGAIN = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
PASSING = (
    *FIND_AGAIN,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.OPERATION_NOT_ATTEMPTED,
)
"""The request is sent again."""
_FATAL = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_TRANSACTION_TIMEOUT,
)


def is_fatal(code: ErrorCode) -> bool:
    """Whether a coordinator's error ends the client. (INVALID_PRODUCER_EPOCH is what old versions say for
    PRODUCER_FENCED.)
    """
    return code in _FATAL or code is ErrorCode.INVALID_PRODUCER_EPOCH
