"""Records of ``__transaction_state``: written byte for byte as Kafka writes them, and both versions read."""

import struct
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.records import (
    decode_key,
    decode_state,
    decode_value,
    encode_key,
    encode_value,
)
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.protocol.codec import DecodeError, decode, encode
from pybroker.protocol.messages.transaction_state import TransactionLogValue
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import Record, read_records
from support.golden import read_lines

REFERENCE = Path(__file__).parents[3] / "reference"
STORED = [state for state in TransactionState if state.title not in ("Dead", "PrepareEpochFence")]
EMPTY, ONGOING, PREPARE_COMMIT, *_ = TransactionState
NEXT_PRODUCER_EPOCH_TAG = 3
INT64 = st.integers(-(2**63), 2**63 - 1)
P0 = TopicPartition("t", 0)
ONE = TransactionPicture(ONGOING, ProducerIdentity(1000, 3), 60_000, frozenset({P0}), 7, 8)


def golden(api: str, file: str = "transaction-state-records") -> list[dict[str, Any]]:
    lines = [line for line in read_lines(REFERENCE / f"golden/{file}.jsonl.gz") if line["api"] == api]
    assert lines
    return lines


def reference_records() -> list[Record]:
    """Every record that a real broker wrote to `__transaction_state`."""
    directories = ("logdirs/kafka-3.9/data", "transactions/data")
    return [
        record
        for directory in directories
        for path in sorted((REFERENCE / directory).glob("__transaction_state-*/*.log"))
        for batch in iter_batches(path.read_bytes())
        for record in read_records(batch)
    ]


def in_the_order_of(theirs: bytes, ours: bytes) -> bytes:
    """Our value of version 0 with its partitions in Kafka's order, which is that of a hash table."""
    messages = [decode(TransactionLogValue, value[2:], 0) for value in (theirs, ours)]
    of_theirs, of_ours = (
        [(each.topic, sorted(each.partition_ids)) for each in message.transaction_partitions or ()]
        for message in messages
    )
    assert sorted(of_theirs) == of_ours
    messages[1].transaction_partitions = messages[0].transaction_partitions
    return ours[:2] + encode(messages[1], 0)


def test_records_are_written_byte_for_byte_as_by_a_real_broker() -> None:
    seen = set()
    for record in reference_records():
        assert record.key is not None
        assert encode_key(decode_key(record.key)) == record.key
        if record.value is None:
            seen.add(TransactionState.DEAD)
            continue
        picture = decode_value(record.value)
        written = encode_value(picture, 0)
        if len(picture.partitions) > 1:
            written = in_the_order_of(record.value, written)
        assert written == record.value
        seen.add(picture.state)
    assert seen == {*STORED, TransactionState.DEAD}


def test_an_empty_transaction_has_null_partitions_and_a_complete_one_an_empty_array() -> None:
    empty, complete = (
        decode(TransactionLogValue, encode_value(ONE._replace(state=state, partitions=frozenset()), 0)[2:], 0)
        for state in (EMPTY, TransactionState.COMPLETE_COMMIT)
    )
    assert empty.transaction_partitions is None
    assert complete.transaction_partitions == []


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("state", STORED)
def test_null_and_empty_partitions_are_read_in_every_state(state: TransactionState, version: int) -> None:
    null = encode_value(ONE._replace(state=EMPTY, partitions=frozenset()), version)
    status = 2 + 8 + 2 + 4
    as_null = null[:status] + bytes([state]) + null[status + 1 :]
    as_empty = encode_value(ONE._replace(state=state, partitions=frozenset()), version)

    assert decode_value(as_null) == decode_value(as_empty)
    assert decode_value(as_null).partitions == frozenset()


def test_the_fields_of_golden_values_are_read() -> None:
    checked = 0
    for line in golden("TransactionLogValue"):
        expected = line["value"]
        if line["variant"] != "nested-2" or line["version"] != 0:
            continue
        data = bytearray.fromhex(line["hex"])
        data[2 + 8 + 2 + 4] = TransactionState.COMPLETE_COMMIT
        picture = decode_value(data)
        assert (picture.producer.producer_id, picture.producer.epoch) == (
            expected["producerId"],
            expected["producerEpoch"],
        )
        assert picture.timeout_ms == expected["transactionTimeoutMs"]
        assert picture.last_update_ms == expected["transactionLastUpdateTimestampMs"]
        assert picture.start_ms == expected["transactionStartTimestampMs"]
        assert picture.partitions == {
            (topic["topic"], partition)
            for topic in expected["transactionPartitions"]
            for partition in topic["partitionIds"]
        }
        checked += 1
    assert checked == 1


def test_golden_keys_are_read_and_written() -> None:
    for line in golden("TransactionLogKey"):
        data = bytes.fromhex(line["hex"])
        assert decode_key(data) == line["value"]["transactionalId"]
        assert encode_key(line["value"]["transactionalId"]) == data


IDENTITIES = st.builds(ProducerIdentity, INT64, st.integers(-1, 32_767), st.just(-1), INT64, INT64)
PARTITIONS = st.frozensets(st.builds(TopicPartition, st.sampled_from(["a", "b", "é"]), st.integers(0, 9)), max_size=9)
PICTURES = st.builds(
    TransactionPicture,
    st.sampled_from(STORED),
    IDENTITIES,
    st.integers(1, 2**31 - 1),
    PARTITIONS,
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2),
).map(lambda each: each._replace(partitions=frozenset(), start_ms=-1) if each.state is EMPTY else each)


