"""ExpireDelegationToken (API 40): end a delegation token, now or at a given time (KIP-48).

- v1: throttling happens after the response (KIP-219). v2: flexible.
"""

from ..codec import wire


@wire.message(api_key=40, versions="0-2", flexible="2+")
class ExpireDelegationTokenRequest(wire.Message):
    hmac: bytes = wire.blob("0+", default=b"")
    expiry_time_period_ms: int = wire.int64("0+", default=0)


@wire.message(api_key=40, versions="0-2", flexible="2+")
class ExpireDelegationTokenResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    expiry_timestamp_ms: int = wire.int64("0+", default=0)
    throttle_time_ms: int = wire.int32("0+", default=0)
