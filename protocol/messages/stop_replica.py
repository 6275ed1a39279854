"""StopReplica (API 5): the controller tells a broker to stop replicas, and to delete some.

- v1: broker epoch, partitions grouped by topic (KIP-380). v2: flexible.
- v3: a leader epoch for each partition, and whether to delete it (KIP-570).
- v4: whether the controller is a KRaft one (KIP-866).
"""

from ..codec import wire


@wire.struct
class StopReplicaPartitionV0(wire.Struct):
    topic_name: str = wire.string("0", default="")
    partition_index: int = wire.int32("0", default=0)


@wire.struct
class StopReplicaTopicV1(wire.Struct):
    name: str = wire.string("1-2", default="")
    partition_indexes: list[int] = wire.array(wire.INT32, "1-2", default_factory=list)


@wire.struct
class StopReplicaPartitionState(wire.Struct):
    partition_index: int = wire.int32("3+", default=0)
    leader_epoch: int = wire.int32("3+", default=-1)
    delete_partition: bool = wire.boolean("3+", default=False)


@wire.struct
class StopReplicaTopicState(wire.Struct):
    topic_name: str = wire.string("3+", default="")
    partition_states: list[StopReplicaPartitionState] = wire.array(
        StopReplicaPartitionState, "3+", default_factory=list
    )


@wire.message(api_key=5, versions="0-4", flexible="2+")
class StopReplicaRequest(wire.Message):
    controller_id: int = wire.int32("0+", default=0)
    is_kraft_controller: bool = wire.boolean("4+", default=False, kafka_name="isKRaftController")
    controller_epoch: int = wire.int32("0+", default=0)
    broker_epoch: int = wire.int64("1+", default=-1, ignorable=True)
    delete_partitions: bool = wire.boolean("0-2", default=False)
    ungrouped_partitions: list[StopReplicaPartitionV0] = wire.array(StopReplicaPartitionV0, "0", default_factory=list)
    topics: list[StopReplicaTopicV1] = wire.array(StopReplicaTopicV1, "1-2", default_factory=list)
    topic_states: list[StopReplicaTopicState] = wire.array(StopReplicaTopicState, "3+", default_factory=list)


@wire.struct
class StopReplicaPartitionError(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)


@wire.message(api_key=5, versions="0-4", flexible="2+")
class StopReplicaResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    partition_errors: list[StopReplicaPartitionError] = wire.array(
        StopReplicaPartitionError, "0+", default_factory=list
    )
