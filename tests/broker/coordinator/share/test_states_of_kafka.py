"""States of share partitions that Apache Kafka 4.2.0 wrote into ``__share_group_state`` are read as it read them.

`tests/reference/share-groups` has the log and the states.
"""

import json
from collections.abc import Iterator
from typing import Any

from pybroker.base.uuid_text import uuid_from_text
from pybroker.broker.coordinator.share.ports import SharePartitionKey
from pybroker.broker.coordinator.share.records import decode_record, encode_record
from pybroker.broker.coordinator.share.replay import Replay
from pybroker.broker.coordinator.share.state import Snapshot
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import Record, read_records
from support.source_tree import ROOT

FOLDER = ROOT / "tests" / "reference" / "share-groups"
LOG = memoryview((FOLDER / "states-of-kafka-4.2.0.log").read_bytes())
READ: list[dict[str, Any]] = json.loads((FOLDER / "states.json").read_text())


def records() -> Iterator[Record]:
    for batch in iter_batches(LOG):
        yield from read_records(batch)


def test_each_record_has_the_bytes_that_kafka_wrote() -> None:
    kinds = set()
    for record in records():
        assert record.key is not None
        key, change = decode_record(record.key, record.value)
        assert encode_record(key, change) == (record.key, record.value)
        kinds.add(type(change).__name__)
    assert kinds == {"Snapshot", "Update", "Deletion"}


def test_states_are_loaded_as_kafka_read_them() -> None:
    replay = Replay(0, lambda key: 0)
    for batch in iter_batches(LOG):
        for _ in replay.steps(batch):
            pass
    entries = {entry.key: entry for entry in replay.entries()}
    expected = {SharePartitionKey(each["group"], uuid_from_text(each["topicId"]), 0): each for each in READ}
    assert entries.keys() == expected.keys()
    for key, each in expected.items():
        state = entries[key].state
        assert state is not None
        snapshot = state.snapshot
        assert (snapshot.state_epoch, snapshot.start_offset) == (each["stateEpoch"], each["startOffset"])
        assert state.newest_leader_epoch == 30
        assert [tuple(batch) for batch in snapshot.batches] == [
            (batch["firstOffset"], batch["lastOffset"], batch["deliveryState"], batch["deliveryCount"])
            for batch in each["stateBatches"]
        ]


def test_oldest_needed_record_is_the_first_of_the_last_snapshots() -> None:
    last = {}
    for record in records():
        assert record.key is not None
        key, change = decode_record(record.key, record.value)
        if isinstance(change, Snapshot):
            last[key] = record.offset
    replay = Replay(0, lambda key: 0)
    for batch in iter_batches(LOG):
        for _ in replay.steps(batch):
            pass
    assert {entry.key: entry.snapshot_offset for entry in replay.entries()} == {
        key: offset for key, offset in last.items() if key.group_id != "deleted"
    }
