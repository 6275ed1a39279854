"""CreateDelegationToken (API 38): create a token to authenticate with instead of other credentials (KIP-48).

- v1: throttling happens after the response (KIP-219). v2: flexible.
- v3: tokens for another owner, with the token's requester (KIP-373).
"""

from ..codec import wire


@wire.struct
class CreatableRenewers(wire.Struct):
    principal_type: str = wire.string("0+", default="")
    principal_name: str = wire.string("0+", default="")


@wire.message(api_key=38, versions="0-3", flexible="2+")
class CreateDelegationTokenRequest(wire.Message):
    owner_principal_type: str | None = wire.string("3+", nullable="3+", default="")
    owner_principal_name: str | None = wire.string("3+", nullable="3+", default="")
    renewers: list[CreatableRenewers] = wire.array(CreatableRenewers, "0+", default_factory=list)
    max_lifetime_ms: int = wire.int64("0+", default=0)


@wire.message(api_key=38, versions="0-3", flexible="2+")
class CreateDelegationTokenResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    principal_type: str = wire.string("0+", default="")
    principal_name: str = wire.string("0+", default="")
    token_requester_principal_type: str = wire.string("3+", default="")
    token_requester_principal_name: str = wire.string("3+", default="")
    issue_timestamp_ms: int = wire.int64("0+", default=0)
    expiry_timestamp_ms: int = wire.int64("0+", default=0)
    max_timestamp_ms: int = wire.int64("0+", default=0)
    token_id: str = wire.string("0+", default="")
    hmac: bytes = wire.blob("0+", default=b"")
    throttle_time_ms: int = wire.int32("0+", default=0)
