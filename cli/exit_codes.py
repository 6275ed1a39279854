"""Exit codes of the commands for a cluster, and the code and the line for each error."""

from ..base.command_parser import BAD_INPUT, FAILED, CommandError
from ..client.connection import TlsError
from ..client.given_options import OptionError
from ..protocol.client.errors import ClientError
from ..protocol.codec.errors import EncodeError
from ..protocol.errors import ErrorCode, KafkaError

__all__ = [
    "BAD_INPUT",
    "DONE",
    "EXIT_CODES",
    "FAILED",
    "NOT_ALLOWED",
    "NOT_THERE",
    "TIMED_OUT",
    "UNHEALTHY",
    "refusal",
]

DONE = 0
NOT_THERE = 3
NOT_ALLOWED = 4
TIMED_OUT = 5
UNHEALTHY = 10
"""The cluster is unhealthy, or a lag is above its bound."""

EXIT_CODES = {
    DONE: "done",
    FAILED: "failed",
    BAD_INPUT: "bad arguments",
    NOT_THERE: "not there",
    NOT_ALLOWED: "not allowed",
    TIMED_OUT: "timed out",
    UNHEALTHY: "unhealthy, or above a bound that was given",
    130: "Ctrl-C",
    143: "SIGTERM",
}

_MISSING = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
    ErrorCode.RESOURCE_NOT_FOUND,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
}
_FORBIDDEN = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    ErrorCode.SASL_AUTHENTICATION_FAILED,
    ErrorCode.SECURITY_DISABLED,
}


def refusal(error: Exception) -> CommandError | None:
    """The line and the exit code for an error of the cluster or its client; None: the error is a bug of ours."""
    if isinstance(error, CommandError):
        return error
    if isinstance(error, OptionError):
        return CommandError(str(error), BAD_INPUT)
    if isinstance(error, KafkaError):
        return CommandError(f"{error} ({_name_of(error.code)})", exit_code_of(error.code))
    if isinstance(error, EncodeError):
        return CommandError(f"the request cannot be sent: {error}", BAD_INPUT)
    if isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError):
        return CommandError(str(error), TIMED_OUT)
    if isinstance(error, (ConnectionError, TlsError)):
        return CommandError(f"{error} (pybroker doctor says more)", FAILED)
    if isinstance(error, ClientError):
        return CommandError(str(error), FAILED)
    return None


def exit_code_of(code: int) -> int:
    """The exit code for an error code of the protocol."""
    if code in _MISSING:
        return NOT_THERE
    if code in _FORBIDDEN:
        return NOT_ALLOWED
    return TIMED_OUT if code == ErrorCode.REQUEST_TIMED_OUT else FAILED


def _name_of(code: int) -> str:
    return ErrorCode(code).name if code in set(ErrorCode) else f"error {code}"
