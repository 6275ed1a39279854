"""RenewDelegationToken (API 39): make a delegation token last longer (KIP-48).

- v1: throttling happens after the response (KIP-219). v2: flexible.
"""

from ..codec import wire


@wire.message(api_key=39, versions="0-2", flexible="2+")
class RenewDelegationTokenRequest(wire.Message):
    hmac: bytes = wire.blob("0+", default=b"")
    renew_period_ms: int = wire.int64("0+", default=0)


@wire.message(api_key=39, versions="0-2", flexible="2+")
class RenewDelegationTokenResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    expiry_timestamp_ms: int = wire.int64("0+", default=0)
    throttle_time_ms: int = wire.int32("0+", default=0)
