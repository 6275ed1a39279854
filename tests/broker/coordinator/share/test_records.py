"""Records of ``__share_group_state``: their bytes, and broken ones."""

from uuid import UUID

import pytest
from pybroker.broker.coordinator.share.ports import SharePartitionKey
from pybroker.broker.coordinator.share.records import decode_record, encode_record
from pybroker.broker.coordinator.share.state import DELETION, Snapshot, StateRecord, Update
from pybroker.broker.coordinator.share.state_batch import StateBatch
from pybroker.protocol.codec import DecodeError, encode
from pybroker.protocol.messages.share_group_state import ShareUpdateValue
from pybroker.protocol.messages.share_group_state import StateBatch as Batch

KEY = SharePartitionKey("g", UUID(int=7), 3)
BATCHES = (StateBatch(5, 9, 0, 1), StateBatch(10, 10, 2, 2))
SNAPSHOT = Snapshot(1, 2, 3, 5, 4, 1_000, 1_001, BATCHES)
UPDATE = Update(1, 3, -1, -1, BATCHES)


@pytest.mark.parametrize("record", [SNAPSHOT, UPDATE, DELETION], ids=lambda record: type(record).__name__)
def test_record_is_read_as_it_was_written(record: StateRecord) -> None:
    assert decode_record(*encode_record(KEY, record)) == (KEY, record)


def test_record_has_the_bytes_that_kafka_writes() -> None:
    key, value = encode_record(KEY, UPDATE._replace(batches=BATCHES[:1]))
    assert key.hex() == "0001" + "000167" + UUID(int=7).hex + "00000003"
    batch = "0000000000000005000000000000000900000100"
    assert value is not None
    assert value.hex() == "00000000000100000003ffffffffffffffff02" + batch + "00"


def test_number_of_completed_deliveries_is_a_tagged_field() -> None:
    _, value = encode_record(KEY, Update(0, 0, 0, 7, ()))
    assert value is not None
    assert value.hex().endswith("0101000400000007")


def test_deletion_is_a_snapshot_without_value() -> None:
    key, value = encode_record(KEY, DELETION)
    assert (key[:2].hex(), value) == ("0000", None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\0", b""),
        (b"\0\2" + encode_record(KEY, UPDATE)[0][2:], None),
        (encode_record(KEY, UPDATE)[0], None),
        (encode_record(KEY, UPDATE)[0], b"\0\1"),
        (encode_record(KEY, UPDATE)[0], b"\0\0\0"),
        encode_record(KEY, UPDATE._replace(batches=(StateBatch(5, 4, 0, 1),))),
    ],
)
def test_broken_or_unknown_record_is_an_error(key: bytes, value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        decode_record(key, value)


@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 20_000])
@pytest.mark.parametrize("complete_count", [-1, 7])
def test_batches_are_packed_as_the_codec_encodes_them(count: int, complete_count: int) -> None:
    batches = [StateBatch(2**40 + 2 * offset, 2**40 + 2 * offset, 4, 300) for offset in range(count)]
    expected = ShareUpdateValue(
        snapshot_epoch=1,
        leader_epoch=2,
        start_offset=3,
        delivery_complete_count=complete_count,
        state_batches=[
            Batch(first_offset=each.first_offset, last_offset=each.last_offset, delivery_state=4, delivery_count=300)
            for each in batches
        ],
    )
    assert encode_record(KEY, Update(1, 2, 3, complete_count, batches))[1] == b"\0\0" + encode(expected, 0)
