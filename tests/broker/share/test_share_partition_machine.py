"""Random histories of a share partition against a naive model, record by record."""

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from pybroker.broker.coordinator.share.state_batch import StateBatch
from pybroker.broker.share.acknowledgements import Acknowledgement
from pybroker.broker.share.acquisition import Acquisition
from pybroker.broker.share.record_runs import Change, OffsetSpan, RecordState
from pybroker.broker.share.share_partition import SharePartition
from pybroker.protocol.errors import KafkaError
from support.examples import examples

MAX_LOCKS, MAX_DELIVERIES, LOCK_MS = 24, 3, 10
MEMBERS = st.sampled_from("abc")
ORDINALS = st.integers(0, 4)
AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED = RecordState
STATE_OF = {0: ARCHIVED, 1: ACKNOWLEDGED, 2: AVAILABLE, 3: ARCHIVED}


@dataclass
class Record:
    state: RecordState = AVAILABLE
    deliveries: int = 0
    member: str = ""
    deadline_ms: int = 0
    change: Change | None = None

    def free(self, state: RecordState) -> None:
        if state is AVAILABLE and self.deliveries >= MAX_DELIVERIES:
            state = ARCHIVED
        self.state, self.member, self.change = state, "", None


class SharePartitionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.share = SharePartition(0, (), max_locks=MAX_LOCKS, max_deliveries=MAX_DELIVERIES)
        self.now_ms = 0
        self.records: dict[int, Record] = {}
        self.stored: dict[int, tuple[int, int]] = {}
        """State and deliveries of each record by the changes that were stored."""
        self.accepted: set[int] = set()
        self.log = [OffsetSpan(0, 3)]
        self.aborted: set[OffsetSpan] = set()
        self.changes: list[tuple[Change, dict[int, RecordState]]] = []
        self.start_offset = 0

    @rule(counts=st.lists(st.integers(1, 9), min_size=1, max_size=5), gap=st.integers(0, 2), aborted=st.sets(ORDINALS))
    def the_log_grows(self, counts: list[int], gap: int, aborted: set[int]) -> None:
        for ordinal, count in enumerate(counts):
            first = self.log[-1].last + 1 + gap
            self.log.append(OffsetSpan(first, first + count - 1))
            if ordinal in aborted:
                self.aborted.add(self.log[-1])

    @rule(
        member=MEMBERS,
        count=st.integers(1, 20),
        size=st.integers(1, 9),
        is_strict=st.booleans(),
        is_committed=st.booleans(),
        may_grow=st.booleans(),
    )
    def a_member_fetches(
        self, member: str, count: int, size: int, is_strict: bool, is_committed: bool, may_grow: bool
    ) -> None:
        offset = self.share.next_fetch_offset()
        read = [span for span in self.log if span.last >= offset]
        could = self.share.can_acquire(may_grow=may_grow) and bool(read) and read[0].first <= offset
        wish = Acquisition(member, count, size, self.now_ms + LOCK_MS, is_strict)
        aborted = [span for span in read if span in self.aborted] if is_committed else []
        start, end = self.share.start_offset, self.share.end_offset
        got = self.share.acquire(wish, offset, read, aborted, may_grow=may_grow)
        assert may_grow or self.share.end_offset == end
        left_out = {number for span in aborted for number in range(span.first, span.last + 1)}
        total = 0
        for first, last, deliveries in got:
            assert first <= last
            for number in range(first, last + 1):
                assert number not in left_out
                record = self.records.setdefault(number, Record())
                assert (record.state, record.change) == (AVAILABLE, None)
                assert number not in self.accepted
                record.state, record.member, record.deadline_ms = ACQUIRED, member, self.now_ms + LOCK_MS
                record.deliveries += 1
                assert record.deliveries == deliveries <= MAX_DELIVERIES
                total += 1
        longest = max((span.last - span.first for span in read), default=0)
        assert total <= (count if is_strict else count + longest)
        archived = self._archive(left_out.intersection(range(start, self.share.end_offset)), member)
        assert got or not could or archived
        first_read = read[0].first if read else offset
        for number in range(offset, first_read if may_grow else min(first_read, end)):  # there are no such records
            if self.records.setdefault(number, Record()).state is AVAILABLE and self.records[number].change is None:
                self.records[number].state = ARCHIVED

    @rule(member=MEMBERS, data=st.data(), is_renewal=st.booleans())
    def a_member_acknowledges(self, member: str, data: st.DataObject, is_renewal: bool) -> None:
        first = data.draw(st.integers(max(self.share.start_offset - 2, 0), self.share.end_offset))
        last = data.draw(st.integers(first, first + 8))
        if is_renewal:
            types = [4]
        else:
            single = st.lists(st.integers(0, 3), min_size=1, max_size=1)
            each = st.lists(st.integers(0, 3), min_size=last - first + 1, max_size=last - first + 1)
            types = data.draw(single | each)
        numbers = range(max(first, self.share.start_offset), last + 1)
        held = [self.records.get(number, Record()) for number in numbers]
        may = last < self.share.end_offset and all(
            (record.state, record.member, record.change) == (ACQUIRED, member, None) for record in held
        )
        try:
            change = self.share.acknowledge(member, [Acknowledgement(first, last, types)], self.now_ms + LOCK_MS)
        except KafkaError:
            assert not may
            return
        assert may
        for record in held:
            if is_renewal:
                record.deadline_ms = self.now_ms + LOCK_MS
            else:
                record.change = change
        if not is_renewal:
            wanted = types * (last - first + 1) if len(types) == 1 else types
            self.changes.append((change, {number: STATE_OF[wanted[number - first]] for number in numbers}))

    @rule(member=MEMBERS)
    def a_member_leaves(self, member: str) -> None:
        change = self.share.release(member)
        given = {n: r for n, r in self._live() if (r.state, r.member, r.change) == (ACQUIRED, member, None)}
        for record in given.values():
            record.change = change
        self.changes.append((change, dict.fromkeys(given, AVAILABLE)))

    @precondition(lambda self: self.changes)
    @rule(data=st.data(), is_stored=st.booleans())
    def a_change_was_stored_or_not(self, data: st.DataObject, is_stored: bool) -> None:
        change, states = self.changes.pop(data.draw(st.integers(0, len(self.changes) - 1)))
        for number, state in states.items():
            record = self.records[number]
            if record.change is not change:  # below the log start meanwhile
                continue
            if is_stored:
                record.free(state)
            elif record.deadline_ms <= self.now_ms:
                record.free(AVAILABLE)
            else:
                record.change = None
        if is_stored:
            self._store(change)
        self.share.finish(change, is_stored=is_stored, now_ms=self.now_ms)

    @rule(elapsed_ms=st.integers(1, LOCK_MS))
    def time_passes(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms
        change = self.share.expire(self.now_ms)
        for _, record in self._live():
            if record.state is ACQUIRED and record.change is None and record.deadline_ms <= self.now_ms:
                record.free(AVAILABLE)
        self._store(change)
        self.share.finish(change, is_stored=True, now_ms=self.now_ms)

    @rule(by=st.integers(1, 6))
    def the_log_loses_its_beginning(self, by: int) -> None:
        offset = self.share.start_offset + by
        self.share.log_starts_at(offset)
        for number in [number for number in self.records if number < offset]:
            self.records[number].change = None
        self.aborted = {replace_first(span, offset) for span in self.aborted if span.last >= offset}
        self.log = [replace_first(span, offset) for span in self.log if span.last >= offset] or [
            OffsetSpan(offset, offset)
        ]

    @rule()
    def the_leader_changes(self) -> None:
        """The next leader has what was stored; the members' locks are gone."""
        share, start = self.share, self.share.start_offset
        batches = [StateBatch(n, n, *self.stored[n]) for n in sorted(self.stored) if n >= start]
        self.share = SharePartition(start, batches, max_locks=MAX_LOCKS, max_deliveries=MAX_DELIVERIES)
        assert self.share.start_offset >= share.start_offset
        self.changes.clear()
        for number in range(start, max(share.end_offset, self.share.end_offset)):
            state, deliveries = self.stored.get(number, (AVAILABLE, 0))
            self.records[number] = Record(RecordState(state), deliveries)
        self.start_offset = start

    def _archive(self, numbers: set[int], member: str) -> int:
        """Archive aborted records that are available or held by the member; returns how many."""
        records = [self.records.setdefault(number, Record()) for number in numbers]
        free = [r for r in records if r.change is None and (r.state, r.member) in ((AVAILABLE, ""), (ACQUIRED, member))]
        for record in free:
            record.free(ARCHIVED)
        return len(free)

    def _store(self, change: Change) -> None:
        for first, last, state, deliveries in change.batches:
            for number in range(first, last + 1):
                self.stored[number] = state, deliveries
                if state == ACKNOWLEDGED:
                    self.accepted.add(number)

    def _live(self) -> list[tuple[int, Record]]:
        return [(number, record) for number, record in self.records.items() if number >= self.share.start_offset]

    @invariant()
    def the_runs_are_the_records(self) -> None:
        share = self.share
        assert share.start_offset >= self.start_offset
        self.start_offset = share.start_offset
        number = share.start_offset
        for run in share.runs:
            assert run.first == number <= run.last
            for number in range(run.first, run.last + 1):
                record = self.records.get(number, Record())
                assert (run.state, run.member_id, run.change) == (record.state, record.member, record.change)
                if not run.state.is_terminal:
                    assert run.delivery_count == record.deliveries
            number = run.last + 1
        assert number == share.end_offset
        assert share.in_flight <= 2 * MAX_LOCKS + 2


def replace_first(span: OffsetSpan, offset: int) -> OffsetSpan:
    return OffsetSpan(max(span.first, offset), span.last)


def test_share_partition_of_any_history_delivers_as_the_model_of_single_records() -> None:
    machines = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)
    run_state_machine_as_test(SharePartitionMachine, settings=machines)
