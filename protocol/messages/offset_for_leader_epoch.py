"""OffsetForLeaderEpoch (API 23): where a leader epoch ends in the log, to find the point of divergence (KIP-101).

- v1: the epoch that the response is for (KIP-279). v2: current leader epoch, for fencing; throttle time (KIP-320).
- v3: replica id; -2, the default, is a reader that may see past the high watermark. v4: flexible.
"""

from ..codec import wire


@wire.struct
class OffsetForLeaderPartition(wire.Struct):
    partition: int = wire.int32("0+", default=0)
    current_leader_epoch: int = wire.int32("2+", default=-1, ignorable=True)
    leader_epoch: int = wire.int32("0+", default=0)


@wire.struct
class OffsetForLeaderTopic(wire.Struct):
    topic: str = wire.string("0+", default="")
    partitions: list[OffsetForLeaderPartition] = wire.array(OffsetForLeaderPartition, "0+", default_factory=list)


@wire.message(api_key=23, versions="0-4", flexible="4+")
class OffsetForLeaderEpochRequest(wire.Message):
    replica_id: int = wire.int32("3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = wire.array(OffsetForLeaderTopic, "0+", default_factory=list)


@wire.struct
class EpochEndOffset(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    partition: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("1+", default=-1, ignorable=True)
    end_offset: int = wire.int64("0+", default=-1)


@wire.struct
class OffsetForLeaderTopicResult(wire.Struct):
    topic: str = wire.string("0+", default="")
    partitions: list[EpochEndOffset] = wire.array(EpochEndOffset, "0+", default_factory=list)


@wire.message(api_key=23, versions="0-4", flexible="4+")
class OffsetForLeaderEpochResponse(wire.Message):
    throttle_time_ms: int = wire.int32("2+", default=0, ignorable=True)
    topics: list[OffsetForLeaderTopicResult] = wire.array(OffsetForLeaderTopicResult, "0+", default_factory=list)
