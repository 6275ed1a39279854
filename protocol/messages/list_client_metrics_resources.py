"""ListClientMetricsResources (API 74): the names of the client metrics subscriptions (KIP-1000)."""

from ..codec import wire


@wire.message(api_key=74, versions="0", flexible="0+")
class ListClientMetricsResourcesRequest(wire.Message):
    """No fields."""


@wire.struct
class ClientMetricsResource(wire.Struct):
    name: str = wire.string("0+", default="")


@wire.message(api_key=74, versions="0", flexible="0+")
class ListClientMetricsResourcesResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    client_metrics_resources: list[ClientMetricsResource] = wire.array(
        ClientMetricsResource, "0+", default_factory=list
    )
