"""UnregisterBroker (API 64): remove the registration of a broker that is gone for good (KIP-631)."""

from ..codec import wire


@wire.message(api_key=64, versions="0", flexible="0+")
class UnregisterBrokerRequest(wire.Message):
    broker_id: int = wire.int32("0+", default=0)


@wire.message(api_key=64, versions="0", flexible="0+")
class UnregisterBrokerResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
