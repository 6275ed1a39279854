"""A ConsumerGroupHeartbeat, and the rules that hold whatever the state of the group is (KIP-848).

Version 1: the client makes its member id (KIP-1082), and may subscribe by a pattern.
"""

from typing import NamedTuple

from .....protocol.errors import InvalidRequestError, KafkaError, UnsupportedAssignorError
from ..modern.assignment import Assignment
from .records import ClassicMember, MemberMetadata
from .settings import ConsumerGroupSettings

__all__ = ["JOIN_EPOCH", "LEAVE_EPOCH", "STATIC_LEAVE_EPOCH", "Heartbeat", "check"]

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
"""A static member leaves for a while: it keeps its assignment until its session ends."""
_NO_TIMEOUT = -1
_CLIENT_MAKES_MEMBER_ID = 1
"""The first version with KIP-1082."""


class Heartbeat(NamedTuple):
    """A request. None (-1 for the timeout) in a field: unchanged since the member's last heartbeat.

    ``owned``: the partitions that the client has. ``classic``: set when the
    request is a JoinGroup, which counts as a heartbeat of epoch 0.
    """

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    names: tuple[str, ...] | None
    pattern: str | None
    server_assignor: str | None
    owned: Assignment | None
    client_id: str
    client_host: str
    version: int
    classic: ClassicMember | None = None

    @property
    def is_full(self) -> bool:
        """Whether it has all fields, as after an error: then the client wants to know its assignment."""
        return self.rebalance_timeout_ms != _NO_TIMEOUT and self.has_subscription and self.owned is not None

    @property
    def has_subscription(self) -> bool:
        return self.names is not None or self.pattern is not None

    def updated(self, before: MemberMetadata) -> MemberMetadata:
        """The member's metadata with the fields that the request has."""
        return MemberMetadata(
            before.member_id,
            before.instance_id if self.instance_id is None else self.instance_id,
            before.rack_id if self.rack_id is None else self.rack_id,
            self.client_id,
            self.client_host,
            before.names if self.names is None else tuple(sorted(set(self.names))),
            before.pattern if self.pattern is None else self.pattern,
            before.rebalance_timeout_ms if self.rebalance_timeout_ms == _NO_TIMEOUT else self.rebalance_timeout_ms,
            before.server_assignor if self.server_assignor is None else self.server_assignor,
            self.classic,
        )


def check(heartbeat: Heartbeat, settings: ConsumerGroupSettings) -> KafkaError | None:
    """Why the request is not valid whatever the state of the group is; None when it is."""
    message = _broken_rule(heartbeat)
    if message is not None:
        return InvalidRequestError(message)
    if heartbeat.server_assignor is not None and heartbeat.server_assignor not in settings.assignors:
        return UnsupportedAssignorError(
            f"ServerAssignor {heartbeat.server_assignor} is not supported. Supported assignors:"
            f" {', '.join(settings.assignors)}."
        )
    return None


def _broken_rule(heartbeat: Heartbeat) -> str | None:
    epoch = heartbeat.member_epoch
    has_to_know_its_id = heartbeat.version >= _CLIENT_MAKES_MEMBER_ID or epoch > JOIN_EPOCH or epoch == LEAVE_EPOCH
    texts = (
        ("MemberId", heartbeat.member_id if has_to_know_its_id else None),
        ("GroupId", heartbeat.group_id),
        ("InstanceId", heartbeat.instance_id),
        ("RackId", heartbeat.rack_id),
    )
    for name, text in texts:
        if text is not None and not text.strip():
            return f"{name} can't be empty."
    if epoch == JOIN_EPOCH:
        return _broken_rule_of_join(heartbeat)
    if epoch == STATIC_LEAVE_EPOCH and heartbeat.instance_id is None:
        return "InstanceId can't be null."
    return "MemberEpoch is invalid." if epoch < STATIC_LEAVE_EPOCH else None


def _broken_rule_of_join(heartbeat: Heartbeat) -> str | None:
    if heartbeat.rebalance_timeout_ms == _NO_TIMEOUT:
        return "RebalanceTimeoutMs must be provided in first request."
    if heartbeat.owned is None or heartbeat.owned:
        return "TopicPartitions must be empty when (re-)joining."
    if heartbeat.names is None and heartbeat.pattern is None:  # but a member may subscribe to no topic
        return "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    return None
