"""ListClientMetricsResources (API 74): the names of the client metrics subscriptions (KIP-1000).

v1, of Kafka 4.1, is named ListConfigResources: resources of all types that have settings (KIP-1142).
"""

from ..codec import wire


@wire.message(api_key=74, versions="0-1", flexible="0+")
class ListClientMetricsResourcesRequest(wire.Message):
    resource_types: list[int] = wire.array(wire.INT8, "1+", default_factory=list)


@wire.struct
class ClientMetricsResource(wire.Struct):
    name: str = wire.string("0+", default="")
    resource_type: int = wire.int8("1+", default=16, ignorable=True)


@wire.message(api_key=74, versions="0-1", flexible="0+")
class ListClientMetricsResourcesResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    client_metrics_resources: list[ClientMetricsResource] = wire.array(
        ClientMetricsResource, "0+", default_factory=list
    )
