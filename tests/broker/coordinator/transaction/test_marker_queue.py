"""The queue of end markers: each partition gets its marker, one request at a time goes to a broker."""

import logging

import pytest
from pybroker.base.quiet_lines import QUIET_S
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.end_markers import EndMarker, MarkersToWrite
from pybroker.broker.coordinator.transaction.marker_queue import MarkerQueue
from pybroker.broker.coordinator.transaction.retry_delays import RetryDelays
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.sentinels import NO_LEADER

P0, P1, P2 = (TopicPartition("t", number) for number in range(3))
NONE = ErrorCode.NONE
DONE = [NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION]
FENCED = [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED]
RETRIED = [
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
]
UNEXPECTED = [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.CORRUPT_MESSAGE, ErrorCode.CLUSTER_AUTHORIZATION_FAILED]


def marker(name: str = "id", *, state_partition: int = 0, producer_id: int = 70, epoch: int = 3) -> EndMarker:
    return EndMarker(name, state_partition, epoch, producer_id, 5, True)


class World:
    """A queue with the leaders of its partitions: P0 and P1 on broker 1, P2 on broker 2."""

    def __init__(self) -> None:
        self.leaders: dict[TopicPartition, int] = {P0: 1, P1: 1, P2: 2}
        self.epochs = {0: 3, 1: 3}
        self.queue = MarkerQueue(
            self.leaders.get,
            lambda partition, epoch: self.epochs.get(partition) == epoch,
            RetryDelays(100, 1_000, lambda: 0.0),
        )

    def answer(self, broker_id: int, code: ErrorCode, *partitions: TopicPartition, now_ms: int = 0) -> list[EndMarker]:
        return self.queue.answered(broker_id, {70: dict.fromkeys(partitions, code)}, now_ms)


def test_a_marker_is_sent_to_the_leader_of_each_partition() -> None:
    world = World()
    assert world.queue.want(marker(), [P2, P1, P0], 0) == []

    assert world.queue.brokers_to_send_to() == [1, 2]
    assert world.queue.drain(1) == [MarkersToWrite(marker(), (P0, P1))]
    assert world.queue.drain(2) == [MarkersToWrite(marker(), (P2,))]
    assert world.queue.drain(3) == []


def test_a_marker_is_complete_when_its_last_partition_has_it() -> None:
    world = World()
    world.queue.want(marker(), [P0, P1, P2], 0)
    world.queue.drain(1)
    world.queue.drain(2)

    assert world.answer(2, NONE, P2) == []
    assert world.queue.partitions_without_marker("id") == {P0, P1}
    assert world.answer(1, NONE, P0, P1) == [marker()]
    assert world.queue.partitions_without_marker("id") == frozenset()


def test_a_transaction_without_partitions_is_complete_at_once() -> None:
    assert World().queue.want(marker(), [], 0) == [marker()]


def test_a_deleted_partition_needs_no_marker() -> None:
    world = World()
    del world.leaders[P0]
    assert world.queue.want(marker(), [P0, P2], 0) == []
    assert world.queue.partitions_without_marker("id") == {P2}
    assert world.queue.want(marker("other"), [P0], 0) == [marker("other")]


def test_at_most_one_request_is_under_way_to_a_broker() -> None:
    world = World()
    world.queue.want(marker(), [P0], 0)
    world.queue.drain(1)
    world.queue.want(marker("other", producer_id=71), [P1], 0)

    assert world.queue.drain(1) == []
    assert world.queue.brokers_to_send_to() == []
    world.answer(1, NONE, P0)
    assert world.queue.brokers_to_send_to() == [1]
    assert world.queue.drain(1) == [MarkersToWrite(marker("other", producer_id=71), (P1,))]


@pytest.mark.parametrize("code", DONE, ids=lambda code: code.name)
def test_a_partition_is_done_after_these_codes(code: ErrorCode) -> None:
    world = World()
    world.queue.want(marker(), [P0], 0)
    world.queue.drain(1)
    assert world.answer(1, code, P0) == [marker()]


