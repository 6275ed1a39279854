"""RemoveRaftVoter (API 81): remove a voter from the KRaft quorum (KIP-853)."""

from uuid import UUID

from ..codec import wire


@wire.message(api_key=81, versions="0", flexible="0+")
class RemoveRaftVoterRequest(wire.Message):
    cluster_id: str | None = wire.string("0+", nullable="0+", default="")
    voter_id: int = wire.int32("0+", default=0)
    voter_directory_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)


@wire.message(api_key=81, versions="0", flexible="0+")
class RemoveRaftVoterResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="", ignorable=True)
