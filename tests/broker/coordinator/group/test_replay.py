"""Replay: the records of a ``__consumer_offsets`` partition become groups again."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.offset_batch import TransactionalProducer, build_records
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.broker.coordinator.group.record_keys import encode_group_key, encode_offset_key
from pybroker.broker.coordinator.group.records import encode_offset
from pybroker.broker.coordinator.group.replay import Replay
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.broker.coordinator.transaction_end import TransactionEnd
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from support.examples import examples
from support.in_process.offsets_topic import OffsetsTopic

LOG_DIRECTORY = Path(__file__).parents[3] / "reference/logdirs/kafka-3.9"
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
RECORD_LINE = re.compile(r"^\| offset: (\d+) .*? key: (\{.*?\}\}) payload: (.*)$", re.MULTILINE)


def replayed(topic: OffsetsTopic) -> dict[str, Group]:
    replay = Replay(0, now_ms=99)
    for buffer in topic.batches[0]:
        for batch in iter_batches(buffer):
            replay.add(batch)
    return {group.group_id: group for group in replay.entries() if isinstance(group, Group)}


def put(topic: OffsetsTopic, offset: int, partition: TopicPartition = P0, producer_id: int | None = None) -> int:
    producer = None if producer_id is None else TransactionalProducer(producer_id, 0)
    record = (encode_offset_key("g", partition), encode_offset(OffsetAndMetadata(offset, 0, "", 1)))
    return topic.write(0, build_records([record], 1, Codec.NONE, producer))


def delete(topic: OffsetsTopic, partition: TopicPartition = P0) -> None:
    topic.write(0, build_records([(encode_offset_key("g", partition), None)], 1, Codec.NONE))


def end(topic: OffsetsTopic, producer_id: int, *, commit: bool) -> int:
    marker = EndTransactionMarker(commit, 0)
    return topic.write(0, build_marker_batch(marker, producer_id=producer_id, producer_epoch=0, timestamp_ms=1))


def committed(group: Group) -> dict[TopicPartition, int]:
    return {partition: record.value.offset for partition, record in group.offsets.committed.items()}


# -- a real broker's log


def dumped_state(partition: int) -> tuple[dict[str, Any], dict[tuple[str, str, int], Any]]:
    """Groups and offsets from the output of Kafka's DumpLogSegments, with transactions ended by their markers."""
    text = (LOG_DIRECTORY / f"__consumer_offsets-{partition}.dump.txt").read_text()
    groups: dict[str, Any] = {}
    offsets: dict[tuple[str, str, int], Any] = {}
    aborted = {4} if partition == 1 else set()  # aborted by the marker at offset 5
    for offset, key_text, payload in RECORD_LINE.findall(text):
        if int(offset) in aborted:
            continue
        key = json.loads(key_text)["data"]
        value = None if payload == "<DELETE>" else json.loads(payload)["data"]
        if "topic" in key:
            offsets[key["group"], key["topic"], key["partition"]] = value
        else:
            groups[key["group"]] = value
    return groups, {name: value for name, value in offsets.items() if value is not None}


@pytest.mark.parametrize("partition", [0, 1])
def test_the_log_of_a_real_broker_gives_the_state_in_its_dump(partition: int) -> None:
    replay = Replay(partition, now_ms=99)
    for path in sorted((LOG_DIRECTORY / f"data/__consumer_offsets-{partition}").glob("*.log")):
        for batch in iter_batches(path.read_bytes()):
            replay.add(batch)
    groups = {group.group_id: group for group in replay.entries() if isinstance(group, Group)}
    expected_groups, expected_offsets = dumped_state(partition)
    assert expected_groups

    assert {
        (group.group_id, key.topic, key.partition): {
            "offset": record.value.offset,
            "leaderEpoch": record.value.leader_epoch,
            "metadata": record.value.metadata,
            "commitTimestamp": record.value.commit_timestamp_ms,
        }
        for group in groups.values()
        for key, record in group.offsets.committed.items()
    } == expected_offsets
    assert set(groups) == {*expected_groups, *(group_id for group_id, _, _ in expected_offsets)}
    for group_id, expected in expected_groups.items():
        group = groups[group_id]
        assert (group.generation_id, group.protocol_name, group.leader_id) == (
            expected["generation"],
            expected["protocol"],
            expected["leader"],
        )
        assert group.state_timestamp_ms == expected["currentStateTimestamp"]
        assert [
            (m.member_id, m.group_instance_id, m.client_id, m.client_host, m.session_timeout_ms, m.rebalance_timeout_ms)
            for m in group.members.values()
        ] == [
            (
                member["memberId"],
                member["groupInstanceId"],
                member["clientId"],
                member["clientHost"],
                member["sessionTimeout"],
                member["rebalanceTimeout"],
            )
            for member in expected["members"]
        ]
        for member in expected["members"]:
            assert group.subscribed_topics == frozenset(member["subscription"]["topics"])


# -- rules


def test_the_last_commit_of_a_partition_counts_and_a_tombstone_deletes_it() -> None:
    topic = OffsetsTopic()
    put(topic, 1)
    put(topic, 2)
    put(topic, 5, P1)
    delete(topic, P1)

    assert committed(replayed(topic)["g"]) == {P0: 2}


