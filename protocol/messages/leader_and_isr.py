"""LeaderAndIsr (API 4), only in ZooKeeper mode: the controller tells a broker which partitions it leads or follows.

A broker refuses an older controller epoch or broker epoch; an equal leader epoch of a partition changes nothing.

- v1: whether the partition is new, so that a missing log may be made (KIP-112). v2: broker epoch, partitions grouped by
  topic (KIP-380). v3: replicas being added and removed (KIP-455). v4: flexible.
- v5: topic ids, and whether the request lists all partitions (KIP-516). v6: leader recovery state after an unclean
  election (KIP-704). v7: whether the controller is a KRaft one (KIP-866).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class LeaderAndIsrPartitionState(wire.Struct):
    topic_name: str = wire.string("0-1", default="", ignorable=True)
    partition_index: int = wire.int32("0+", default=0)
    controller_epoch: int = wire.int32("0+", default=0)
    leader: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)
    isr: list[int] = wire.array(wire.INT32, "0+", default_factory=list)
    partition_epoch: int = wire.int32("0+", default=0)
    replicas: list[int] = wire.array(wire.INT32, "0+", default_factory=list)
    adding_replicas: list[int] = wire.array(wire.INT32, "3+", default_factory=list, ignorable=True)
    removing_replicas: list[int] = wire.array(wire.INT32, "3+", default_factory=list, ignorable=True)
    is_new: bool = wire.boolean("1+", default=False, ignorable=True)
    leader_recovery_state: int = wire.int8("6+", default=0)


@wire.struct
class LeaderAndIsrTopicState(wire.Struct):
    topic_name: str = wire.string("2+", default="")
    topic_id: UUID = wire.uuid("5+", default=wire.NULL_UUID, ignorable=True)
    partition_states: list[LeaderAndIsrPartitionState] = wire.array(
        LeaderAndIsrPartitionState, "2+", default_factory=list
    )


@wire.struct
class LeaderAndIsrLiveLeader(wire.Struct):
    broker_id: int = wire.int32("0+", default=0)
    host_name: str = wire.string("0+", default="")
    port: int = wire.int32("0+", default=0)


@wire.message(api_key=4, versions="0-7", flexible="4+")
class LeaderAndIsrRequest(wire.Message):
    controller_id: int = wire.int32("0+", default=0)
    is_kraft_controller: bool = wire.boolean("7+", default=False, kafka_name="isKRaftController")
    controller_epoch: int = wire.int32("0+", default=0)
    broker_epoch: int = wire.int64("2+", default=-1, ignorable=True)
    type: int = wire.int8("5+", default=0)
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = wire.array(
        LeaderAndIsrPartitionState, "0-1", default_factory=list
    )
    topic_states: list[LeaderAndIsrTopicState] = wire.array(LeaderAndIsrTopicState, "2+", default_factory=list)
    live_leaders: list[LeaderAndIsrLiveLeader] = wire.array(LeaderAndIsrLiveLeader, "0+", default_factory=list)


@wire.struct
class LeaderAndIsrPartitionError(wire.Struct):
    topic_name: str = wire.string("0-4", default="", ignorable=True)
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)


@wire.struct
class LeaderAndIsrTopicError(wire.Struct):
    topic_id: UUID = wire.uuid("5+", default=wire.NULL_UUID)
    partition_errors: list[LeaderAndIsrPartitionError] = wire.array(
        LeaderAndIsrPartitionError, "5+", default_factory=list
    )


@wire.message(api_key=4, versions="0-7", flexible="4+")
class LeaderAndIsrResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    partition_errors: list[LeaderAndIsrPartitionError] = wire.array(
        LeaderAndIsrPartitionError, "0-4", default_factory=list
    )
    topics: list[LeaderAndIsrTopicError] = wire.array(LeaderAndIsrTopicError, "5+", default_factory=list)
