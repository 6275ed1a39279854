"""The JSON that the commands about groups print."""

from typing import Annotated

from ...base.frozen import frozen
from ...views.groups import Assignment, TimelineEvent

__all__ = [
    "CommittedOffset",
    "GroupChange",
    "GroupDescription",
    "GroupListed",
    "GroupMember",
    "GroupPartition",
    "GroupTimeline",
    "OffsetChange",
]


@frozen(kw_only=True)
class GroupListed:
    """A group in the list."""

    group: str
    state: Annotated[str | None, "Kafka's name, such as Stable, Empty, PreparingRebalance"]
    protocol_type: Annotated[str, "consumer for groups of consumers"]
    group_type: Annotated[str | None, "classic, consumer (KIP-848), share (KIP-932), streams; null: an old broker"]
    coordinator: int
    members: Annotated[int | None, "null: not asked for, see --lag"]
    lag: Annotated[int | None, "records, of all partitions; null: not asked for, or unknown"]


@frozen(kw_only=True)
class GroupMember:
    """One member of a group."""

    member_id: str
    client_id: str
    host: str
    instance_id: Annotated[str | None, "group.instance.id of a static member"]
    topics: Annotated[tuple[str, ...] | None, "its subscription; null unless it is a consumer in a stable group"]
    assignment: Annotated[tuple[Assignment, ...] | None, "null unless it is a consumer in a stable group"]
    pattern: Annotated[str | None, "of topics that it subscribes to, in the protocol of KIP-848"] = None


@frozen(kw_only=True)
class GroupPartition:
    """One partition that a group reads."""

    group: str
    topic: str
    partition: int
    committed: Annotated[int | None, "of a share group its start offset; null: the group has no offset"]
    leader_epoch: int | None
    metadata: str
    leader: Annotated[int | None, "null: the partition has none, or does not exist"]
    start_offset: int | None
    end_offset: Annotated[int | None, "the high watermark"]
    lag: Annotated[int | None, "records; null: there is no offset, or the end is unknown"]
    lag_seconds: Annotated[float | None, "age of the oldest unread record; null: unknown, or not asked for"]
    is_offset_lost: Annotated[bool | None, "the committed offset is outside the log"]
    problem: Annotated[str | None, "why the end is unknown"]
    member_id: Annotated[str | None, "the member that reads the partition; null: none, or several do"]
    client_id: str | None
    host: str | None


@frozen(kw_only=True)
class GroupDescription:
    """One group with its members and its partitions."""

    group: str
    state: str
    protocol_type: str
    protocol: Annotated[str | None, "how partitions are assigned, such as range"]
    group_type: Annotated[str, "classic, consumer (KIP-848) or share (KIP-932)"]
    coordinator: int
    lag: Annotated[int | None, "records, of all partitions"]
    members: tuple[GroupMember, ...]
    partitions: tuple[GroupPartition, ...]


@frozen(kw_only=True)
class CommittedOffset:
    """One committed offset."""

    topic: str
    partition: int
    offset: int


@frozen(kw_only=True)
class OffsetChange:
    """A new offset of a group, planned or stored."""

    group: str
    topic: str
    partition: int
    old_offset: Annotated[int | None, "null: the group has committed no offset"]
    new_offset: int
    skipped: Annotated[int, "records that the group will not read"]
    read_again: Annotated[int, "records that the group will read once more"]
    note: Annotated[str | None, "how the offset was adjusted"]
    is_dry_run: bool


@frozen(kw_only=True)
class GroupChange:
    """A change of a group, made or with ``--dry-run`` planned."""

    group: str
    member_id: Annotated[str | None, "null: the change is not about one member"]
    change: Annotated[str, "deleted or removed"]
    is_dry_run: bool


@frozen(kw_only=True)
class GroupTimeline:
    """The last changes of a group, the newest first, as the broker that coordinates it remembers them."""

    group: str
    broker_id: int | None
    events: tuple[TimelineEvent, ...]