def test_a_group_that_only_committed_offsets_is_empty_in_generation_0() -> None:
    topic = OffsetsTopic()
    put(topic, 1)

    group = replayed(topic)["g"]

    assert (group.state, group.generation_id, group.protocol_type) == (GroupState.EMPTY, 0, None)
    assert group.state_timestamp_ms == 99


def test_replayed_offsets_of_a_transaction_take_effect_at_its_commit_marker() -> None:
    topic = OffsetsTopic()
    put(topic, 1)
    put(topic, 7, producer_id=3)
    assert committed(replayed(topic)["g"]) == {P0: 1}

    end(topic, 3, commit=True)

    group = replayed(topic)["g"]
    assert committed(group) == {P0: 7}
    assert not group.offsets.is_unstable(P0)


def test_replayed_offsets_of_an_aborted_transaction_are_dropped() -> None:
    topic = OffsetsTopic()
    put(topic, 7, producer_id=3)
    end(topic, 3, commit=False)

    assert replayed(topic) == {}


def test_replayed_offsets_of_an_open_transaction_stay_pending() -> None:
    topic = OffsetsTopic()
    put(topic, 7, producer_id=3)

    group = replayed(topic)["g"]

    assert committed(group) == {}
    assert group.offsets.is_unstable(P0)
    group.offsets.complete_transaction(TransactionEnd(3, is_commit=True, marker_offset=1))
    assert committed(group) == {P0: 7}


def test_a_replayed_plain_commit_after_a_transactional_one_wins_even_if_the_marker_comes_later() -> None:
    topic = OffsetsTopic()
    put(topic, 7, producer_id=3)
    put(topic, 9)
    end(topic, 3, commit=True)

    assert committed(replayed(topic)["g"]) == {P0: 9}


@pytest.mark.parametrize("is_before", [True, False])
def test_an_offset_deleted_during_its_transaction_does_not_come_back_at_the_commit_marker(is_before: bool) -> None:
    """With and without a committed offset before it."""
    topic, live = OffsetsTopic(), Group("g", 99)
    if is_before:
        value = {P0: OffsetAndMetadata(1, 0, "", 1)}
        live.offsets.stage(value)
        live.offsets.on_appended(put(topic, 1), value)
    value = {P0: OffsetAndMetadata(7, 0, "", 1)}
    live.offsets.stage_transactional(3, value)
    live.offsets.on_transactional_appended(3, put(topic, 7, producer_id=3), value)

    for partition in live.offsets.remove_all():  # as when the group is deleted
        delete(topic, partition)
    assert live.offsets.is_empty()
    end(topic, 3, commit=True)

    assert replayed(topic) == {}


def test_a_deleted_group_is_gone_and_later_offsets_make_a_group_without_members() -> None:
    topic = OffsetsTopic()
    put(topic, 4)
    topic.write(0, build_records([(encode_group_key("g"), None), (encode_offset_key("g", P0), None)], 1, Codec.NONE))
    assert replayed(topic) == {}

    put(topic, 5)
    assert replayed(topic)["g"].protocol_type is None


def test_unknown_and_broken_records_are_skipped_and_the_others_replayed(caplog: pytest.LogCaptureFixture) -> None:
    topic = OffsetsTopic()
    put(topic, 1)
    broken = (encode_offset_key("g", P0), b"\x00\x03\x00")
    streams_group = (b"\x00\x11\x00\x01s", b"\x00\x00")
    streams_member = (b"\x00\x13\x00\x01s", b"\x00\x00")
    topic.write(0, build_records([broken, streams_group, streams_member, streams_group], 1, Codec.NONE))
    put(topic, 2, P1)

    assert committed(replayed(topic)["g"]) == {P0: 1, P1: 2}
    assert "record at offset 1 skipped" in caplog.text
    assert "3 records of key versions 17, 19 ignored" in caplog.text


@settings(max_examples=examples(500))
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.sampled_from([P0, P1]), st.sampled_from([None, 1, 2])),
            st.tuples(st.just("end"), st.booleans(), st.sampled_from([1, 2])),
            st.tuples(st.just("delete"), st.sampled_from([P0, P1]), st.none()),
        ),
        max_size=25,
    )
)
def test_a_replayed_group_equals_the_group_that_wrote_the_log(steps: list[tuple[Any, Any, Any]]) -> None:
    """Replaying the log gives the same offsets as the events applied to GroupOffsets."""
    topic, live = OffsetsTopic(), Group("g", 99)
    for number, (step, what, who) in enumerate(steps):
        value = {what: OffsetAndMetadata(number, 0, "", 1)}
        if step == "put" and who is None:
            live.offsets.stage(value)
            live.offsets.on_appended(put(topic, number, what), value)
        elif step == "put":
            live.offsets.stage_transactional(who, value)
            live.offsets.on_transactional_appended(who, put(topic, number, what, who), value)
        elif step == "end":
            live.offsets.complete_transaction(TransactionEnd(who, what, end(topic, who, commit=what)))
        elif live.offsets.remove([what]):
            delete(topic, what)

    loaded = replayed(topic).get("g", Group("g", 99))

    assert committed(loaded) == committed(live)
    for partition in (P0, P1):
        assert loaded.offsets.is_unstable(partition) == live.offsets.is_unstable(partition)
