"""Decides one ConsumerGroupHeartbeat: which records it makes, and what the member is answered."""

from collections.abc import Callable
from typing import NamedTuple

from .....protocol.errors import ErrorCode, KafkaError
from ..modern.assignment import Assignment
from ..modern.topics import TopicLookup
from .consumer_group import ConsumerGroup
from .records import GroupRecord
from .settings import ConsumerGroupSettings

__all__ = ["Decision", "Heartbeat", "HeartbeatAnswer", "World", "check", "decide"]

LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2


class Heartbeat(NamedTuple):
    """A request. None (-1 for the timeout) in a field: unchanged since the member's last heartbeat."""

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


class HeartbeatAnswer(NamedTuple):
    """The answer. ``assignment``: None when the member has it already."""

    error: ErrorCode
    message: str | None
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: Assignment | None


class World(NamedTuple):
    """What a decision needs beside the group. ``check_pattern`` raises PatternError. ``now_ms``: the wall clock."""

    topics: TopicLookup
    settings: ConsumerGroupSettings
    now_ms: int
    check_pattern: Callable[[str], None]
    new_member_id: Callable[[], str]


class Decision(NamedTuple):
    """The records are applied and written as one batch before the answer goes out. None: the state stays."""

    records: tuple[GroupRecord, ...]
    answer: HeartbeatAnswer


def check(heartbeat: Heartbeat, settings: ConsumerGroupSettings) -> KafkaError | None:
    """Why the request is not valid whatever the state of the group is; None when it is."""
    raise NotImplementedError


def decide(group: ConsumerGroup, heartbeat: Heartbeat, world: World) -> Decision:
    """Decide a request that `check` found valid. Changes nothing.

    Raises KafkaError when the member is refused. ``group`` may be new: the group of a heartbeat with epoch 0.
    """
    raise NotImplementedError