@pytest.mark.parametrize("code", [*RETRIED, *UNEXPECTED], ids=lambda code: code.name)
def test_a_partition_is_retried_at_its_present_leader_after_these_codes(
    code: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    world.queue.want(marker(), [P0, P1], 0)
    world.queue.drain(1)

    answers = {70: {P0: code, P1: NONE}}
    assert world.queue.answered(1, answers, 1_000) == []
    world.leaders[P0] = 2

    assert world.queue.next_due_ms == 1_050
    assert world.queue.tick(1_049) == []
    assert world.queue.brokers_to_send_to() == []
    assert world.queue.tick(1_050) == []
    assert world.queue.drain(2) == [MarkersToWrite(marker(), (P0,))]
    errors = [line for line in caplog.records if line.levelno == logging.ERROR]
    assert [hasattr(line, QUIET_S) for line in errors] == [True] * (code in UNEXPECTED)


def test_a_partition_that_is_missing_in_the_response_is_retried() -> None:
    world = World()
    world.queue.want(marker(), [P0], 0)
    world.queue.drain(1)
    assert world.queue.answered(1, {}, 0) == []
    world.queue.tick(50)
    assert world.queue.drain(1) == [MarkersToWrite(marker(), (P0,))]


def test_each_failure_of_a_partition_makes_its_next_delay_longer() -> None:
    world = World()
    world.queue.want(marker(), [P0], 0)
    now_ms, delays = 0, []
    for _ in range(6):
        world.queue.drain(1)
        world.answer(1, ErrorCode.NOT_ENOUGH_REPLICAS, P0, now_ms=now_ms)
        due_ms = world.queue.next_due_ms
        assert due_ms is not None
        delays.append(due_ms - now_ms)
        now_ms = due_ms
        world.queue.tick(now_ms)
    assert delays == [50, 100, 200, 400, 500, 500]


def test_markers_of_a_lost_request_are_sent_again() -> None:
    world = World()
    world.queue.want(marker(), [P0, P1], 0)
    world.queue.drain(1)

    world.queue.lost(1, 0)
    world.queue.tick(50)

    assert world.queue.drain(1) == [MarkersToWrite(marker(), (P0, P1))]


@pytest.mark.parametrize("code", FENCED, ids=lambda code: code.name)
def test_a_fenced_marker_ends_its_transaction_here_only_if_another_broker_coordinates_it(
    code: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    world.queue.want(marker(), [P0, P1, P2], 0)
    world.queue.drain(1)
    world.epochs[0] = 4

    assert world.answer(1, code, P0, P1) == []

    assert world.queue.brokers_to_send_to() == []
    assert world.queue.partitions_without_marker("id") == frozenset()
    assert caplog.text == ""


@pytest.mark.parametrize("code", FENCED, ids=lambda code: code.name)
def test_a_fenced_marker_of_the_present_coordinator_is_done_and_the_others_go_on(
    code: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    world.queue.want(marker(), [P0, P2], 0)
    world.queue.drain(1)
    assert world.answer(1, code, P0) == []
    assert f"t-0: end marker of 'id' refused, will not be sent again: {code.name}" in caplog.text
    world.queue.drain(2)
    assert world.answer(2, NONE, P2) == [marker()]


# -- leaders


def test_a_partition_without_a_leader_waits_until_it_has_one() -> None:
    world = World()
    world.leaders[P0] = NO_LEADER
    world.queue.want(marker(), [P0], 0)
    assert world.queue.brokers_to_send_to() == []
    assert world.queue.leaders_changed(1) == []
    assert world.queue.brokers_to_send_to() == []

    world.leaders[P0] = 2
    assert world.queue.leaders_changed(2) == []

    assert world.queue.drain(2) == [MarkersToWrite(marker(), (P0,))]
    assert world.queue.next_due_ms is None


def test_a_partition_that_is_deleted_while_it_waits_for_a_leader_is_done() -> None:
    world = World()
    world.leaders[P0] = world.leaders[P1] = NO_LEADER
    world.queue.want(marker(), [P0], 0)
    world.queue.want(marker("other"), [P1], 0)
    del world.leaders[P0], world.leaders[P1]
    assert world.queue.leaders_changed(0) == [marker(), marker("other")]


def test_a_change_of_leaders_does_not_hurry_failed_partitions() -> None:
    world = World()
    world.queue.want(marker(), [P0], 0)
    world.queue.drain(1)
    world.answer(1, ErrorCode.NOT_ENOUGH_REPLICAS, P0)
    world.queue.want(marker("failed"), [], 0)
    world.queue.completion_failed(marker("failed"), 0)
    assert world.queue.leaders_changed(0) == []
    assert world.queue.brokers_to_send_to() == []
    assert world.queue.next_due_ms == 50


# -- completion


def test_a_completion_that_failed_is_due_again_until_it_is_committed() -> None:
    world = World()
    world.queue.want(marker(), [], 0)

    world.queue.completion_failed(marker(), 0)
    assert world.queue.tick(49) == []
    assert world.queue.tick(50) == [marker()]
    assert world.queue.tick(10_000) == []
    world.queue.completion_failed(marker(), 10_000)
    world.queue.completed(marker())

    assert world.queue.tick(99_999) == []


def test_completions_of_a_forgotten_marker_change_nothing() -> None:
    world = World()
    world.queue.want(marker(), [], 0)
    world.queue.want(marker(epoch=4), [P0], 0)

    world.queue.completion_failed(marker(), 0)
    world.queue.completed(marker())

    assert world.queue.next_due_ms is None
    assert world.queue.partitions_without_marker("id") == {P0}


# -- unloading


def test_markers_of_an_unloaded_partition_are_dropped_wherever_they_wait() -> None:
    world = World()
    world.queue.want(marker(), [P0, P2], 0)
    world.queue.drain(1)
    world.queue.want(marker("other", state_partition=1, producer_id=71), [P1], 0)
    world.queue.want(marker("failed"), [], 0)
    world.queue.completion_failed(marker("failed"), 0)

    world.queue.drop(0)

    assert world.queue.brokers_to_send_to() == []
    assert world.answer(1, NONE, P0) == []
    assert world.queue.drain(1) == [MarkersToWrite(marker("other", state_partition=1, producer_id=71), (P1,))]
    assert world.queue.tick(99_999) == []


def test_a_dropped_request_that_is_lost_is_not_sent_again() -> None:
    world = World()
    world.queue.want(marker(), [P0], 0)
    world.queue.drain(1)
    world.queue.drop(0)
    world.queue.lost(1, 0)
    assert world.queue.next_due_ms is None


def test_a_late_response_to_a_dropped_marker_does_not_count_for_the_next_one() -> None:
    """The partition moved away and came back, so that the same transaction is ended under a higher epoch."""
    world = World()
    world.queue.want(marker(), [P0], 0)
    world.queue.drain(1)
    world.queue.drop(0)
    world.queue.want(marker(epoch=4), [P0], 0)

    assert world.answer(1, NONE, P0) == []

    assert world.queue.partitions_without_marker("id") == {P0}
    assert world.queue.drain(1) == [MarkersToWrite(marker(epoch=4), (P0,))]


def test_results_of_taken_markers_come_one_by_one() -> None:
    world = World()
    world.queue.want(marker(), [P0, P1], 0)
    assert world.queue.take(1) == [MarkersToWrite(marker(), (P0, P1))]
    assert world.queue.brokers_to_send_to() == []
    world.queue.want(marker("other", producer_id=71), [P0], 0)
    assert world.queue.take(1) == [MarkersToWrite(marker("other", producer_id=71), (P0,))]

    assert world.queue.wrote(marker(), P0, NONE, 0) == []
    assert world.queue.wrote(marker(), P1, ErrorCode.NOT_ENOUGH_REPLICAS, 0) == []
    assert world.queue.tick(1_000) == []
    assert world.queue.take(1) == [MarkersToWrite(marker(), (P1,))]
    assert world.queue.wrote(marker(), P1, NONE, 0) == [marker()]


def test_a_late_result_of_a_marker_does_not_count_for_the_next_coordinator_epoch() -> None:
    world = World()
    world.queue.want(marker(), [P0], 0)
    world.queue.take(1)
    world.epochs[0] = 4
    world.queue.want(marker(epoch=4), [P0], 0)
    assert world.queue.wrote(marker(), P0, NONE, 0) == []
    assert world.queue.partitions_without_marker("id") == {P0}
