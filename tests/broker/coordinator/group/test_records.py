"""Records of ``__consumer_offsets``: written byte for byte as Kafka writes them, and all versions read."""

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.member import Member, MemberProtocol
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.broker.coordinator.group.record_keys import OffsetKey, encode_group_key, encode_offset_key
from pybroker.broker.coordinator.group.records import decode_group, decode_offset, encode_group, encode_offset
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.protocol.codec import DecodeError
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import Record, read_records
from support.golden import read_lines
from support.logs.offset_keys import GroupKey, UnknownKey, decode_key

REFERENCE = Path(__file__).parents[3] / "reference"
INT64 = st.integers(-(2**63), 2**63 - 1)


def golden(api: str) -> list[dict[str, Any]]:
    lines = [line for line in read_lines(REFERENCE / "golden/consumer-offsets-records.jsonl.gz") if line["api"] == api]
    assert lines
    return lines


def reference_records() -> list[Record]:
    """Every record that a real broker wrote to `__consumer_offsets`, except control records."""
    return [
        record
        for path in sorted((REFERENCE / "logdirs/kafka-3.9/data").glob("__consumer_offsets-*/*.log"))
        for batch in iter_batches(path.read_bytes())
        if not batch.is_control
        for record in read_records(batch)
    ]


def assignments(group: Group) -> dict[str, bytes]:
    return {member.member_id: member.assignment for member in group.members.values()}


def test_records_are_written_byte_for_byte_as_by_a_real_broker() -> None:
    seen = set()
    for record in reference_records():
        assert record.key is not None
        match decode_key(record.key):
            case OffsetKey(group_id, partition):
                assert encode_offset_key(group_id, partition) == record.key
                if record.value is not None:
                    assert encode_offset(decode_offset(record.value)) == record.value
                seen.add("offset")
            case GroupKey(group_id):
                assert encode_group_key(group_id) == record.key
                assert record.value is not None
                group = decode_group(group_id, record.value)
                assert encode_group(group, assignments(group)) == record.value
                seen.add("group with members" if group.members else "empty group")
    assert seen == {"offset", "group with members", "empty group"}


@pytest.mark.parametrize("api", ["OffsetCommitKey", "GroupMetadataKey"])
def test_keys_of_all_versions_are_read(api: str) -> None:
    for line in golden(api):
        key, value = decode_key(bytes.fromhex(line["hex"])), line["value"]
        if api == "GroupMetadataKey":
            assert key == GroupKey(value["group"])
        else:
            assert key == OffsetKey(value["group"], TopicPartition(value["topic"], value["partition"]))


def test_offset_values_of_all_versions_are_read() -> None:
    versions = set()
    for line in golden("OffsetCommitValue"):
        value = line["value"]
        expiry = value.get("expireTimestamp", -1)
        assert decode_offset(bytes.fromhex(line["hex"])) == OffsetAndMetadata(
            value["offset"],
            value.get("leaderEpoch", -1),
            value["metadata"],
            value["commitTimestamp"],
            None if expiry == -1 else expiry,
        )
        versions.add(line["version"])
    assert versions == {0, 1, 2, 3, 4}


def test_group_values_of_all_versions_are_read() -> None:
    versions = set()
    for line in golden("GroupMetadataValue"):
        value = line["value"]
        instance_ids = [member.get("groupInstanceId") for member in value["members"]]
        member_ids = [member["memberId"] for member in value["members"]]
        if len(set(member_ids)) < len(member_ids) or len({*instance_ids} - {None}) < sum(map(bool, instance_ids)):
            continue  # random values that no broker writes
        group = decode_group("g", bytes.fromhex(line["hex"]))
        assert group.generation_id == value["generation"]
        assert group.protocol_type == (value["protocolType"] or None)
        assert group.protocol_name == value["protocol"]
        assert group.state is (GroupState.STABLE if member_ids else GroupState.EMPTY)
        assert list(group.members) == member_ids
        for member, expected in zip(group.members.values(), value["members"], strict=True):
            assert member.group_instance_id == expected.get("groupInstanceId")
            assert (member.client_id, member.client_host) == (expected["clientId"], expected["clientHost"])
            assert member.session_timeout_ms == expected["sessionTimeout"]
            assert member.metadata(value["protocol"] or "") == b64decode(expected["subscription"])
            assert member.assignment == b64decode(expected["assignment"])
        versions.add(line["version"])
    assert versions == {0, 1, 2, 3, 4}


def test_a_group_value_of_version_0_uses_the_session_timeout_as_rebalance_timeout() -> None:
    (line,) = [line for line in golden("GroupMetadataValue") if (line["version"], line["variant"]) == (0, "typical")]
    group = decode_group("g", bytes.fromhex(line["hex"]))
    assert [m.rebalance_timeout_ms for m in group.members.values()] == [
        member["sessionTimeout"] for member in line["value"]["members"]
    ]


def test_keys_of_other_group_types_are_unknown() -> None:
    for line in golden("ConsumerGroupMetadataKey"):
        assert decode_key(bytes.fromhex(line["hex"])) == UnknownKey(3)


def test_an_offset_with_its_own_expiry_is_written_in_version_1() -> None:
    value = encode_offset(OffsetAndMetadata(5, 3, "m", 10, 20))
    assert value[:2] == b"\x00\x01"
    # Version 1 has no leader epoch.
    assert decode_offset(value) == OffsetAndMetadata(5, -1, "m", 10, 20)


@given(INT64, st.integers(-1, 2**31 - 1), st.text(max_size=50), INT64)
def test_an_offset_is_read_as_it_was_written(offset: int, leader_epoch: int, metadata: str, timestamp_ms: int) -> None:
    value = OffsetAndMetadata(offset, leader_epoch, metadata, timestamp_ms)
    assert decode_offset(encode_offset(value)) == value


@given(st.binary(max_size=60))
def test_random_bytes_raise_a_decode_error_or_give_a_complete_value(data: bytes) -> None:
    for read in (decode_key, decode_offset, lambda blob: decode_group("g", blob)):
        try:
            read(data)
        except DecodeError as error:
            assert str(error)  # noqa: PT017  # either outcome is right


@pytest.mark.parametrize("decode", [decode_offset, lambda data: decode_group("g", data)])
def test_a_value_of_a_newer_version_raises_a_decode_error(decode: Any) -> None:
    with pytest.raises(DecodeError, match="version 5"):
        decode(b"\x00\x05" + bytes(40))


def test_a_group_that_is_written_and_read_keeps_its_members_and_leader() -> None:
    group = Group("g", 7, GroupState.PREPARING_REBALANCE)
    for number in range(3):
        member = Member(
            f"m{number}", f"i{number}", "c", "/h", 60_000, 10_000, "connect", (MemberProtocol("p", b"\x01"),), b"a"
        )
        group.add(member)
    group.leader_id = "m1"
    group.init_next_generation(9)

    loaded = decode_group("g", encode_group(group, assignments(group)))

    assert (loaded.leader_id, loaded.generation_id, loaded.protocol_name) == ("m1", 1, "p")
    assert loaded.static_members == {"i0": "m0", "i1": "m1", "i2": "m2"}
    assert loaded.state_timestamp_ms == 9
    assert list(loaded.members) == ["m0", "m1", "m2"]
