"""Changes of one share partition: their order, and what is answered when a write is slow or fails."""

from uuid import UUID

import pytest
from pybroker.broker.coordinator.share.ports import SharePartitionKey, StateRead, StateSummary, StateWrite
from pybroker.broker.coordinator.share.records import decode_record
from pybroker.broker.coordinator.share.settings import ShareCoordinatorSettings
from pybroker.broker.coordinator.share.state import Update
from pybroker.broker.coordinator.share.state_batch import StateBatch
from pybroker.broker.coordinator.share.write_parts import MAX_BATCHES
from pybroker.protocol.errors import ErrorCode, NotEnoughReplicasError, NotLeaderOrFollowerError
from pybroker.protocol.records.batch import iter_batches
from support.shares.share_states import ShareStates

KEY = SharePartitionKey("g", UUID(int=1), 0)
WRITE_TIMEOUT_MS = ShareCoordinatorSettings().write_timeout_ms
ACCEPTED = StateBatch(0, 4, 2, 1)


def begun() -> ShareStates:
    world = ShareStates()
    assert world.ask("initialize", KEY, 0, 0) == [ErrorCode.NONE]
    return world


def change(first_offset: int = 0) -> StateWrite:
    return StateWrite(0, -1, -1, 0, [StateBatch(first_offset, first_offset + 4, 2, 1)])


def test_state_is_answered_only_when_it_is_committed() -> None:
    world = begun()
    world.topic.hold()
    write, read = world.ask("write", KEY, change()), world.ask("read", KEY, 0)
    assert (write, read) == ([], [])
    world.topic.release()
    assert (write, read) == ([ErrorCode.NONE], [StateRead(0, 0, (ACCEPTED,))])


def test_changes_that_come_during_a_write_are_written_together() -> None:
    world = begun()
    world.topic.hold()
    answers = [world.ask("write", KEY, change(first)) for first in (0, 10, 20)]
    world.topic.release()
    assert answers == [[ErrorCode.NONE]] * 3
    partition = world.registry.partition_for(KEY)
    counts = [batch.record_count for each in world.topic.batches[partition] for batch in iter_batches(each)]
    assert counts == [1, 1, 2]


def test_write_that_is_refused_changes_nothing() -> None:
    world = begun()
    before = world.states()
    world.topic.refuse(NotEnoughReplicasError())
    assert world.ask("write", KEY, change()) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    world.topic.refuse(None)
    assert world.states() == before == world.replayed()
    assert world.ask("write", KEY, change()) == [ErrorCode.NONE]


def test_after_a_write_in_doubt_the_state_is_not_used_until_it_is_loaded_again() -> None:
    world = begun()
    world.topic.refuse(NotLeaderOrFollowerError())
    assert world.ask("write", KEY, change()) == [ErrorCode.NOT_COORDINATOR]
    world.topic.refuse(None)
    assert world.ask("read", KEY, 0) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_write_that_lasts_too_long_fails_but_takes_effect() -> None:
    world = begun()
    world.topic.hold()
    write, waiting = world.ask("write", KEY, change()), world.ask("read_summary", KEY, 0)
    world.timers.advance(WRITE_TIMEOUT_MS)
    assert write == waiting == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert world.ask("read", KEY, 0) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    world.topic.release()
    assert world.ask("read", KEY, 0) == [StateRead(0, 0, (ACCEPTED,))]


def test_changes_of_a_partition_that_moves_fail_with_not_coordinator() -> None:
    world = begun()
    world.topic.hold()
    write, waiting = world.ask("write", KEY, change()), world.ask("write", KEY, change())
    for entry in world.registry.remove_partition(world.registry.partition_for(KEY)):
        world.writer.drop(entry)
    assert write == waiting == [ErrorCode.NOT_COORDINATOR]
    world.topic.release()
    assert not world.timers.pending


def test_summary_of_a_share_partition_without_state_says_so() -> None:
    world = ShareStates()
    assert world.ask("read_summary", KEY, 0) == [StateSummary(0, 0, -1, -1)]
    assert world.registry.memory.used_bytes == 0


@pytest.mark.parametrize(
    ("call", "arguments"), [("initialize", (KEY, 0, 0)), ("read", (KEY, 0)), ("write", (KEY, change()))]
)
def test_partition_that_does_not_exist_has_no_state(call: str, arguments: tuple[object, ...]) -> None:
    world = ShareStates()
    world.missing.add(KEY.topic_id)
    assert world.ask(call, *arguments) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_states_take_no_more_memory_than_the_limit_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    world = ShareStates(ShareCoordinatorSettings(max_bytes=1_500))
    assert world.ask("initialize", KEY, 0, 0) == [ErrorCode.NONE]
    many = StateWrite(0, -1, -1, 0, [StateBatch(2 * number, 2 * number, 2, 1) for number in range(10)])
    assert world.ask("write", KEY, many) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    used = world.registry.memory.used_bytes
    assert [record.args for record in caplog.records] == [("g", used, 1_500)]
    assert world.ask("write", KEY, change()) == [ErrorCode.NONE]


