"""Keys and values of ``__share_group_state``. Each is stored after its version, an int16 (KIP-932).

The version of a key says what the record is: 0 a snapshot, 1 an update. A null value of a snapshot deletes the state.
"""

from uuid import UUID

from ..codec import wire


@wire.message(versions="0", flexible="none")
class ShareSnapshotKey(wire.Message):
    group_id: str = wire.string("0", default="")
    topic_id: UUID = wire.uuid("0", default=wire.NULL_UUID)
    partition: int = wire.int32("0", default=0)


@wire.message(versions="1", flexible="none")
class ShareUpdateKey(wire.Message):
    group_id: str = wire.string("1", default="")
    topic_id: UUID = wire.uuid("1", default=wire.NULL_UUID)
    partition: int = wire.int32("1", default=0)


@wire.struct
class StateBatch(wire.Struct):
    first_offset: int = wire.int64("0+", default=0)
    last_offset: int = wire.int64("0+", default=0)
    delivery_state: int = wire.int8("0+", default=0)
    delivery_count: int = wire.int16("0+", default=0)


@wire.message(versions="0", flexible="0+")
class ShareSnapshotValue(wire.Message):
    """``delivery_complete_count``: since Kafka 4.2 (KIP-1226)."""

    snapshot_epoch: int = wire.int32("0+", default=0)
    state_epoch: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)
    start_offset: int = wire.int64("0+", default=0)
    delivery_complete_count: int = wire.int32("0+", tag=0, default=-1)
    create_timestamp: int = wire.int64("0+", default=0)
    write_timestamp: int = wire.int64("0+", default=0)
    state_batches: list[StateBatch] = wire.array(StateBatch, "0+", default_factory=list)


@wire.message(versions="0", flexible="0+")
class ShareUpdateValue(wire.Message):
    """``delivery_complete_count``: since Kafka 4.2 (KIP-1226)."""

    snapshot_epoch: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)
    start_offset: int = wire.int64("0+", default=0)
    delivery_complete_count: int = wire.int32("0+", tag=0, default=-1)
    state_batches: list[StateBatch] = wire.array(StateBatch, "0+", default_factory=list)
