"""AlterPartition (API 56): a leader asks the controller to change a partition's ISR (KIP-497).

The partition epoch of the request must be the current one; in ZooKeeper mode it is the version of the state node.

- v1: leader recovery state (KIP-704).
- v2: topic ids in place of names; INELIGIBLE_REPLICA, NEW_LEADER_ELECTED, UNKNOWN_TOPIC_ID may be answered (KIP-841).
- v3: the ISR with broker epochs, so that a restarted replica is not taken for its former self (KIP-903).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class BrokerState(wire.Struct):
    broker_id: int = wire.int32("3+", default=0)
    broker_epoch: int = wire.int64("3+", default=-1)


@wire.struct
class RequestPartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)
    new_isr: list[int] = wire.array(wire.INT32, "0-2", default_factory=list)
    new_isr_with_epochs: list[BrokerState] = wire.array(BrokerState, "3+", default_factory=list)
    leader_recovery_state: int = wire.int8("1+", default=0)
    partition_epoch: int = wire.int32("0+", default=0)


@wire.struct
class RequestTopicData(wire.Struct):
    topic_name: str = wire.string("0-1", default="", ignorable=True)
    topic_id: UUID = wire.uuid("2+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[RequestPartitionData] = wire.array(RequestPartitionData, "0+", default_factory=list)


@wire.message(api_key=56, versions="0-3", flexible="0+")
class AlterPartitionRequest(wire.Message):
    broker_id: int = wire.int32("0+", default=0)
    broker_epoch: int = wire.int64("0+", default=-1)
    topics: list[RequestTopicData] = wire.array(RequestTopicData, "0+", default_factory=list)


@wire.struct
class ResponsePartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    leader_id: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)
    isr: list[int] = wire.array(wire.INT32, "0+", default_factory=list)
    leader_recovery_state: int = wire.int8("1+", default=0, ignorable=True)
    partition_epoch: int = wire.int32("0+", default=0)


@wire.struct
class ResponseTopicData(wire.Struct):
    topic_name: str = wire.string("0-1", default="", ignorable=True)
    topic_id: UUID = wire.uuid("2+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[ResponsePartitionData] = wire.array(ResponsePartitionData, "0+", default_factory=list)


@wire.message(api_key=56, versions="0-3", flexible="0+")
class AlterPartitionResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    topics: list[ResponseTopicData] = wire.array(ResponseTopicData, "0+", default_factory=list)