@given(PICTURES)
def test_version_1_carries_a_whole_picture_but_for_its_last_epoch(picture: TransactionPicture) -> None:
    assert decode_value(encode_value(picture, 1)) == picture


@given(PICTURES)
def test_version_0_carries_what_kafka_3_9_knows(picture: TransactionPicture) -> None:
    identity = ProducerIdentity(picture.producer.producer_id, picture.producer.epoch)
    assert decode_value(encode_value(picture, 0)) == picture._replace(producer=identity, transaction_version=0)


@given(st.text(max_size=50))
def test_a_key_carries_the_transactional_id(transactional_id: str) -> None:
    transactional_id = transactional_id.encode(errors="replace").decode()
    assert decode_key(encode_key(transactional_id)) == transactional_id


def test_tagged_fields_have_the_numbers_and_sizes_of_kafka_4() -> None:
    picture = ONE._replace(producer=ProducerIdentity(1, 2, 1, 5, 6), transaction_version=2)

    message = decode(TransactionLogValue, encode_value(picture, 1)[2:], 1)

    tags = {tag: bytes(data) for tag, data in (message.unknown_tags or {}).items()}
    assert tags == {0: struct.pack(">q", 5), 1: struct.pack(">q", 6), 2: struct.pack(">h", 2)}


@pytest.mark.parametrize(
    "line", golden("TransactionLogValue", "transaction-version-2"), ids=lambda line: line["variant"]
)
def test_values_of_transaction_version_2_are_written_byte_for_byte_as_by_kafka_4(line: dict[str, Any]) -> None:
    """But for the next producer epoch, which only two-phase commits have (KIP-939): it is skipped."""
    data = bytes.fromhex(line["hex"])
    picture = decode_value(data)
    tags = {each["tag"]: int.from_bytes(b64decode(each["data"])) for each in line.get("unknownTags", [])}
    producer = picture.producer
    assert (producer.producer_id, producer.epoch) == (line["value"]["producerId"], line["value"]["producerEpoch"])
    assert (producer.previous_producer_id, producer.next_producer_id) == (tags.get(0, -1), tags.get(1, -1))
    assert picture.transaction_version == tags.get(2, 0)
    if NEXT_PRODUCER_EPOCH_TAG not in tags:
        assert encode_value(picture, 1) == data


def test_tagged_fields_with_their_default_are_left_out() -> None:
    assert encode_value(ONE, 1)[-1] == 0


def test_unknown_tagged_fields_are_skipped() -> None:
    value = encode_value(ONE, 1)
    next_epoch_of_kafka_4_1, far_away = b"\x03\x02\x00\x09", b"\xe8\x07\x01\xff"
    assert decode_value(value[:-1] + b"\x02" + next_epoch_of_kafka_4_1 + far_away) == ONE


BROKEN_VALUES = {
    "an_unknown_version": (b"\x00\x02" + encode_value(ONE, 1)[2:], "version 2 of the value is unknown"),
    "a_negative_version": (b"\xff\xff" + encode_value(ONE, 1)[2:], "version -1 of the value is unknown"),
    "an_unknown_state": (encode_value(ONE, 0)[:16] + b"\x08" + encode_value(ONE, 0)[17:], "status 8 is unknown"),
    "a_negative_state": (encode_value(ONE, 0)[:16] + b"\xff" + encode_value(ONE, 0)[17:], "status -1 is unknown"),
    "a_dead_id": (encode_value(ONE, 0)[:16] + b"\x06" + encode_value(ONE, 0)[17:], "status 6 is never stored"),
    "a_pending_fence": (encode_value(ONE, 0)[:16] + b"\x07" + encode_value(ONE, 0)[17:], "status 7 is never stored"),
    "no_version": (b"\x00", "too short for a version"),
    "half_a_value": (encode_value(ONE, 0)[:20], "transactionPartitions|transaction_partitions|bytes"),
    "a_tag_of_another_size": (encode_value(ONE, 1)[:-1] + b"\x01\x00\x02\x00\x09", "tagged field 0 has 2 bytes"),
}


@pytest.mark.parametrize(("value", "reason"), BROKEN_VALUES.values(), ids=BROKEN_VALUES)
def test_a_value_that_cannot_be_read_is_refused(value: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        decode_value(value)


@pytest.mark.parametrize("key", [b"", encode_key("id")[:-1]])
def test_a_key_that_cannot_be_read_is_refused(key: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_key(key)


def test_a_key_of_an_unknown_version_is_refused() -> None:
    with pytest.raises(DecodeError, match="version 1 of the key is unknown"):
        decode_key(b"\x00\x01" + encode_key("id")[2:])


@given(st.binary(max_size=60), st.sampled_from([b"", b"\x00\x00", b"\x00\x01"]))
def test_bytes_are_a_value_or_a_decode_error(data: bytes, version: bytes) -> None:
    try:
        picture = decode_value(version + data)
    except DecodeError:
        return
    assert decode_value(encode_value(picture, 1)) == picture


def test_the_states_of_the_log_tool_are_those_of_kafka() -> None:
    assert [decode_state(state) for state in range(8)] == list(TransactionState)


@pytest.mark.parametrize("state", [ONGOING, PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_an_open_transaction_without_a_start_started_when_it_was_written(state: TransactionState) -> None:
    assert decode_value(encode_value(ONE._replace(state=state, start_ms=-1), 0)).start_ms == ONE.last_update_ms
