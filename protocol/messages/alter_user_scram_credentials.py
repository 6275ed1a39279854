"""AlterUserScramCredentials (API 51): set or remove SCRAM credentials of users (KIP-554)."""

from ..codec import wire


@wire.struct
class ScramCredentialDeletion(wire.Struct):
    name: str = wire.string("0+", default="")
    mechanism: int = wire.int8("0+", default=0)


@wire.struct
class ScramCredentialUpsertion(wire.Struct):
    name: str = wire.string("0+", default="")
    mechanism: int = wire.int8("0+", default=0)
    iterations: int = wire.int32("0+", default=0)
    salt: bytes = wire.blob("0+", default=b"")
    salted_password: bytes = wire.blob("0+", default=b"")


@wire.message(api_key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest(wire.Message):
    deletions: list[ScramCredentialDeletion] = wire.array(ScramCredentialDeletion, "0+", default_factory=list)
    upsertions: list[ScramCredentialUpsertion] = wire.array(ScramCredentialUpsertion, "0+", default_factory=list)


@wire.struct
class AlterUserScramCredentialsResult(wire.Struct):
    user: str = wire.string("0+", default="")
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")


@wire.message(api_key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    results: list[AlterUserScramCredentialsResult] = wire.array(
        AlterUserScramCredentialsResult, "0+", default_factory=list
    )
