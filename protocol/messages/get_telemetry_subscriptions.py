"""GetTelemetrySubscriptions (API 71): a client asks which of its metrics the broker wants (KIP-714)."""

from uuid import UUID

from ..codec import wire


@wire.message(api_key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsRequest(wire.Message):
    client_instance_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)


@wire.message(api_key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    client_instance_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    subscription_id: int = wire.int32("0+", default=0)
    accepted_compression_types: list[int] = wire.array(wire.INT8, "0+", default_factory=list)
    push_interval_ms: int = wire.int32("0+", default=0)
    telemetry_max_bytes: int = wire.int32("0+", default=0)
    delta_temporality: bool = wire.boolean("0+", default=False)
    requested_metrics: list[str] = wire.array(wire.STRING, "0+", default_factory=list)
