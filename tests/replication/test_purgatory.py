"""A parked request ends exactly once: by its condition, by an error, or by its deadline."""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.replication.partition.delayed_fetch import DelayedFetch, FetchWatchers
from pybroker.replication.partition.fetch import FetchParams, PartitionFetch
from pybroker.replication.partition.isolation import Isolation
from pybroker.replication.partition.min_bytes_checks import CHECKS_PER_ITERATION
from pybroker.replication.partition.operation_heap import OperationHeap
from pybroker.replication.partition.purgatory import (
    COMPLETED_PER_ITERATION,
    AppendPurgatory,
    DelayedAppend,
    FetchPurgatory,
    pause_s,
)
from support.time.loop_errors import loop_errors, on_purpose
from support.time.virtual_timers import VirtualTimers

PAUSE_MS = 5
"""At most so long answers to many gather here, whatever the default is."""


def committed(required_offset: int) -> ErrorCode:
    return ErrorCode.NONE


def fetch_of(topic: str) -> PartitionFetch:
    return PartitionFetch((topic, 0), TopicPartition(topic, 0), 0, 1 << 20)


def fetch_params(max_wait_ms: int = 500, min_bytes: int = 1, replica_id: int = -1) -> FetchParams:
    isolation = Isolation.HIGH_WATERMARK if replica_id < 0 else Isolation.LOG_END
    return FetchParams(max_wait_ms, min_bytes, 1 << 20, isolation, replica_id)


class ParkedAppends:
    """A purgatory in virtual time with one partition, and what its appends ended with."""

    def __init__(self) -> None:
        self.timers = VirtualTimers()
        self.purgatory = AppendPurgatory(self.timers)
        self.waiting: OperationHeap[DelayedAppend] = OperationHeap()
        self.ends: list[tuple[int, ErrorCode]] = []

    def park(self, name: int, required_offset: int, timeout_ms: int) -> None:
        self.purgatory.park(self.waiting, required_offset, timeout_ms, lambda error: self.ends.append((name, error)))


def test_the_high_watermark_completes_the_appends_it_reached_in_their_order() -> None:
    parked = ParkedAppends()
    for name, required_offset in ((1, 10), (2, 20), (3, 30)):
        parked.park(name, required_offset, 1000)
    parked.purgatory.advance(parked.waiting, 20, committed)
    assert parked.ends == [(1, ErrorCode.NONE), (2, ErrorCode.NONE)]
    parked.timers.advance(2000)
    assert parked.ends[2:] == [(3, ErrorCode.REQUEST_TIMED_OUT)]
    assert len(parked.purgatory) == 0
    assert len(parked.waiting) == 0


async def test_failing_completion_of_an_append_does_not_block_the_next_ones() -> None:
    errors = loop_errors()
    parked = ParkedAppends()
    for name, required_offset, timeout_ms in ((1, 10, 1000), (2, 20, 1000), (3, 30, 1000)):
        parked.purgatory.park(parked.waiting, required_offset, timeout_ms, on_purpose)
        parked.park(name, required_offset, timeout_ms)
    parked.purgatory.advance(parked.waiting, 10, committed)
    parked.timers.advance(1000)
    assert parked.ends == [(1, ErrorCode.NONE), (2, ErrorCode.REQUEST_TIMED_OUT), (3, ErrorCode.REQUEST_TIMED_OUT)]
    assert errors == ["on purpose"] * 3


def test_a_duplicate_does_not_wait_for_appends_behind_its_original() -> None:
    parked = ParkedAppends()
    parked.park(1, 10, 1000)
    parked.park(2, 20, 1000)
    parked.park(3, 10, 1000)  # the producer sent the first batch again
    parked.purgatory.advance(parked.waiting, 10, committed)
    assert [name for name, _ in parked.ends] == [1, 3]


def test_an_append_times_out_at_its_own_deadline() -> None:
    parked = ParkedAppends()
    for name, timeout_ms in ((1, 300), (2, 100), (3, 200), (4, 0)):
        parked.park(name, 10, timeout_ms)
    seen = []
    for _ in range(4):
        seen.append([name for name, _ in parked.ends])
        parked.timers.advance(100)
    assert seen == [[], [4, 2], [4, 2, 3], [4, 2, 3, 1]]


