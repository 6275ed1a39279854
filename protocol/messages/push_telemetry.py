"""PushTelemetry (API 72): a client sends its metrics (KIP-714)."""

from uuid import UUID

from ..codec import wire


@wire.message(api_key=72, versions="0", flexible="0+")
class PushTelemetryRequest(wire.Message):
    client_instance_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    subscription_id: int = wire.int32("0+", default=0)
    terminating: bool = wire.boolean("0+", default=False)
    compression_type: int = wire.int8("0+", default=0)
    metrics: bytes = wire.blob("0+", default=b"")


@wire.message(api_key=72, versions="0", flexible="0+")
class PushTelemetryResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
