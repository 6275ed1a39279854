"""OffsetFetch (API 9): read a group's positions. A partition without one has offset -1.

- v0: offsets from ZooKeeper. v1: offsets from the log.
- v2: null asks for all partitions; an error code for the whole group (KIP-88). v3: throttle time.
- v4: throttling happens after the response (KIP-219). v5: leader epochs (KIP-320). v6: flexible.
- v7: a reader may insist on offsets that no open transaction can change (KIP-447).
- v8: several groups at once (KIP-709). v9: member id and epoch of the new consumer protocol (KIP-848).
- v10: topic ids in place of names.
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class OffsetFetchRequestTopic(wire.Struct):
    name: str = wire.string("0-7", default="")
    partition_indexes: list[int] = wire.array(wire.INT32, "0-7", default_factory=list)


@wire.struct
class OffsetFetchRequestTopics(wire.Struct):
    name: str = wire.string("8-9", default="", ignorable=True)
    topic_id: UUID = wire.uuid("10+", default=wire.NULL_UUID, ignorable=True)
    partition_indexes: list[int] = wire.array(wire.INT32, "8+", default_factory=list)


@wire.struct
class OffsetFetchRequestGroup(wire.Struct):
    group_id: str = wire.string("8+", default="")
    member_id: str | None = wire.string("9+", nullable="9+", default=None, ignorable=True)
    member_epoch: int = wire.int32("9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = wire.array(
        OffsetFetchRequestTopics, "8+", nullable="8+", default_factory=list
    )


@wire.message(api_key=9, versions="0-10", flexible="6+")
class OffsetFetchRequest(wire.Message):
    group_id: str = wire.string("0-7", default="")
    topics: list[OffsetFetchRequestTopic] | None = wire.array(
        OffsetFetchRequestTopic, "0-7", nullable="2-7", default_factory=list
    )
    groups: list[OffsetFetchRequestGroup] = wire.array(OffsetFetchRequestGroup, "8+", default_factory=list)
    require_stable: bool = wire.boolean("7+", default=False)


@wire.struct
class OffsetFetchResponsePartition(wire.Struct):
    partition_index: int = wire.int32("0-7", default=0)
    committed_offset: int = wire.int64("0-7", default=0)
    committed_leader_epoch: int = wire.int32("5-7", default=-1, ignorable=True)
    metadata: str | None = wire.string("0-7", nullable="0-7", default="")
    error_code: int = wire.int16("0-7", default=0)


@wire.struct
class OffsetFetchResponseTopic(wire.Struct):
    name: str = wire.string("0-7", default="")
    partitions: list[OffsetFetchResponsePartition] = wire.array(
        OffsetFetchResponsePartition, "0-7", default_factory=list
    )


@wire.struct
class OffsetFetchResponsePartitions(wire.Struct):
    partition_index: int = wire.int32("8+", default=0)
    committed_offset: int = wire.int64("8+", default=0)
    committed_leader_epoch: int = wire.int32("8+", default=-1, ignorable=True)
    metadata: str | None = wire.string("8+", nullable="8+", default="")
    error_code: int = wire.int16("8+", default=0)


@wire.struct
class OffsetFetchResponseTopics(wire.Struct):
    name: str = wire.string("8-9", default="", ignorable=True)
    topic_id: UUID = wire.uuid("10+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = wire.array(
        OffsetFetchResponsePartitions, "8+", default_factory=list
    )


@wire.struct
class OffsetFetchResponseGroup(wire.Struct):
    group_id: str = wire.string("8+", default="")
    topics: list[OffsetFetchResponseTopics] = wire.array(OffsetFetchResponseTopics, "8+", default_factory=list)
    error_code: int = wire.int16("8+", default=0)


@wire.message(api_key=9, versions="0-10", flexible="6+")
class OffsetFetchResponse(wire.Message):
    throttle_time_ms: int = wire.int32("3+", default=0, ignorable=True)
    topics: list[OffsetFetchResponseTopic] = wire.array(OffsetFetchResponseTopic, "0-7", default_factory=list)
    error_code: int = wire.int16("2-7", default=0, ignorable=True)
    groups: list[OffsetFetchResponseGroup] = wire.array(OffsetFetchResponseGroup, "8+", default_factory=list)
