"""Keys and values of ``__transaction_state``. Each is stored after its version, an int16.

The key is the transactional id; a null value deletes. TransactionLogValue: v1 is flexible (KIP-890).
"""

from ..codec import wire

# Tagged fields of TransactionLogValue since Kafka 4.0. They are no fields of the message, because Kafka 3.9, whose
# frames the codec is compared with, does not declare them. So they are among `unknown_tags`.
PREVIOUS_PRODUCER_ID_TAG = 0
"""int64, default -1."""
NEXT_PRODUCER_ID_TAG = 1
"""int64, default -1."""
CLIENT_TRANSACTION_VERSION_TAG = 2
"""int16, default 0."""


@wire.message(versions="0", flexible="none")
class TransactionLogKey(wire.Message):
    transactional_id: str = wire.string("0", default="")


@wire.struct
class PartitionsSchema(wire.Struct):
    topic: str = wire.string("0+", default="")
    partition_ids: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.message(versions="0-1", flexible="1+")
class TransactionLogValue(wire.Message):
    producer_id: int = wire.int64("0+", default=0)
    producer_epoch: int = wire.int16("0+", default=0)
    transaction_timeout_ms: int = wire.int32("0+", default=0)
    transaction_status: int = wire.int8("0+", default=0)
    transaction_partitions: list[PartitionsSchema] | None = wire.array(
        PartitionsSchema, "0+", nullable="0+", default_factory=list
    )
    transaction_last_update_timestamp_ms: int = wire.int64("0+", default=0)
    transaction_start_timestamp_ms: int = wire.int64("0+", default=0)
