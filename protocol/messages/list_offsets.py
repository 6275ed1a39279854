"""ListOffsets (API 2): the offset that belongs to a timestamp, or to an end of the log.

Timestamps below zero are questions: -1 the end (high watermark, or last stable offset when read_committed), -2 the
start, -3 the record with the largest timestamp, -4 the local start, -5 the tiered end, -6 the first offset not tiered.

- v0: several offsets, from the starts of segments. v1: one offset, its timestamp (KIP-79). v2: isolation level and
  throttle time (KIP-98). v3: throttling after the response (KIP-219). v4: leader epochs, for fencing (KIP-320). v5:
  OFFSET_NOT_AVAILABLE (KIP-207). v6: flexible. v7: -3 (KIP-734). v8: -4 (KIP-405). v9: -5. v10: timeout. v11: -6.
"""

from ..codec import wire


@wire.struct
class ListOffsetsPartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    current_leader_epoch: int = wire.int32("4+", default=-1, ignorable=True)
    timestamp: int = wire.int64("0+", default=0)
    max_num_offsets: int = wire.int32("0", default=1)


@wire.struct
class ListOffsetsTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[ListOffsetsPartition] = wire.array(ListOffsetsPartition, "0+", default_factory=list)


@wire.message(api_key=2, versions="0-11", flexible="6+")
class ListOffsetsRequest(wire.Message):
    replica_id: int = wire.int32("0+", default=0)
    isolation_level: int = wire.int8("2+", default=0)
    topics: list[ListOffsetsTopic] = wire.array(ListOffsetsTopic, "0+", default_factory=list)
    timeout_ms: int = wire.int32("10+", default=0, ignorable=True)


@wire.struct
class ListOffsetsPartitionResponse(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    old_style_offsets: list[int] = wire.array(wire.INT64, "0", default_factory=list)
    timestamp: int = wire.int64("1+", default=-1)
    offset: int = wire.int64("1+", default=-1)
    leader_epoch: int = wire.int32("4+", default=-1)


@wire.struct
class ListOffsetsTopicResponse(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[ListOffsetsPartitionResponse] = wire.array(
        ListOffsetsPartitionResponse, "0+", default_factory=list
    )


@wire.message(api_key=2, versions="0-11", flexible="6+")
class ListOffsetsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("2+", default=0, ignorable=True)
    topics: list[ListOffsetsTopicResponse] = wire.array(ListOffsetsTopicResponse, "0+", default_factory=list)
