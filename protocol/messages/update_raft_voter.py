"""UpdateRaftVoter (API 82): a KRaft voter tells the leader its new addresses and versions (KIP-853)."""

from uuid import UUID

from ..codec import wire


@wire.struct
class Listener(wire.Struct):
    name: str = wire.string("0+", default="")
    host: str = wire.string("0+", default="")
    port: int = wire.uint16("0+", default=0)


@wire.struct
class KRaftVersionFeature(wire.Struct):
    min_supported_version: int = wire.int16("0+", default=0)
    max_supported_version: int = wire.int16("0+", default=0)


@wire.message(api_key=82, versions="0", flexible="0+")
class UpdateRaftVoterRequest(wire.Message):
    cluster_id: str | None = wire.string("0+", nullable="0+", default="")
    current_leader_epoch: int = wire.int32("0+", default=0)
    voter_id: int = wire.int32("0+", default=0)
    voter_directory_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    listeners: list[Listener] = wire.array(Listener, "0+", default_factory=list)
    kraft_version_feature: KRaftVersionFeature = wire.struct_field(
        KRaftVersionFeature, "0+", default_factory=KRaftVersionFeature, kafka_name="kRaftVersionFeature"
    )


@wire.struct
class CurrentLeader(wire.Struct):
    leader_id: int = wire.int32("0+", default=-1)
    leader_epoch: int = wire.int32("0+", default=-1)
    host: str = wire.string("0+", default="")
    port: int = wire.int32("0+", default=0)


@wire.message(api_key=82, versions="0", flexible="0+")
class UpdateRaftVoterResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    current_leader: CurrentLeader = wire.struct_field(CurrentLeader, "0+", default_factory=CurrentLeader, tag=0)
