"""AddRaftVoter (API 80): add a voter to the KRaft quorum (KIP-853)."""

from uuid import UUID

from ..codec import wire


@wire.struct
class Listener(wire.Struct):
    name: str = wire.string("0+", default="")
    host: str = wire.string("0+", default="")
    port: int = wire.uint16("0+", default=0)


@wire.message(api_key=80, versions="0", flexible="0+")
class AddRaftVoterRequest(wire.Message):
    cluster_id: str | None = wire.string("0+", nullable="0+", default="")
    timeout_ms: int = wire.int32("0+", default=0)
    voter_id: int = wire.int32("0+", default=0)
    voter_directory_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    listeners: list[Listener] = wire.array(Listener, "0+", default_factory=list)


@wire.message(api_key=80, versions="0", flexible="0+")
class AddRaftVoterResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="", ignorable=True)
