"""ControlledShutdown (API 7): a broker asks the controller to move its leaderships away before it stops.

The response lists the partitions that could not be moved; the broker asks again until there are none.

- v0: the one request whose header has no client id. v1: the usual header.
- v2: broker epoch (KIP-380). v3: flexible.
"""

from ..codec import wire


@wire.message(api_key=7, versions="0-3", flexible="3+")
class ControlledShutdownRequest(wire.Message):
    broker_id: int = wire.int32("0+", default=0)
    broker_epoch: int = wire.int64("2+", default=-1, ignorable=True)


@wire.struct
class RemainingPartition(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partition_index: int = wire.int32("0+", default=0)


@wire.message(api_key=7, versions="0-3", flexible="3+")
class ControlledShutdownResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    remaining_partitions: list[RemainingPartition] = wire.array(RemainingPartition, "0+", default_factory=list)
