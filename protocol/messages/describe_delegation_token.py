"""DescribeDelegationToken (API 41): the delegation tokens of owners; null asks for all (KIP-48).

- v1: throttling happens after the response (KIP-219). v2: flexible. v3: the token's requester (KIP-373).
"""

from ..codec import wire


@wire.struct
class DescribeDelegationTokenOwner(wire.Struct):
    principal_type: str = wire.string("0+", default="")
    principal_name: str = wire.string("0+", default="")


@wire.message(api_key=41, versions="0-3", flexible="2+")
class DescribeDelegationTokenRequest(wire.Message):
    owners: list[DescribeDelegationTokenOwner] | None = wire.array(
        DescribeDelegationTokenOwner, "0+", nullable="0+", default_factory=list
    )


@wire.struct
class DescribedDelegationTokenRenewer(wire.Struct):
    principal_type: str = wire.string("0+", default="")
    principal_name: str = wire.string("0+", default="")


@wire.struct
class DescribedDelegationToken(wire.Struct):
    principal_type: str = wire.string("0+", default="")
    principal_name: str = wire.string("0+", default="")
    token_requester_principal_type: str = wire.string("3+", default="")
    token_requester_principal_name: str = wire.string("3+", default="")
    issue_timestamp: int = wire.int64("0+", default=0)
    expiry_timestamp: int = wire.int64("0+", default=0)
    max_timestamp: int = wire.int64("0+", default=0)
    token_id: str = wire.string("0+", default="")
    hmac: bytes = wire.blob("0+", default=b"")
    renewers: list[DescribedDelegationTokenRenewer] = wire.array(
        DescribedDelegationTokenRenewer, "0+", default_factory=list
    )


@wire.message(api_key=41, versions="0-3", flexible="2+")
class DescribeDelegationTokenResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    tokens: list[DescribedDelegationToken] = wire.array(DescribedDelegationToken, "0+", default_factory=list)
    throttle_time_ms: int = wire.int32("0+", default=0)
