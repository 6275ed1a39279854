"""The response to a heartbeat of a member of a group, whatever type the group has."""

from collections.abc import Callable
from typing import NamedTuple

from .....protocol.errors import ErrorCode, KafkaError
from .assignment import Assignment

__all__ = ["HeartbeatAnswer", "HeartbeatReply", "refused"]


class HeartbeatAnswer(NamedTuple):
    """The response. ``assignment``: None when the member has it already."""

    error: ErrorCode
    message: str | None
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: Assignment | None


HeartbeatReply = Callable[[HeartbeatAnswer], None]


def refused(error: KafkaError) -> HeartbeatAnswer:
    """The response to a heartbeat that is refused."""
    return HeartbeatAnswer(error.code, error.message, "", 0, 0, None)
