"""A share coordinator under random requests: the log always gives the states in memory, also without old records."""

from typing import Any
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from pybroker.broker.coordinator.share.ports import SharePartitionKey, StateRead, StateWrite
from pybroker.broker.coordinator.share.settings import ShareCoordinatorSettings
from pybroker.broker.coordinator.share.state import StoredState
from pybroker.broker.coordinator.share.state_batch import StateBatch
from pybroker.protocol.errors import ErrorCode, NotEnoughReplicasError
from support.examples import examples
from support.shares.share_states import ShareStates

KEYS = [SharePartitionKey("g", UUID(int=1), partition) for partition in range(2)]
COLD_MS = 1_000

rarely = st.sampled_from([False, False, False, False, True])
keys = st.sampled_from(KEYS)
epochs = st.sampled_from([-1, -1, -1, 0, 1])
batches = st.lists(
    st.builds(
        lambda first, length, state, count: StateBatch(first, first + length, state, count),
        st.integers(0, 12),
        st.integers(0, 3),
        st.sampled_from([0, 2, 4]),
        st.integers(0, 3),
    ),
    max_size=3,
)

Answered = tuple[SharePartitionKey, StateWrite, list[Any]]


class ShareStateMachine(RuleBasedStateMachine):
    """Appends happen at once, later, or are refused, and the coordinator moves. ``promises``: the answered writes since
    the state began."""

    def __init__(self) -> None:
        super().__init__()
        limits = ShareCoordinatorSettings(updates_per_snapshot=1, cold_snapshot_interval_ms=COLD_MS)
        self.world = ShareStates(limits)
        self.writes: list[Answered] = []
        self.begun: list[tuple[SharePartitionKey, list[Any]]] = []
        self.promises: dict[SharePartitionKey, list[StateWrite]] = {}
        self.start_offsets: dict[SharePartitionKey, int] = {}
        for key in KEYS:
            assert self.world.ask("initialize", key, 0, 0) == [ErrorCode.NONE]

    @rule(key=keys, state_epoch=epochs, start_offset=st.integers(-1, 12), is_done=rarely)
    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int, is_done: bool) -> None:
        if is_done:
            self.begun.append((key, self.world.ask("initialize", key, state_epoch, start_offset)))

    @rule(key=keys, leader_epoch=epochs)
    def read(self, key: SharePartitionKey, leader_epoch: int) -> None:
        answers = self.world.ask("read", key, leader_epoch)
        if not self.world.topic.held_count and isinstance(answers[0], StateRead):
            assert answers[0].batches == self.world.states()[key].snapshot.batches

    @rule(key=keys, state_epoch=epochs, leader_epoch=epochs, start_offset=st.integers(-1, 12), changes=batches)
    def write(
        self, key: SharePartitionKey, state_epoch: int, leader_epoch: int, start_offset: int, changes: list[StateBatch]
    ) -> None:
        write = StateWrite(state_epoch, leader_epoch, start_offset, 0, changes)
        self.writes.append((key, write, self.world.ask("write", key, write)))

    @rule(key=keys, is_done=rarely)
    def delete(self, key: SharePartitionKey, is_done: bool) -> None:
        if is_done:
            self.begun.append((key, self.world.ask("delete", key)))

    @rule()
    def hold(self) -> None:
        if not self.world.topic.held_count:
            self.world.topic.hold()

    @rule(is_refused=st.booleans())
    def release(self, is_refused: bool) -> None:
        self.world.topic.refuse(NotEnoughReplicasError() if is_refused else None)
        self.world.topic.release()
        self.world.topic.refuse(None)

    @rule(lands=st.booleans())
    def move(self, lands: bool) -> None:
        self.world.move(lands=lands)

    @precondition(lambda self: not self.world.topic.held_count)
    @rule(later_ms=st.integers(0, 2 * COLD_MS))
    def keep_short(self, later_ms: int) -> None:
        self.world.now_ms += later_ms
        self.world.upkeep.store_cold_states()
        self.world.timers.advance(0)
        self.world.upkeep.delete_old_records()
        self.world.timers.advance(0)

    @invariant()
    def log_gives_the_states_in_memory(self) -> None:
        in_memory, in_log = self.world.states(), self.world.replayed()
        assert {key: state.snapshot for key, state in in_memory.items()} == {
            key: state.snapshot for key, state in in_log.items()
        }
        if not self.world.deleted:
            assert in_memory == in_log

    @invariant()
    def answered_writes_are_stored(self) -> None:
        if any(not answers for _, answers in self.begun) or any(not answers for _, _, answers in self.writes):
            return
        for key, answers in self.begun:
            if answers[0] in (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR):  # it took effect, or may have
                self.promises.pop(key, None)
                self.start_offsets.pop(key, None)
        if not self.begun:
            for key, write, answers in self.writes:
                if answers == [ErrorCode.NONE]:
                    self.promises.setdefault(key, []).append(write)
        self.begun, self.writes = [], []
        states = self.world.states()
        for key, writes in self.promises.items():
            for write in writes:
                assert_stored(write, states[key])

    @invariant()
    def start_offset_rises_until_the_state_begins_anew(self) -> None:
        if self.begun:
            return
        for key, state in self.world.states().items():
            assert state.snapshot.start_offset >= self.start_offsets.get(key, -1)
            self.start_offsets[key] = state.snapshot.start_offset


def assert_stored(write: StateWrite, state: StoredState) -> None:
    stored = {
        offset: (batch.delivery_count, batch.delivery_state)
        for batch in state.snapshot.batches
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }
    assert state.snapshot.start_offset >= write.start_offset
    for batch in write.batches:
        for offset in range(max(batch.first_offset, state.snapshot.start_offset), batch.last_offset + 1):
            assert stored[offset] >= (batch.delivery_count, batch.delivery_state)


ShareStateMachine.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
TestShareStates = ShareStateMachine.TestCase
