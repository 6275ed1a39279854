"""AlterReplicaLogDirs (API 34): move replicas to other log directories of this broker (KIP-113).

- v1: throttling happens after the response (KIP-219). v2: flexible.
"""

from ..codec import wire


@wire.struct
class AlterReplicaLogDirTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class AlterReplicaLogDir(wire.Struct):
    path: str = wire.string("0+", default="")
    topics: list[AlterReplicaLogDirTopic] = wire.array(AlterReplicaLogDirTopic, "0+", default_factory=list)


@wire.message(api_key=34, versions="0-2", flexible="2+")
class AlterReplicaLogDirsRequest(wire.Message):
    dirs: list[AlterReplicaLogDir] = wire.array(AlterReplicaLogDir, "0+", default_factory=list)


@wire.struct
class AlterReplicaLogDirPartitionResult(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)


@wire.struct
class AlterReplicaLogDirTopicResult(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partitions: list[AlterReplicaLogDirPartitionResult] = wire.array(
        AlterReplicaLogDirPartitionResult, "0+", default_factory=list
    )


@wire.message(api_key=34, versions="0-2", flexible="2+")
class AlterReplicaLogDirsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    results: list[AlterReplicaLogDirTopicResult] = wire.array(AlterReplicaLogDirTopicResult, "0+", default_factory=list)
