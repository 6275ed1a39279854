"""Records of a consumer group keep their meaning through their bytes, which are Kafka's."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.coordinator.group.consumer import record_bytes
from pybroker.broker.coordinator.group.consumer.record_bytes import decode_record, encode, encode_key
from pybroker.broker.coordinator.group.consumer.records import (
    ClassicMember,
    CurrentMember,
    GroupEpoch,
    GroupRecord,
    MemberMetadata,
    RecordKind,
    Removed,
    ResolvedPattern,
    TargetEpoch,
    TargetMember,
)
from pybroker.broker.coordinator.group.consumer.states import MemberState
from pybroker.broker.coordinator.group.member import MemberProtocol
from pybroker.broker.coordinator.group.modern.assignment import EMPTY
from pybroker.broker.coordinator.versioned import split_version, with_version
from pybroker.protocol.codec import DecodeError, EncodeError
from pybroker.protocol.messages.consumer_offsets import ConsumerGroupMemberMetadataKey

TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
OPTIONAL = st.none() | TEXTS
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
ASSIGNMENTS = st.dictionaries(st.uuids(), st.frozensets(st.integers(0, 99), min_size=1, max_size=3), max_size=3)
NAMES = st.frozensets(TEXTS, max_size=3).map(sorted).map(tuple)
PROTOCOLS = st.lists(st.builds(MemberProtocol, TEXTS, st.binary(max_size=5)), min_size=1, max_size=2).map(tuple)
CLASSIC = st.none() | st.builds(ClassicMember, INT32, PROTOCOLS)
RECORDS: st.SearchStrategy[GroupRecord] = st.one_of(
    st.builds(GroupEpoch, INT32, INT64),
    st.builds(MemberMetadata, TEXTS, OPTIONAL, OPTIONAL, TEXTS, TEXTS, NAMES, OPTIONAL, INT32, OPTIONAL, CLASSIC),
    st.builds(TargetEpoch, INT32),
    st.builds(TargetMember, TEXTS, ASSIGNMENTS),
    st.builds(CurrentMember, TEXTS, INT32, INT32, st.sampled_from(MemberState), ASSIGNMENTS, ASSIGNMENTS),
    st.builds(ResolvedPattern, TEXTS, st.frozensets(TEXTS, max_size=3), INT64, INT64),
    st.builds(Removed, st.sampled_from((RecordKind.MEMBER, RecordKind.TARGET_MEMBER, RecordKind.PATTERN)), TEXTS),
    st.sampled_from((RecordKind.GROUP, RecordKind.TARGET, RecordKind.PARTITION_METADATA)).map(Removed),
)


def decoded(key: bytes, value: bytes | None) -> tuple[str, GroupRecord | None]:
    return decode_record(*split_version(key), value)


@given(TEXTS, RECORDS)
def test_each_record_is_read_as_it_was_written(group_id: str, record: GroupRecord) -> None:
    assert decoded(*encode(group_id, record)) == (group_id, record)


T = UUID(int=1)


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (GroupEpoch(7), "0003 0001 67", "0000 00000007 00"),
        (GroupEpoch(7, 5), "0003 0001 67", "0000 00000007 01 00 08 0000000000000005"),
        (
            MemberMetadata("m", None, "r", "c", "h", ("t",), None, 9, None),
            "0005 0001 67 0001 6d",
            "0000 00 02 72 02 63 02 68 02 02 74 00 00000009 00 01 00 01 00",
        ),
        (TargetEpoch(7), "0006 0001 67", "0000 00000007 00"),
        (
            TargetMember("m", {T: frozenset({1, 0})}),
            "0007 0001 67 0001 6d",
            f"0000 02 {T.hex} 03 00000000 00000001 00 00",
        ),
        (
            CurrentMember("m", 7, 6, MemberState.UNRELEASED_PARTITIONS, {T: frozenset({1})}, EMPTY),
            "0008 0001 67 0001 6d",
            f"0000 00000007 00000006 02 02 {T.hex} 02 00000001 00 01 00",
        ),
        (
            ResolvedPattern("t.*", frozenset({"t"}), 3, 4),
            "0010 0001 67 0003 742e2a",
            "0000 02 02 74 0000000000000003 0000000000000004 00",
        ),
        (Removed(RecordKind.PARTITION_METADATA), "0004 0001 67", None),
    ],
)
def test_record_has_the_bytes_of_kafka(record: GroupRecord, key: str, value: str | None) -> None:
    expected = None if value is None else bytes.fromhex(value)
    assert encode("g", record) == (bytes.fromhex(key), expected)


@pytest.mark.parametrize("name", ["", "m", "größe", "m" * 0x7FFF])
def test_key_of_a_member_is_the_message_of_its_kind(name: str) -> None:
    message = ConsumerGroupMemberMetadataKey(group_id="g", member_id=name)
    for _ in range(2):
        assert encode_key("g", Removed(RecordKind.MEMBER, name)) == with_version(message, RecordKind.MEMBER)


def test_key_whose_name_is_too_long_is_refused() -> None:
    with pytest.raises(EncodeError):
        encode_key("g", Removed(RecordKind.MEMBER, "m" * 0x8000))


def test_group_id_is_encoded_once_for_the_keys_of_all_its_members(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[ConsumerGroupMemberMetadataKey] = []

    def counted(group_id: str, member_id: str) -> ConsumerGroupMemberMetadataKey:
        messages.append(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id))
        return messages[-1]

    monkeypatch.setattr(record_bytes, "ConsumerGroupMemberMetadataKey", counted)
    for number in range(100):
        encode_key("a group of no other test", Removed(RecordKind.MEMBER, f"member-{number}"))
    assert len(messages) == 1


def test_state_of_a_newer_coordinator_is_unknown() -> None:
    key, value = encode("g", CurrentMember("m", 7, 6, MemberState.UNKNOWN, EMPTY, EMPTY))
    assert value is not None
    changed = value.replace(b"\x7f", b"\x05")
    assert decoded(key, changed) == ("g", CurrentMember("m", 7, 6, MemberState.UNKNOWN, EMPTY, EMPTY))


def test_topic_without_partitions_is_left_out() -> None:
    key, value = encode("g", TargetMember("m", {T: frozenset()}))
    assert decoded(key, value) == ("g", TargetMember("m", EMPTY))


def test_record_that_only_kafka_4_0_writes_means_nothing() -> None:
    key, _ = encode("g", Removed(RecordKind.PARTITION_METADATA))
    assert decoded(key, b"\0\0\x01\0") == ("g", None)


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\x01\0\0\0\x07\0", b"\0\0\0\0\0"])
def test_broken_or_newer_value_is_not_read(value: bytes) -> None:
    key, _ = encode("g", GroupEpoch(7))
    with pytest.raises(DecodeError):
        decoded(key, value)
