"""OffsetCommit (API 8): store a group's positions.

A member commits with its generation and member id; without a group membership the generation is -1.

- v0: offsets go to ZooKeeper. v1: generation, member, and a timestamp for each partition; offsets go to the log.
- v2: a retention time instead of the timestamps. v3: throttle time. v4: throttling after the response (KIP-219).
- v5: retention time is gone (KIP-211). v6: leader epoch of the position (KIP-320). v7: group instance id (KIP-345).
  v8: flexible. v9: GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH (KIP-848). v10: topic ids in place of names.
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class OffsetCommitRequestPartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    committed_offset: int = wire.int64("0+", default=0)
    committed_leader_epoch: int = wire.int32("6+", default=-1, ignorable=True)
    commit_timestamp: int = wire.int64("1", default=-1)
    committed_metadata: str | None = wire.string("0+", nullable="0+", default="")


@wire.struct
class OffsetCommitRequestTopic(wire.Struct):
    name: str = wire.string("0-9", default="", ignorable=True)
    topic_id: UUID = wire.uuid("10+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = wire.array(
        OffsetCommitRequestPartition, "0+", default_factory=list
    )


@wire.message(api_key=8, versions="0-10", flexible="8+")
class OffsetCommitRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    generation_id_or_member_epoch: int = wire.int32("1+", default=-1, ignorable=True)
    member_id: str = wire.string("1+", default="", ignorable=True)
    group_instance_id: str | None = wire.string("7+", nullable="7+", default=None)
    retention_time_ms: int = wire.int64("2-4", default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic] = wire.array(OffsetCommitRequestTopic, "0+", default_factory=list)


@wire.struct
class OffsetCommitResponsePartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)


@wire.struct
class OffsetCommitResponseTopic(wire.Struct):
    name: str = wire.string("0-9", default="", ignorable=True)
    topic_id: UUID = wire.uuid("10+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = wire.array(
        OffsetCommitResponsePartition, "0+", default_factory=list
    )


@wire.message(api_key=8, versions="0-10", flexible="8+")
class OffsetCommitResponse(wire.Message):
    throttle_time_ms: int = wire.int32("3+", default=0, ignorable=True)
    topics: list[OffsetCommitResponseTopic] = wire.array(OffsetCommitResponseTopic, "0+", default_factory=list)
