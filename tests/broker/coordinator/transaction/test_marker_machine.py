"""The queue of end markers in any order of events, against a model."""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.end_markers import EndMarker, MarkersToWrite
from pybroker.broker.coordinator.transaction.marker_queue import MarkerQueue
from pybroker.broker.coordinator.transaction.retry_delays import RetryDelays
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.sentinels import NO_LEADER
from support.examples import examples

CODES = [
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
]
RETRIED = CODES[1:3]

NAMES = ("a", "b", "c")
PARTITIONS = tuple(TopicPartition("t", number) for number in range(5))
LEADERS = (1, 2, NO_LEADER)


class MarkerMachine(RuleBasedStateMachine):
    """A model that knows for each wanted marker which partitions lack it, whatever became of earlier requests."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.leaders: dict[TopicPartition, int] = dict.fromkeys(PARTITIONS, 1)
        self.epoch = 0
        self.queue = MarkerQueue(self.leaders.get, lambda *_: True, RetryDelays(10, 40, lambda: 0.5))
        self.wanted: dict[str, EndMarker] = {}
        self.missing: dict[str, set[TopicPartition]] = {}
        self.under_way: dict[int, list[MarkersToWrite]] = {}
        self.due_completions: set[EndMarker] = set()

    @rule(name=st.sampled_from(NAMES), partitions=st.sets(st.sampled_from(PARTITIONS)))
    def want(self, name: str, partitions: set[TopicPartition]) -> None:
        self.epoch += 1
        number = NAMES.index(name)
        wanted = EndMarker(name, number % 2, self.epoch, number, 0, True)
        self.due_completions.discard(self.wanted.get(name, wanted))
        self.wanted[name], self.missing[name] = wanted, set(partitions)
        self.check_complete(self.queue.want(wanted, partitions, self.now_ms))

    @rule(broker_id=st.sampled_from([1, 2]))
    def drain(self, broker_id: int) -> None:
        sent = self.queue.drain(broker_id)
        if broker_id in self.under_way:
            assert sent == []
        elif sent:
            self.under_way[broker_id] = sent
            pairs = Counter((each.marker.producer_id, each_one) for each in sent for each_one in each.partitions)
            assert max(pairs.values()) == 1, "twice in one request"
            for each in sent:
                assert self.wanted.get(each.marker.transactional_id) == each.marker, "dropped, but sent"
                assert set(each.partitions) <= self.missing[each.marker.transactional_id]

    @rule(broker_id=st.sampled_from([1, 2]), code=st.sampled_from(CODES), rest=st.booleans())
    def answer(self, broker_id: int, code: ErrorCode, rest: bool) -> None:
        sent = self.under_way.pop(broker_id, [])
        codes: dict[int, dict[TopicPartition, ErrorCode]] = {}
        for each in sent:
            for number, partition in enumerate(each.partitions):
                told = ErrorCode.NONE if rest and number else code
                codes.setdefault(each.marker.producer_id, {})[partition] = told
                if told not in RETRIED and self.wanted.get(each.marker.transactional_id) == each.marker:
                    self.missing[each.marker.transactional_id].discard(partition)
        self.check_complete(self.queue.answered(broker_id, codes, self.now_ms))

    @rule(broker_id=st.sampled_from([1, 2]))
    def lose(self, broker_id: int) -> None:
        self.under_way.pop(broker_id, None)
        self.queue.lost(broker_id, self.now_ms)

    @rule(partition=st.sampled_from(PARTITIONS), leader=st.sampled_from(LEADERS))
    def move(self, partition: TopicPartition, leader: int) -> None:
        self.leaders[partition] = leader
        self.check_complete(self.queue.leaders_changed(self.now_ms))

    @rule(ms=st.sampled_from([1, 20, 100]))
    def wait(self, ms: int) -> None:
        self.now_ms += ms
        self.check_complete(self.queue.tick(self.now_ms))

    @rule(state_partition=st.sampled_from([0, 1]))
    def drop(self, state_partition: int) -> None:
        self.queue.drop(state_partition)
        for name, wanted in list(self.wanted.items()):
            if wanted.state_partition == state_partition:
                del self.wanted[name], self.missing[name]
                self.due_completions.discard(wanted)

    @rule(is_committed=st.booleans())
    def complete(self, is_committed: bool) -> None:
        for each in sorted(self.due_completions):
            self.due_completions.discard(each)
            if is_committed:
                self.queue.completed(each)
                del self.wanted[each.transactional_id], self.missing[each.transactional_id]
            else:
                self.queue.completion_failed(each, self.now_ms)

    def check_complete(self, complete: list[EndMarker]) -> None:
        assert len(set(complete)) == len(complete)
        for each in complete:
            assert self.wanted.get(each.transactional_id) == each, "a dropped marker became complete"
            assert self.missing[each.transactional_id] == set(), "complete without all partitions"
            assert each not in self.due_completions, "complete twice"
            self.due_completions.add(each)

    @invariant()
    def partitions_without_marker_are_known(self) -> None:
        for name in NAMES:
            assert self.queue.partitions_without_marker(name) == self.missing.get(name, set())

    def teardown(self) -> None:
        """Nothing was lost: with leaders and responses every wanted marker becomes complete."""
        self.leaders.update(dict.fromkeys(PARTITIONS, 2))
        for _ in range(4):
            self.wait(100)
            for broker_id in (1, 2):
                self.drain(broker_id)
                self.answer(broker_id, ErrorCode.NONE, False)
            self.complete(True)
        assert self.wanted == {}
        assert self.queue.brokers_to_send_to() == []


MarkerMachine.TestCase.settings = settings(max_examples=examples(200), stateful_step_count=40, deadline=None)
test_no_marker_is_lost_sent_twice_in_a_request_or_sent_after_it_was_dropped = MarkerMachine.TestCase
