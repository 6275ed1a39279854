"""DescribeLogDirs (API 35): the partitions in this broker's log directories, with their sizes (KIP-113).

- v1: throttling happens after the response (KIP-219). v2: flexible.
- v3: an error code for the whole request. v4: total and free bytes of each directory (KIP-827).
"""

from ..codec import wire


@wire.struct
class DescribableLogDirTopic(wire.Struct):
    topic: str = wire.string("0+", default="")
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.message(api_key=35, versions="0-4", flexible="2+")
class DescribeLogDirsRequest(wire.Message):
    topics: list[DescribableLogDirTopic] | None = wire.array(
        DescribableLogDirTopic, "0+", nullable="0+", default_factory=list
    )


@wire.struct
class DescribeLogDirsPartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    partition_size: int = wire.int64("0+", default=0)
    offset_lag: int = wire.int64("0+", default=0)
    is_future_key: bool = wire.boolean("0+", default=False)


@wire.struct
class DescribeLogDirsTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[DescribeLogDirsPartition] = wire.array(DescribeLogDirsPartition, "0+", default_factory=list)


@wire.struct
class DescribeLogDirsResult(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    log_dir: str = wire.string("0+", default="")
    topics: list[DescribeLogDirsTopic] = wire.array(DescribeLogDirsTopic, "0+", default_factory=list)
    total_bytes: int = wire.int64("4+", default=-1, ignorable=True)
    usable_bytes: int = wire.int64("4+", default=-1, ignorable=True)


@wire.message(api_key=35, versions="0-4", flexible="2+")
class DescribeLogDirsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("3+", default=0, ignorable=True)
    results: list[DescribeLogDirsResult] = wire.array(DescribeLogDirsResult, "0+", default_factory=list)
