"""DescribeCluster (API 60): cluster id, controller and brokers (KIP-700).

- v1: whether brokers or controllers are meant (KIP-919). v2: fenced brokers, on request (KIP-1073).
"""

from ..codec import wire


@wire.message(api_key=60, versions="0-2", flexible="0+")
class DescribeClusterRequest(wire.Message):
    include_cluster_authorized_operations: bool = wire.boolean("0+", default=False)
    endpoint_type: int = wire.int8("1+", default=1)
    include_fenced_brokers: bool = wire.boolean("2+", default=False)


@wire.struct
class DescribeClusterBroker(wire.Struct):
    broker_id: int = wire.int32("0+", default=0)
    host: str = wire.string("0+", default="")
    port: int = wire.int32("0+", default=0)
    rack: str | None = wire.string("0+", nullable="0+", default=None)
    is_fenced: bool = wire.boolean("2+", default=False)


@wire.message(api_key=60, versions="0-2", flexible="0+")
class DescribeClusterResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    endpoint_type: int = wire.int8("1+", default=1)
    cluster_id: str = wire.string("0+", default="")
    controller_id: int = wire.int32("0+", default=-1)
    brokers: list[DescribeClusterBroker] = wire.array(DescribeClusterBroker, "0+", default_factory=list)
    cluster_authorized_operations: int = wire.int32("0+", default=-2147483648)