def test_full_memory_takes_writes_after_which_a_state_is_not_larger() -> None:
    world = begun()
    held = [StateBatch(10 * number, 10 * number + 4, 0, 1) for number in range(1, 4)]
    assert world.ask("write", KEY, StateWrite(0, -1, -1, 0, held)) == [ErrorCode.NONE]
    memory = world.registry.memory
    memory.max_bytes = memory.used_bytes - 1
    replaced = StateBatch(10, 14, 2, 1)
    assert world.ask("write", KEY, StateWrite(0, -1, -1, 0, [replaced])) == [ErrorCode.NONE]
    assert world.ask("write", KEY, change(50)) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert world.ask("read", KEY, 0) == [StateRead(0, 0, (replaced, *held[1:]))]
    used = memory.used_bytes
    assert world.ask("write", KEY, StateWrite(0, -1, 25, 0, [StateBatch(30, 34, 2, 1)])) == [ErrorCode.NONE]
    assert memory.used_bytes < used


def test_full_memory_takes_acknowledgements_of_the_first_records() -> None:
    world = begun()
    assert world.ask("write", KEY, change(10)) == [ErrorCode.NONE]
    memory = world.registry.memory
    used = memory.used_bytes
    memory.max_bytes = used - 1
    several = [StateBatch(0, 3, 2, 1), StateBatch(4, 4, 4, 1)]
    assert world.ask("write", KEY, StateWrite(0, -1, 0, 5, several)) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert world.ask("write", KEY, StateWrite(0, -1, 0, 5, [ACCEPTED])) == [ErrorCode.NONE]
    assert memory.used_bytes == used
    assert world.ask("write", KEY, StateWrite(0, -1, 5, 5, [StateBatch(5, 9, 2, 1)])) == [ErrorCode.NONE]
    assert memory.used_bytes < used


def test_full_memory_lets_an_old_state_begin_anew_but_not_a_new_one() -> None:
    world = begun()
    assert world.ask("write", KEY, change(10)) == [ErrorCode.NONE]
    memory = world.registry.memory
    memory.max_bytes = memory.used_bytes - 1
    other = KEY._replace(group_id="h")
    assert world.ask("initialize", other, 0, 0) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert world.ask("initialize", KEY, 1, 0) == [ErrorCode.NONE]
    assert memory.used_bytes <= memory.max_bytes
    assert world.ask("initialize", other, 0, 0) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_deleted_state_takes_no_memory() -> None:
    world = begun()
    assert world.ask("delete", KEY) == [ErrorCode.NONE]
    assert world.ask("delete", KEY) == [ErrorCode.NONE]
    assert world.registry.memory.used_bytes == 0
    assert world.ask("read", KEY, 0) == [ErrorCode.INVALID_REQUEST]


def test_large_write_is_stored_in_parts_of_which_the_last_moves_the_start_offset() -> None:
    world = begun()
    batches = [StateBatch(2 * number, 2 * number, 2, 1) for number in range(2 * MAX_BATCHES + 1)]
    offset = batches[-1].first_offset
    assert world.ask("write", KEY, StateWrite(0, -1, offset, 0, batches)) == [ErrorCode.NONE]
    records = [decode_record(record.key or b"", record.value)[1] for record in world.topic.records()]
    parts = [(len(record.batches), record.start_offset) for record in records if isinstance(record, Update)]
    assert parts == [(MAX_BATCHES, -1), (MAX_BATCHES, -1), (1, offset)]
    assert world.states() == world.replayed()


def test_many_large_writes_that_wait_are_not_written_in_one_batch() -> None:
    world = begun()
    world.topic.hold()
    batches = [StateBatch(2 * number, 2 * number, 2, 1) for number in range(MAX_BATCHES)]
    answers = [world.ask("write", KEY, StateWrite(0, -1, -1, 0, batches)) for _ in range(4)]
    world.topic.release()
    assert answers == [[ErrorCode.NONE]] * 4
    partition = world.registry.partition_for(KEY)
    counts = [batch.record_count for each in world.topic.batches[partition] for batch in iter_batches(each)]
    assert counts == [1] * 5
