"""TxnOffsetCommit (API 28): positions of a group that count once the transaction commits (KIP-98).

- v1: throttling happens after the response (KIP-219). v2: leader epoch of the position (KIP-320).
- v3: flexible; member id, generation and group instance id, for fencing (KIP-447).
- v4: TRANSACTION_ABORTABLE may be answered (KIP-890). v5: adds the offsets partition to the transaction (Kafka 4.0).
"""

from ..codec import wire


@wire.struct
class TxnOffsetCommitRequestPartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    committed_offset: int = wire.int64("0+", default=0)
    committed_leader_epoch: int = wire.int32("2+", default=-1, ignorable=True)
    committed_metadata: str | None = wire.string("0+", nullable="0+", default="")


@wire.struct
class TxnOffsetCommitRequestTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[TxnOffsetCommitRequestPartition] = wire.array(
        TxnOffsetCommitRequestPartition, "0+", default_factory=list
    )


@wire.message(api_key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitRequest(wire.Message):
    transactional_id: str = wire.string("0+", default="")
    group_id: str = wire.string("0+", default="")
    producer_id: int = wire.int64("0+", default=0)
    producer_epoch: int = wire.int16("0+", default=0)
    generation_id: int = wire.int32("3+", default=-1)
    member_id: str = wire.string("3+", default="")
    group_instance_id: str | None = wire.string("3+", nullable="3+", default=None)
    topics: list[TxnOffsetCommitRequestTopic] = wire.array(TxnOffsetCommitRequestTopic, "0+", default_factory=list)


@wire.struct
class TxnOffsetCommitResponsePartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)


@wire.struct
class TxnOffsetCommitResponseTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[TxnOffsetCommitResponsePartition] = wire.array(
        TxnOffsetCommitResponsePartition, "0+", default_factory=list
    )


@wire.message(api_key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    topics: list[TxnOffsetCommitResponseTopic] = wire.array(TxnOffsetCommitResponseTopic, "0+", default_factory=list)
