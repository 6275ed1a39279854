"""DescribeUserScramCredentials (API 50): which SCRAM credentials users have, never the secrets (KIP-554)."""

from ..codec import wire


@wire.struct
class UserName(wire.Struct):
    name: str = wire.string("0+", default="")


@wire.message(api_key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest(wire.Message):
    users: list[UserName] | None = wire.array(UserName, "0+", nullable="0+", default_factory=list)


@wire.struct
class CredentialInfo(wire.Struct):
    mechanism: int = wire.int8("0+", default=0)
    iterations: int = wire.int32("0+", default=0)


@wire.struct
class DescribeUserScramCredentialsResult(wire.Struct):
    user: str = wire.string("0+", default="")
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    credential_infos: list[CredentialInfo] = wire.array(CredentialInfo, "0+", default_factory=list)


@wire.message(api_key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    results: list[DescribeUserScramCredentialsResult] = wire.array(
        DescribeUserScramCredentialsResult, "0+", default_factory=list
    )
