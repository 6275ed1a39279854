"""Replay: the records of a ``__transaction_state`` partition become transactional ids again."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.records import encode_key, encode_value
from pybroker.broker.coordinator.transaction.replay import Replay
from pybroker.broker.coordinator.transaction.states import ENDING_STATES, TransactionState
from pybroker.protocol.errors import (
    CoordinatorNotAvailableError,
    CorruptRecordError,
)
from pybroker.protocol.records.batch import RecordBatch, iter_batches
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.protocol.records.walk import Record

LOG_DIRECTORY = Path(__file__).parents[3] / "reference/logdirs/kafka-3.9"
DESCRIBED = Path(__file__).parents[3] / "reference/transactions"
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
ONE = TransactionPicture(TransactionState.ONGOING, ProducerIdentity(1000, 3), 60_000, frozenset({P0}), 7, 8)
TWO = ONE._replace(last_update_ms=9)


def replay_batches(batches: Iterator[RecordBatch], partition_for: Callable[[str], int] = lambda _: 0) -> Replay:
    replay = Replay(0, partition_for)
    for batch in batches:
        for _ in replay.steps(batch):
            pass
    return replay


def replayed(*batches: bytes) -> dict[str, TransactionPicture]:
    replay = replay_batches(batch for data in batches for batch in iter_batches(data))
    return {each.transactional_id: each.current for each in replay.entries()}


def batch_of(*records: tuple[bytes | None, bytes | None]) -> bytes:
    return build_batch([Record(offset, 5, key, value) for offset, (key, value) in enumerate(records)], base_offset=0)


def put(transactional_id: str, picture: TransactionPicture) -> tuple[bytes, bytes]:
    return encode_key(transactional_id), encode_value(picture, 1)


# -- a real broker's log

DUMPED = re.compile(
    r"transactionalId=(\S+) payload: (?:(<DELETE>)|producerId:(\d+),producerEpoch:(\d+),state=(\w+),"
    r"partitions=\[(.*?)\],txnLastUpdateTimestamp=(\d+),txnTimeoutMs=(\d+))"
)


@pytest.mark.parametrize("partition", [0, 1])
def test_the_log_of_a_real_broker_gives_the_state_in_its_dump(partition: int) -> None:
    paths = sorted((LOG_DIRECTORY / f"data/__transaction_state-{partition}").glob("*.log"))
    replay = replay_batches(batch for path in paths for batch in iter_batches(path.read_bytes()))
    text = (LOG_DIRECTORY / f"__transaction_state-{partition}.dump.txt").read_text()
    expected = {found[0]: found[2:] for found in DUMPED.findall(text)}
    assert expected

    assert {
        each.transactional_id: (
            str(each.current.producer.producer_id),
            str(each.current.producer.epoch),
            each.state.title,
            ",".join(sorted(map(str, each.current.partitions))),
            str(each.current.last_update_ms),
            str(each.current.timeout_ms),
        )
        for each in replay.entries()
    } == {name: (*found[:3], ",".join(sorted(found[3].split(","))), *found[4:]) for name, found in expected.items()}


def test_the_log_of_a_real_broker_gives_the_state_that_it_described() -> None:
    """Kafka describes an ending transaction without the partitions that have their marker. It keeps the start of the
    last transaction of an Empty id in memory, but stores none."""
    paths = sorted((DESCRIBED / "data").glob("__transaction_state-*/*.log"))
    replay = replay_batches(batch for path in paths for batch in iter_batches(path.read_bytes()))
    found = {each.transactional_id: each.current for each in replay.entries()}
    described = [json.loads(line) for line in (DESCRIBED / "states.jsonl").read_text().splitlines()]
    assert {each["transactionalId"] for each in described} == set(found)
    assert {each["state"] for each in described} == {state.title for state in TransactionState if state < 6}
    for told in described:
        picture = found[told["transactionalId"]]
        assert picture.state.title == told["state"]
        assert (picture.producer.producer_id, picture.producer.epoch) == (told["producerId"], told["producerEpoch"])
        assert picture.timeout_ms == told["timeoutMs"]
        if picture.state is not TransactionState.EMPTY:
            assert picture.start_ms == told["startMs"]
        partitions = set(map(str, picture.partitions))
        assert partitions == set(told["partitions"]) or (
            picture.state in ENDING_STATES and partitions > set(told["partitions"])
        )


# -- rules


def test_the_newest_record_of_an_id_counts() -> None:
    assert replayed(batch_of(put("a", ONE), put("b", ONE)), batch_of(put("a", TWO))) == {"a": TWO, "b": ONE}


def test_a_tombstone_deletes_an_id_until_it_is_written_again() -> None:
    tombstone = (encode_key("a"), None)
    assert replayed(batch_of(put("a", ONE), tombstone)) == {}
    assert replayed(batch_of(put("a", ONE), tombstone, put("a", TWO))) == {"a": TWO}


def test_records_are_counted_and_applied_one_for_each_step() -> None:
    replay = Replay(0, lambda _: 0)
    (batch,) = iter_batches(batch_of(put("a", ONE), put("b", ONE)))
    assert len(list(replay.steps(batch))) == 2
    assert replay.record_count == 2


def test_control_batches_are_skipped() -> None:
    marker = build_marker_batch(EndTransactionMarker(True, 0), producer_id=1, producer_epoch=0, timestamp_ms=1)
    assert replayed(marker, batch_of(put("a", ONE))) == {"a": ONE}


UNREADABLE = {
    "an_unknown_state": (encode_key("a"), encode_value(ONE, 0)[:16] + b"\x09" + encode_value(ONE, 0)[17:]),
    "an_unknown_version_of_the_value": (encode_key("a"), b"\x00\x07"),
    "an_unknown_version_of_the_key": (b"\x00\x07", encode_value(ONE, 0)),
    "no_key": (None, encode_value(ONE, 0)),
}


@pytest.mark.parametrize("record", UNREADABLE.values(), ids=UNREADABLE)
def test_a_record_that_cannot_be_read_ends_the_load(record: tuple[bytes | None, bytes | None]) -> None:
    with pytest.raises(CorruptRecordError, match="__transaction_state-0: record at offset 1 cannot be read"):
        replayed(batch_of(put("a", ONE), record, put("a", TWO)))


def test_an_id_of_another_partition_ends_the_load() -> None:
    replay = replay_batches(iter_batches(batch_of(put("a", ONE))), lambda _: 7)
    with pytest.raises(CoordinatorNotAvailableError, match=r"'a' belongs to partition 7 .* the number of partitions"):
        list(replay.entries())
