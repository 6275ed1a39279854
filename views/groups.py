"""Groups: a row of the list, one group with its members and offsets, and the timeline of its rebalances."""

from typing import Annotated

from ..base.frozen import frozen
from .source import Source

__all__ = [
    "Assignment",
    "GroupDetail",
    "GroupOffset",
    "GroupRow",
    "Groups",
    "LagHistory",
    "Member",
    "Timeline",
    "TimelineEvent",
    "WaitsFor",
]


@frozen(kw_only=True)
class GroupRow:
    """One group."""

    group: str
    state: Annotated[
        str,
        "Kafka's name, such as Stable, Empty, PreparingRebalance; of the consumer protocol also Assigning, Reconciling",
    ]
    protocol_type: Annotated[str, "consumer for groups of consumers"]
    protocol: Annotated[str | None, "how partitions are assigned, such as range"]
    generation: int
    coordinator: int
    members: int
    verdict: Annotated[str | None, "ok, catching_up, falling_behind, stalled, stopped or rewound"]
    verdict_text: Annotated[str | None, "one line"]
    lag: Annotated[int | None, "records, of all partitions"]
    max_lag: Annotated[int | None, "records, of the worst partition"]
    max_lag_seconds: float | None
    seconds_to_catch_up: float | None
    topics: int
    partitions: Annotated[int, "partitions with a committed offset, or in which a share group has begun"]
    last_commit_ms: int | None
    rebalances: Annotated[int | None, "since this broker coordinates the group"]


@frozen(kw_only=True)
class Groups:
    """The groups that this broker coordinates."""

    source: Source
    is_loading: Annotated[bool, "the list is incomplete, because a partition is being loaded"]
    total: int
    matched: int
    items: tuple[GroupRow, ...]


@frozen(kw_only=True)
class Assignment:
    """Partitions of one topic."""

    topic: str
    partitions: tuple[int, ...]


@frozen(kw_only=True)
class Member:
    """One member of a group."""

    member_id: str
    client_id: str
    host: str
    instance_id: Annotated[str | None, "group.instance.id of a static member"]
    is_leader: bool
    is_awaited: Annotated[bool, "the rebalance waits for this member, or others wait for its partitions"]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    last_heartbeat_ms: int | None
    assignment: Annotated[tuple[Assignment, ...] | None, "null unless it is a consumer in a stable group"]
    lag: Annotated[int | None, "records, of its partitions"]
    epoch: Annotated[int | None, "of a member of a consumer or share group; behind the group's while it changes"] = None
    subscribed_topics: Annotated[tuple[str, ...] | None, "that a member of a consumer or share group names"] = None
    subscribed_pattern: Annotated[str | None, "of a member of the consumer protocol"] = None


@frozen(kw_only=True)
class GroupOffset:
    """The committed offset of one partition, or where a share group begins in it."""

    topic: str
    partition: int
    committed: int
    leader_epoch: int | None
    metadata: str
    commit_ms: Annotated[int | None, "null: of a share group"]
    expire_ms: Annotated[int | None, "set by old clients only"]
    start_offset: int | None
    end_offset: Annotated[int | None, "null: the leader is another broker, which was not asked yet"]
    lag: Annotated[int | None, "records"]
    lag_seconds: float | None
    verdict: str | None
    is_offset_lost: Annotated[bool | None, "the committed offset is below the start of the log"]
    member_id: Annotated[str | None, "the member that reads the partition"]
    leader: int | None


@frozen(kw_only=True)
class WaitsFor:
    """The members that a rebalance waits for."""

    phase: Annotated[str, "join: for JoinGroup; sync: for SyncGroup"]
    since_ms: int | None
    until_ms: Annotated[int | None, "then the members are removed"]
    members: Annotated[tuple[str, ...], "at most 100 member ids"]


@frozen(kw_only=True)
class LagHistory:
    """The lag of a group at equal steps of the last hour, the oldest first; null where it was not measured."""

    step_ms: int
    end_ms: Annotated[int, "when the last point was taken"]
    lag: Annotated[tuple[int | None, ...], "records, of all partitions"]
    lag_seconds: Annotated[tuple[float | None, ...], "of the worst partition"]


@frozen(kw_only=True)
class GroupDetail:
    """One group."""

    source: Source
    group: GroupRow
    waits_for: Annotated[WaitsFor | None, "null unless a rebalance waits for members"]
    members: tuple[Member, ...]
    offsets: tuple[GroupOffset, ...]
    history: LagHistory


@frozen(kw_only=True)
class TimelineEvent:
    """One change of a group: a rebalance, a static member that returned, a change of its offsets."""

    time_ms: Annotated[int, "when it began"]
    generation: Annotated[int, "the generation before it"]
    kind: Annotated[
        str, "rebalance, member_replaced, join_refused, offsets_set, offsets_deleted, offsets_expired, loaded"
    ]
    reason: Annotated[str | None, "of a rebalance, such as member_joined or session_expired"]
    text: Annotated[str, "one line"]
    times: Annotated[int, "how many events of this kind came in a row; this is the last"]
    member_id: Annotated[str | None, "the member that caused it"]
    client_id: str | None
    host: str | None
    instance_id: str | None
    duration_ms: Annotated[int | None, "of a rebalance; null while it runs"]
    outcome: Annotated[str | None, "of a rebalance: stable, empty, interrupted; null while it runs"]
    waited_for: Annotated[str | None, "id of the member that the rebalance waited for longest"]
    waited_ms: int | None
    members: Annotated[int | None, "members after the rebalance"]


@frozen(kw_only=True)
class Timeline:
    """The last changes of a group, the newest first."""

    source: Source
    group: str
    events: tuple[TimelineEvent, ...]