def test_lost_leadership_fails_all_parked_appends_and_leaves_no_timer() -> None:
    parked = ParkedAppends()
    parked.park(1, 10, 100)
    parked.park(2, 20, 100)
    parked.purgatory.fail_all(parked.waiting, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    parked.purgatory.advance(parked.waiting, 99, committed)
    parked.timers.advance(1000)
    assert parked.ends == [(1, ErrorCode.NOT_LEADER_OR_FOLLOWER), (2, ErrorCode.NOT_LEADER_OR_FOLLOWER)]


def test_finished_appends_do_not_pile_up_until_their_timeouts() -> None:
    parked = ParkedAppends()
    for offset in range(1, 5001):
        parked.park(offset, offset, 30_000)
        parked.purgatory.advance(parked.waiting, offset, committed)
    assert len(parked.ends) == 5000
    assert len(parked.purgatory._timer._heap._entries) < 200
    assert parked.timers.pending == 1  # one timer of the loop serves them all


def test_timed_out_appends_do_not_pile_up_while_the_high_watermark_does_not_move() -> None:
    parked = ParkedAppends()
    for name in range(5000):
        parked.park(name, 10, 1)
        parked.timers.advance(2)
    assert len(parked.ends) == 5000
    assert len(parked.waiting._entries) < 200


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("park"), st.integers(1, 30), st.integers(0, 50)),
            st.tuples(st.just("advance"), st.integers(0, 40), st.just(0)),
            st.tuples(st.just("wait"), st.integers(0, 60), st.just(0)),
            st.tuples(st.just("fail"), st.just(0), st.just(0)),
        ),
        max_size=80,
    )
)
def test_every_append_ends_exactly_once_and_for_the_right_reason(steps: list[tuple[str, int, int]]) -> None:
    parked = ParkedAppends()
    expected: dict[
        int, tuple[int, float]
    ] = {}  # name → (required offset, deadline) of each append that must still be parked
    high_watermark = 0
    for name, (what, amount, timeout_ms) in enumerate(steps):
        now_ms = parked.timers.time() * 1000
        ended_before = len(parked.ends)
        if what == "park":
            required = high_watermark + amount
            parked.park(name, required, timeout_ms)
            expected[name] = (required, now_ms + timeout_ms)
            due = {}
        elif what == "advance":
            high_watermark += amount
            parked.purgatory.advance(parked.waiting, high_watermark, committed)
            due = {key: ErrorCode.NONE for key, (offset, _) in expected.items() if offset <= high_watermark}
        elif what == "wait":
            parked.timers.advance(amount)
            due = {
                key: ErrorCode.REQUEST_TIMED_OUT for key, (_, end) in expected.items() if end <= now_ms + amount + 1e-6
            }
        else:
            parked.purgatory.fail_all(parked.waiting, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            due = dict.fromkeys(expected, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        ended = dict(parked.ends[ended_before:])
        # A timer may be a millisecond early, never late.
        early = {key for key in ended if key not in due}
        assert all(expected[key][1] <= now_ms + amount + 1.001 for key in early if what == "wait")
        assert due.items() <= ended.items()
        assert what == "wait" or not early
        for key in ended:
            del expected[key]
    assert max(Counter(name for name, _ in parked.ends).values(), default=1) == 1
    assert len(parked.waiting) == len(parked.purgatory) == len(expected)


# -- fetches ---------------------------------------------------------------------------------------------------------


class ParkedFetches:
    def __init__(self) -> None:
        self.timers = VirtualTimers()
        self.purgatory = FetchPurgatory(self.timers, PAUSE_MS)
        self.watchers: dict[str, FetchWatchers] = {"a": FetchWatchers(), "b": FetchWatchers()}
        self.ended: list[str] = []
        self.available = {"a": 0, "b": 0}
        self.looks = 0

    def park(
        self, name: str, topics: str, max_wait_ms: int = 500, min_bytes: int = 1, replica_id: int = -1
    ) -> DelayedFetch:
        params = fetch_params(max_wait_ms, min_bytes, replica_id)
        fetch = self.purgatory.delayed_fetch(params, lambda: self.ended.append(name))
        for topic in topics:
            fetch.watch(self.watchers[topic], fetch_of(topic))
        self.purgatory.park(fetch)
        return fetch

    def data_arrives(self, topic: str, size_bytes: int) -> None:
        """Append records, and let the loop run one iteration."""
        self.data_is_written(topic, size_bytes)
        self.timers.turn()

    def data_is_written(self, topic: str, size_bytes: int) -> None:
        self.available[topic] = size_bytes
        self.purgatory.wake(self.watchers[topic], partial(self.is_enough, topic))

    def is_enough(self, topic: str, operation: DelayedFetch, fetch: PartitionFetch) -> bool:
        self.looks += 1
        return operation.note_available(fetch, self.available[topic])

    def answer_many(self, count: int = 8, topics: str = "a") -> None:
        """Answer this many consumers that wait for the same partitions."""
        for _ in range(count):
            self.park("one of many", topics)
        self.data_arrives(topics[0], 1)
        assert self.ended == ["one of many"] * count
        self.ended.clear()


def test_a_fetch_wakes_only_for_its_own_partitions() -> None:
    parked = ParkedFetches()
    parked.park("of a", "a")
    parked.park("of b", "b")
    parked.park("of both", "ab")
    parked.data_arrives("a", 1)
    assert parked.ended == ["of a", "of both"]
    assert list(parked.watchers["a"]) == []
    assert len(parked.watchers["b"]) == 1
    assert len(parked.purgatory) == 1


def test_min_bytes_are_summed_over_partitions_and_not_counted_twice() -> None:
    parked = ParkedFetches()
    parked.park("f", "ab", min_bytes=100)
    for topic, size_bytes in (("a", 30), ("a", 60), ("a", 60), ("b", 39)):
        parked.data_arrives(topic, size_bytes)
        parked.timers.advance(1)
        assert parked.ended == []
    parked.data_arrives("b", 40)
    parked.timers.advance(1)
    assert parked.ended == ["f"]


def test_max_wait_ends_a_fetch_with_the_available_records() -> None:
    parked = ParkedFetches()
    parked.park("f", "ab", max_wait_ms=500, min_bytes=100)
    parked.data_arrives("a", 30)
    parked.timers.advance(498)
    assert parked.ended == []
    parked.timers.advance(2)
    assert parked.ended == ["f"]
    assert not parked.watchers["a"]
    assert not parked.watchers["b"]


@pytest.mark.parametrize("first", ["data", "time", "error"])
def test_fetch_ends_once_by_data_timeout_or_error(first: str) -> None:
    parked = ParkedFetches()
    fetch = parked.park("f", "ab")
    order = {"data": 0, "time": 1, "error": 2}[first]
    ends: list[Callable[[], None]] = [
        lambda: parked.data_arrives("b", 5),
        lambda: parked.timers.advance(1000),
        lambda: parked.purgatory.complete_all(parked.watchers["a"]),
    ]
    for end in ends[order:] + ends[:order]:
        end()
    fetch.complete()
    assert parked.ended == ["f"]
    assert len(parked.purgatory) == 0


def test_a_finished_fetch_may_park_another_while_it_is_woken() -> None:
    parked = ParkedFetches()
    fetch = parked.purgatory.delayed_fetch(
        fetch_params(), lambda: parked.ended.append(f"{parked.park('next', 'a')}"[:0])
    )
    fetch.watch(parked.watchers["a"], fetch_of("a"))
    parked.purgatory.park(fetch)
    parked.data_arrives("a", 1)
    assert len(parked.ended) == 1
    assert len(parked.watchers["a"]) == 1


def test_append_completes_parked_fetches_in_the_next_loop_iteration() -> None:
    parked = ParkedFetches()
    parked.park("f", "ab")
    parked.data_is_written("a", 1)
    parked.data_is_written("a", 2)
    parked.data_is_written("b", 1)
    assert parked.ended == []
    parked.timers.turn()
    assert parked.ended == ["f"]


def test_many_parked_fetches_complete_in_order_over_several_loop_iterations() -> None:
    parked = ParkedFetches()
    names = [str(number) for number in range(2 * COMPLETED_PER_ITERATION + 5)]
    for name in names:
        parked.park(name, "a")
    parked.data_arrives("a", 1)
    assert parked.ended == names[:COMPLETED_PER_ITERATION]
    parked.timers.turn()
    assert parked.ended == names[: 2 * COMPLETED_PER_ITERATION]
    parked.timers.turn()
    assert parked.ended == names
    assert (parked.timers.pending, len(parked.watchers["a"])) == (1, 0)  # the timer of the fetches, which moves lazily


def test_ended_fetches_are_skipped_and_fetches_below_min_bytes_stay_parked() -> None:
    parked = ParkedFetches()
    for number in range(COMPLETED_PER_ITERATION):
        parked.park(str(number), "a")
    of_both = parked.park("of both", "ab")
    parked.park("wants more", "a", min_bytes=100)
    parked.park("of a", "a")
    parked.data_arrives("a", 1)
    of_both.complete()
    parked.data_arrives("b", 1)
    assert parked.ended[COMPLETED_PER_ITERATION:] == ["of both", "of a"]
    assert len(parked.watchers["a"]) == 1


def test_no_fetch_is_completed_after_the_purgatory_is_closed() -> None:
    parked = ParkedFetches()
    parked.park("f", "a")
    parked.data_is_written("a", 1)
    parked.purgatory.close()
    parked.timers.turn()
    assert parked.ended == []


# -- pauses -------------------------------------------------------------------------------------------


def test_after_many_consumers_were_answered_new_records_gather_and_are_sent_together() -> None:
    parked = ParkedFetches()
    parked.answer_many(8, topics="ab")
    parked.park("f", "a")
    parked.data_arrives("a", 1)
    parked.park("g", "b")
    parked.data_arrives("b", 1)
    parked.data_arrives("a", 2)
    parked.timers.advance(4)
    assert parked.ended == []
    parked.timers.advance(1)
    assert parked.ended == ["f", "g"]


def test_a_partition_pauses_each_time_many_of_its_consumers_were_answered() -> None:
    parked = ParkedFetches()
    for _ in range(3):
        parked.answer_many()
        parked.park("f", "a")
        parked.data_arrives("a", 1)
        assert parked.ended == []
        parked.timers.advance(5)
        assert parked.ended == ["f"]
        parked.ended.clear()


def test_a_partition_does_not_pause_any_longer_than_its_pause() -> None:
    parked = ParkedFetches()
    parked.answer_many(8)
    parked.timers.advance(5)
    parked.park("f", "a")
    parked.data_arrives("a", 1)
    assert parked.ended == ["f"]


def test_a_partition_with_three_consumers_never_pauses() -> None:
    parked = ParkedFetches()
    parked.answer_many(3)
    parked.park("f", "a")
    parked.data_arrives("a", 1)
    assert parked.ended == ["f"]


def test_consumers_answered_over_several_loop_iterations_cause_one_pause() -> None:
    parked = ParkedFetches()
    for _ in range(COMPLETED_PER_ITERATION + 1):
        parked.park("one of many", "a")
    parked.data_arrives("a", 1)
    parked.timers.turn()
    assert len(parked.ended) == COMPLETED_PER_ITERATION + 1
    parked.park("f", "a")
    parked.data_arrives("a", 1)
    assert "f" not in parked.ended
    parked.timers.advance(5)
    assert parked.ended[-1] == "f"


def test_a_consumer_does_not_wait_for_a_partition_it_does_not_read() -> None:
    parked = ParkedFetches()
    parked.answer_many()
    parked.park("f", "b")
    parked.data_arrives("b", 1)
    assert parked.ended == ["f"]


def test_few_consumers_in_each_of_many_partitions_cause_no_pause() -> None:
    parked = ParkedFetches()
    for topic in "aaabbb":
        parked.park("one of few", topic)
    parked.data_is_written("a", 1)
    parked.data_arrives("b", 1)
    assert len(parked.ended) == 6
    parked.park("f", "a")
    parked.data_arrives("a", 1)
    assert parked.ended[6:] == ["f"]


def test_a_consumer_that_waits_for_a_pause_is_answered_when_another_partition_has_records() -> None:
    parked = ParkedFetches()
    parked.answer_many()
    parked.park("f", "ab")
    parked.data_arrives("a", 1)
    assert parked.ended == []
    parked.data_arrives("b", 1)
    assert parked.ended == ["f"]
    parked.timers.advance(10)
    assert parked.ended == ["f"]


def test_two_partitions_pause_each_for_its_own_time() -> None:
    parked = ParkedFetches()
    parked.answer_many(topics="a")
    parked.timers.advance(2)
    parked.answer_many(topics="b")
    parked.park("of b", "b")
    parked.data_arrives("b", 1)
    parked.park("of a", "a")
    parked.data_arrives("a", 1)
    parked.timers.advance(3)
    assert parked.ended == ["of a"]
    parked.timers.advance(2)
    assert parked.ended == ["of a", "of b"]


def test_answered_followers_cause_no_pause() -> None:
    parked = ParkedFetches()
    for replica_id in range(8):
        parked.park("follower", "a", replica_id=replica_id)
    parked.data_arrives("a", 1)
    parked.park("next", "a", replica_id=2)
    parked.data_arrives("a", 1)
    assert parked.ended[8:] == ["next"]


def test_only_a_partition_sent_to_many_consumers_pauses() -> None:
    parked = ParkedFetches()
    parked.answer_many()
    assert parked.purgatory.is_paused(parked.watchers["a"])
    assert not parked.purgatory.is_paused(parked.watchers["b"])
    parked.timers.advance(5)
    assert not parked.purgatory.is_paused(parked.watchers["a"])


@pytest.mark.parametrize(("count", "pause_ms"), [(0, 0), (1, 0), (3, 0), (4, 6), (5, 7.5), (8, 10), (1000, 10)])
def test_the_pause_grows_with_the_answered_consumers_up_to_gather_max_ms(count: int, pause_ms: float) -> None:
    assert pause_s(count, gather_max_ms=10) == pytest.approx(pause_ms / 1000)


def test_partitions_never_pause_with_a_gather_max_ms_of_zero() -> None:
    assert pause_s(1000, gather_max_ms=0) == 0


@pytest.mark.parametrize("end", ["time", "error"])
def test_a_fetch_that_ends_during_a_pause_ends_once(end: str) -> None:
    parked = ParkedFetches()
    parked.answer_many()
    parked.park("f", "a", max_wait_ms=2)
    parked.data_arrives("a", 1)
    if end == "time":
        parked.timers.advance(2)
    else:
        parked.purgatory.complete_all(parked.watchers["a"])
    assert parked.ended == ["f"]
    parked.timers.advance(10)
    assert parked.ended == ["f"]
    assert len(parked.purgatory) == 0


def test_a_purgatory_closes_during_a_pause() -> None:
    parked = ParkedFetches()
    parked.answer_many()
    parked.park("f", "a")
    parked.data_arrives("a", 1)
    parked.purgatory.close()
    parked.timers.advance(1000)
    assert parked.ended == []
    assert parked.timers.pending == 0


# -- fetches with min bytes -------------------------------------------------------------------------------------


def test_a_fetch_with_min_bytes_is_answered_within_a_millisecond_after_there_is_enough() -> None:
    parked = ParkedFetches()
    parked.park("f", "a", min_bytes=100)
    for size_bytes in range(1, 100):
        parked.data_is_written("a", size_bytes)
    parked.timers.advance(1)
    assert parked.ended == []
    parked.data_is_written("a", 100)
    parked.timers.advance(1)
    assert parked.ended == ["f"]


def test_an_append_checks_no_fetch_with_min_bytes_itself() -> None:
    parked = ParkedFetches()
    for _ in range(1000):
        parked.park("patient", "a", min_bytes=10_000)
    parked.data_is_written("a", 1)  # for the first time, at all
    parked.looks = 0
    for size_bytes in range(2, 1000):
        parked.data_is_written("a", size_bytes)
    assert parked.looks == 0


def test_checks_of_min_bytes_take_a_tenth_of_the_loop_and_reach_every_fetch() -> None:
    parked = ParkedFetches()
    for number in range(1000):
        parked.park(str(number), "ab", max_wait_ms=10**9, min_bytes=100)
    parked.data_is_written("a", 1)
    parked.data_is_written("b", 1)
    parked.timers.advance(300)
    parked.looks = 0
    parked.data_is_written("a", 99)
    parked.timers.turn()
    assert parked.looks == CHECKS_PER_ITERATION
    for milliseconds in range(1, 90):
        parked.timers.advance(1)
        assert parked.looks <= CHECKS_PER_ITERATION + 10 * milliseconds
    parked.timers.advance(20)
    assert parked.ended == [str(number) for number in range(1000)]


def test_a_partition_with_few_fetches_with_min_bytes_does_not_wait_for_one_with_many() -> None:
    parked = ParkedFetches()
    for _ in range(1000):
        parked.park("one of many", "a", max_wait_ms=10**9, min_bytes=100)
    parked.park("f", "b", max_wait_ms=10**9, min_bytes=100)
    parked.data_is_written("a", 1)
    parked.data_is_written("b", 1)
    parked.timers.advance(1000)
    parked.data_is_written("a", 2)
    parked.data_is_written("b", 100)
    parked.timers.advance(1)
    assert parked.ended == ["f"]


def test_a_fetch_with_min_bytes_does_not_wait_for_the_pause_of_its_partition() -> None:
    parked = ParkedFetches()
    parked.park("f", "a", min_bytes=100)
    parked.data_arrives("a", 1)
    parked.answer_many()
    parked.data_is_written("a", 100)
    parked.timers.advance(1)
    assert parked.ended == ["f"]


@pytest.mark.parametrize("end", ["complete", "abandon"])
def test_a_fetch_with_min_bytes_that_is_gone_is_not_checked(end: str) -> None:
    parked = ParkedFetches()
    fetch = parked.park("f", "ab", max_wait_ms=10**9, min_bytes=100)
    parked.data_arrives("a", 1)
    parked.timers.advance(1)
    parked.data_is_written("a", 100)
    getattr(fetch, end)()
    parked.looks = 0
    parked.timers.advance(10)
    assert (parked.looks, len(parked.watchers["a"]), len(parked.watchers["b"])) == (0, 0, 0)
    assert len(parked.purgatory) == 0


def test_no_fetch_is_checked_after_the_purgatory_is_closed() -> None:
    parked = ParkedFetches()
    parked.park("f", "a", min_bytes=100)
    parked.data_arrives("a", 1)
    parked.data_is_written("a", 100)
    parked.purgatory.close()
    parked.looks = 0
    parked.timers.advance(10)
    assert (parked.looks, parked.ended) == (0, [])


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 60)), max_size=40), st.data())
def test_every_fetch_is_answered_when_there_is_enough_and_not_before(
    appends: list[tuple[str, int]], data: st.DataObject
) -> None:
    parked = ParkedFetches()
    wanted: dict[str, tuple[str, int]] = {}
    written = {"a": 0, "b": 0}
    for number in range(data.draw(st.integers(1, 80))):
        name, topics = str(number), data.draw(st.sampled_from(("a", "b", "ab")))
        wanted[name] = topics, data.draw(st.integers(1, 400))
        parked.park(name, topics, max_wait_ms=10**9, min_bytes=wanted[name][1])
    for topic, size_bytes in appends:
        written[topic] += size_bytes
        parked.data_is_written(topic, written[topic])
        parked.timers.advance(data.draw(st.sampled_from((0, 1, 20))))
        for name in parked.ended:
            topics, min_bytes = wanted[name]
            assert sum(written[each] for each in topics) >= min_bytes
    parked.timers.advance(100)
    enough = {name for name, (topics, least) in wanted.items() if sum(written[each] for each in topics) >= least}
    assert sorted(parked.ended) == sorted(enough)
