"""Keys and values of control records. They carry their version as their first field.

The key's type says what it is: 0 abort and 1 commit of a transaction (EndTxnMarker, KIP-98). The others stand in
KRaft's metadata log: 2 a new leader (v1 with directory ids, KIP-853), 3 and 4 the ends of a snapshot (KIP-630), 5
KRaft's version and 6 the voters (KIP-853).
"""

from uuid import UUID

from ..codec import wire


@wire.message(versions="0", flexible="none")
class ControlRecordKey(wire.Message):
    version: int = wire.int16("0+", default=0)
    type: int = wire.int16("0+", default=0)


@wire.message(versions="0", flexible="none")
class EndTxnMarker(wire.Message):
    version: int = wire.int16("0+", default=0)
    coordinator_epoch: int = wire.int32("0+", default=0)


@wire.message(versions="0", flexible="0+")
class KRaftVersionRecord(wire.Message):
    version: int = wire.int16("0+", default=0)
    kraft_version: int = wire.int16("0+", default=0, kafka_name="kRaftVersion")


@wire.struct
class LeaderChangeVoter(wire.Struct):
    voter_id: int = wire.int32("0+", default=0)
    voter_directory_id: UUID = wire.uuid("1+", default=wire.NULL_UUID)


@wire.message(versions="0-1", flexible="0+")
class LeaderChangeMessage(wire.Message):
    version: int = wire.int16("0+", default=0)
    leader_id: int = wire.int32("0+", default=0)
    voters: list[LeaderChangeVoter] = wire.array(LeaderChangeVoter, "0+", default_factory=list)
    granting_voters: list[LeaderChangeVoter] = wire.array(LeaderChangeVoter, "0+", default_factory=list)


@wire.message(versions="0", flexible="0+")
class SnapshotFooterRecord(wire.Message):
    version: int = wire.int16("0+", default=0)


@wire.message(versions="0", flexible="0+")
class SnapshotHeaderRecord(wire.Message):
    version: int = wire.int16("0+", default=0)
    last_contained_log_timestamp: int = wire.int64("0+", default=0)


@wire.struct
class Endpoint(wire.Struct):
    name: str = wire.string("0+", default="")
    host: str = wire.string("0+", default="")
    port: int = wire.uint16("0+", default=0)


@wire.struct
class KRaftVersionFeature(wire.Struct):
    min_supported_version: int = wire.int16("0+", default=0)
    max_supported_version: int = wire.int16("0+", default=0)


@wire.struct
class RecordedVoter(wire.Struct):
    voter_id: int = wire.int32("0+", default=0)
    voter_directory_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    endpoints: list[Endpoint] = wire.array(Endpoint, "0+", default_factory=list)
    kraft_version_feature: KRaftVersionFeature = wire.struct_field(
        KRaftVersionFeature, "0+", default_factory=KRaftVersionFeature, kafka_name="kRaftVersionFeature"
    )


@wire.message(versions="0", flexible="0+")
class VotersRecord(wire.Message):
    version: int = wire.int16("0+", default=0)
    voters: list[RecordedVoter] = wire.array(RecordedVoter, "0+", default_factory=list)
