"""Fetch sessions (KIP-227): remembered partitions, partitions in each response, and eviction."""

from collections.abc import Iterable
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.replication.leader.fetch_session import (
    DEFAULT_MAX_PARTITIONS,
    FINAL_EPOCH,
    FIRST_EMPTY_WAIT_MS,
    INITIAL_EPOCH,
    MOST_ERRORS,
    NO_SESSION,
    FetchContext,
    FetchSessions,
    SessionAnswer,
    next_epoch,
)
from pybroker.replication.partition.fetch import EpochEnd, FetchResult, PartitionFetch, PartitionKey

EVICTION_MS = 120_000


def wanted(*topics: str, offset: int = 0) -> dict[PartitionKey, PartitionFetch]:
    return {(topic, 0): PartitionFetch((topic, 0), TopicPartition(topic, 0), offset, 1000) for topic in topics}


def result(high_watermark: int = 10, log_start_offset: int = 0, size_bytes: int = 0) -> FetchResult:
    return FetchResult(ErrorCode.NONE, high_watermark, high_watermark, log_start_offset, size_bytes=size_bytes)


class Sessions:
    """A session cache with ids 1, 2, 3, …, and one fetcher that uses it."""

    def __init__(self, max_entries: int = 10, max_partitions: int = DEFAULT_MAX_PARTITIONS) -> None:
        ids = count(1)
        self.cache = FetchSessions(max_entries, lambda: next(ids), EVICTION_MS, max_partitions)
        self.now_ms = 0

    def begin(
        self,
        session_id: int,
        epoch: int,
        fetches: dict[PartitionKey, PartitionFetch] | None = None,
        forgotten: Iterable[PartitionKey] = (),
        *,
        is_follower: bool = False,
        uses_topic_ids: bool = False,
    ) -> FetchContext:
        return self.cache.begin(
            session_id,
            epoch,
            fetches or {},
            tuple(forgotten),
            is_follower=is_follower,
            uses_topic_ids=uses_topic_ids,
            now_ms=self.now_ms,
        )

    def answer(self, context: FetchContext, results: dict[str, FetchResult] | None = None) -> SessionAnswer:
        found = [(fetch, (results or {}).get(str(fetch.key[0]), result())) for fetch in context.partitions]
        return context.answer(found, self.now_ms)

    def open(self, *topics: str, is_follower: bool = False) -> int:
        return self.answer(self.begin(NO_SESSION, INITIAL_EPOCH, wanted(*topics), is_follower=is_follower))[1]


def topics_of(answer: SessionAnswer) -> list[str]:
    return [str(fetch.key[0]) for fetch, _ in answer[2]]


def test_session_epochs_wrap_to_one_and_never_to_the_initial_epoch() -> None:
    assert [next_epoch(epoch) for epoch in (INITIAL_EPOCH, 1, 2**31 - 1, FINAL_EPOCH)] == [1, 2, 1, FINAL_EPOCH]


def test_full_fetch_opens_a_session_and_returns_every_partition() -> None:
    sessions = Sessions()
    error, session_id, sent = sessions.answer(sessions.begin(NO_SESSION, INITIAL_EPOCH, wanted("a", "b")))
    assert (error, session_id) == (ErrorCode.NONE, 1)
    assert [fetch.key for fetch, _ in sent] == [("a", 0), ("b", 0)]


def test_incremental_fetch_reads_all_partitions_and_returns_changed_ones() -> None:
    sessions = Sessions()
    session_id = sessions.open("a", "b", "c", "d")
    context = sessions.begin(session_id, 1)
    assert [fetch.key[0] for fetch in context.partitions] == ["a", "b", "c", "d"]
    answer = sessions.answer(
        context, {"b": result(high_watermark=11), "c": result(log_start_offset=3), "d": result(size_bytes=7)}
    )
    assert answer[:2] == (ErrorCode.NONE, session_id)
    assert topics_of(answer) == ["b", "c", "d"]
    assert topics_of(sessions.answer(sessions.begin(session_id, 2), {"b": result(11), "c": result(10, 3)})) == []


def test_error_is_reported_each_time_and_its_end_once() -> None:
    sessions = Sessions()
    session_id = sessions.open("a")
    failed = {"a": FetchResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)}
    assert topics_of(sessions.answer(sessions.begin(session_id, 1), failed)) == ["a"]
    assert topics_of(sessions.answer(sessions.begin(session_id, 2), failed)) == ["a"]
    assert topics_of(sessions.answer(sessions.begin(session_id, 3))) == ["a"]
    assert topics_of(sessions.answer(sessions.begin(session_id, 4))) == []


def test_diverging_epoch_and_preferred_replica_are_always_reported() -> None:
    sessions = Sessions()
    session_id = sessions.open("a", "b")
    diverging, preferred = result(), result()
    diverging.diverging_epoch = EpochEnd(1, 5)
    preferred.preferred_read_replica = 2
    assert topics_of(sessions.answer(sessions.begin(session_id, 1), {"a": diverging, "b": preferred})) == ["a", "b"]


def test_partition_that_returned_data_is_served_last_next_time() -> None:
    sessions = Sessions()
    session_id = sessions.open("a", "b", "c")
    sessions.answer(sessions.begin(session_id, 1), {"a": result(size_bytes=5)})
    assert [fetch.key[0] for fetch in sessions.begin(session_id, 2).partitions] == ["b", "c", "a"]


def test_partitions_are_added_changed_and_forgotten() -> None:
    sessions = Sessions()
    session_id = sessions.open("a", "b")
    context = sessions.begin(session_id, 1, wanted("b", "c", offset=42), [("a", 0), ("never seen", 0)])
    assert [(fetch.key[0], fetch.fetch_offset) for fetch in context.partitions] == [("b", 42), ("c", 42)]
    # "c" is new to the session, so it is returned although nothing changed. "b" was returned before.
    assert topics_of(sessions.answer(context)) == ["c"]


def test_a_session_without_partitions_is_closed() -> None:
    sessions = Sessions()
    session_id = sessions.open("a")
    error, returned_id, _ = sessions.answer(sessions.begin(session_id, 1, forgotten=[("a", 0)]))
    assert (error, returned_id) == (ErrorCode.NONE, NO_SESSION)
    assert len(sessions.cache) == 0


def test_a_session_that_was_opened_without_partitions_is_closed_by_the_next_fetch() -> None:
    sessions = Sessions()
    session_id = sessions.open()
    error, returned_id, _ = sessions.answer(sessions.begin(session_id, 1))
    assert (error, returned_id) == (ErrorCode.NONE, NO_SESSION)
    assert len(sessions.cache) == 0


@pytest.mark.parametrize(
    ("session_id", "epoch", "uses_topic_ids", "expected"),
    [
        (99, 1, False, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (1, 2, False, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (1, 1, True, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
def test_request_with_a_wrong_session_epoch_is_refused_and_changes_nothing(
    session_id: int, epoch: int, uses_topic_ids: bool, expected: ErrorCode
) -> None:
    sessions = Sessions()
    assert sessions.open("a") == 1
    context = sessions.begin(session_id, epoch, wanted("b"), uses_topic_ids=uses_topic_ids)
    assert list(context.partitions) == []
    assert sessions.answer(context) == (expected, NO_SESSION, [])
    assert [fetch.key[0] for fetch in sessions.begin(1, 1).partitions] == ["a"]


def test_request_with_a_used_session_epoch_is_refused() -> None:
    sessions = Sessions()
    session_id = sessions.open("a")
    sessions.begin(session_id, 1)
    assert sessions.answer(sessions.begin(session_id, 1))[0] is ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_parked_response_overtaken_by_a_later_request_is_an_epoch_error() -> None:
    sessions = Sessions()
    session_id = sessions.open("a")
    parked = sessions.begin(session_id, 1)
    sessions.begin(session_id, 2)
    assert sessions.answer(parked) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id, [])


@pytest.mark.parametrize(("epoch", "left"), [(INITIAL_EPOCH, 1), (FINAL_EPOCH, 0)])
def test_a_full_request_closes_the_session_it_names(epoch: int, left: int) -> None:
    sessions = Sessions()
    old = sessions.open("a")
    new = sessions.answer(sessions.begin(old, epoch, wanted("b")))[1]
    assert sessions.cache.get(old) is None
    assert len(sessions.cache) == left
    assert (new != NO_SESSION) is bool(left)


# -- eviction --------------------------------------------------------------------------------------------------------


def test_full_cache_of_recent_sessions_opens_no_new_session() -> None:
    sessions = Sessions(max_entries=2)
    assert [sessions.open("a"), sessions.open("b"), sessions.open("c", "d", "e")] == [1, 2, NO_SESSION]
    assert sessions.cache.evictions == 0


def test_unused_session_is_evicted_for_a_new_one() -> None:
    sessions = Sessions(max_entries=2)
    sessions.open("a")
    sessions.open("b")
    sessions.now_ms = EVICTION_MS
    sessions.begin(1, 1)
    sessions.now_ms = EVICTION_MS + 1
    assert sessions.open("c") == 3
    assert sessions.cache.get(1) is not None
    assert sessions.cache.get(2) is None
    sessions.begin(1, -1)
    assert sessions.cache.evictions == 1, "a session that its client closes is not evicted"


def test_follower_evicts_a_consumers_session_but_not_another_followers() -> None:
    sessions = Sessions(max_entries=2)
    follower, consumer = sessions.open("a", "b", is_follower=True), sessions.open("c")
    assert sessions.open("d", is_follower=True) == 3
    assert sessions.cache.get(consumer) is None
    assert sessions.cache.get(follower) is not None
    assert sessions.open("e", is_follower=True) == NO_SESSION


def test_old_session_is_evicted_only_for_a_larger_one() -> None:
    sessions = Sessions(max_entries=2)
    sessions.open("a", "b")
    sessions.open("c", "d", "e")
    sessions.now_ms = EVICTION_MS + 1
    sessions.begin(1, 1)
    sessions.begin(2, 1)
    assert sessions.open("x") == NO_SESSION
    assert sessions.open("x", "y") == NO_SESSION
    assert sessions.open("x", "y", "z") == 3
    assert sessions.cache.get(1) is None


def test_the_cache_keeps_no_trace_of_closed_sessions() -> None:
    sessions = Sessions(max_entries=3)
    for number in range(20):
        sessions.now_ms += EVICTION_MS + 1
        session_id = sessions.open(*[f"t{index}" for index in range(number % 4 + 1)])
        sessions.now_ms += EVICTION_MS + 1
        sessions.begin(session_id, 1, wanted("more"))
    cache = sessions.cache
    assert len(cache) == 3
    assert len(cache._by_all) == len(cache._by_privileged) == 3


# -- the model: a session's client knows exactly what full fetches would have returned
# -----------------------------------

TOPICS = "abcd"
Change = tuple[str, str, int]


@given(
    st.lists(
        st.tuples(
            st.lists(
                st.tuples(
                    st.sampled_from(["append", "delete", "fail", "heal", "add", "forget"]), st.sampled_from(TOPICS)
                ),
                max_size=4,
            ),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_incremental_fetches_lead_to_the_state_of_full_ones(rounds: list[tuple[list[tuple[str, str]], bool]]) -> None:
    """The state that the fetcher derives from the responses equals the partitions' state."""
    end = dict.fromkeys(TOPICS, 5)
    start = dict.fromkeys(TOPICS, 0)
    failed: set[str] = set()
    position = {"a": 0, "b": 5}  # the fetch offset of each partition that the fetcher reads
    picture: dict[str, tuple[ErrorCode, int, int]] = {}
    sessions = Sessions(max_entries=1 + len(rounds))  # each restart opens a session, and none is old enough to go
    session_id, epoch = NO_SESSION, INITIAL_EPOCH
    known_to_session: dict[str, int] = {}

    for changes, restart in rounds:
        for change, topic in changes:
            if change == "append":
                end[topic] += 3
            elif change == "delete":
                start[topic] = end[topic]
                if topic in position:
                    position[topic] = max(position[topic], start[topic])
            elif change == "fail":
                failed.add(topic)
            elif change == "heal":
                failed.discard(topic)
            elif change == "add":
                position.setdefault(topic, start[topic])
            elif len(position) > 1:
                position.pop(topic, None)
        if restart:
            session_id, epoch, known_to_session = NO_SESSION, INITIAL_EPOCH, {}
            picture.clear()
        differs = {topic: at for topic, at in position.items() if known_to_session.get(topic) != at}
        gone = [(topic, 0) for topic in known_to_session if topic not in position]
        fetches = {key: fetch for topic, at in differs.items() for key, fetch in wanted(topic, offset=at).items()}
        context = sessions.begin(session_id, epoch, fetches, gone)
        known_to_session = dict(position)

        truth = {}
        for fetch in context.partitions:
            topic = str(fetch.key[0])
            assert fetch.fetch_offset == position[topic]
            truth[topic] = (
                FetchResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
                if topic in failed
                else result(end[topic], start[topic], size_bytes=end[topic] - position[topic])
            )
        error, session_id, sent = sessions.answer(context, truth)
        assert error is ErrorCode.NONE
        epoch = next_epoch(epoch)
        for topic in [topic for topic in picture if topic not in position]:
            del picture[topic]
        for fetch, told in sent:
            topic = str(fetch.key[0])
            picture[topic] = (told.error, told.high_watermark, told.log_start_offset)
            if told.size_bytes:
                position[topic] += told.size_bytes
        assert picture == {
            topic: (each.error, each.high_watermark, each.log_start_offset) for topic, each in truth.items()
        }
        assert all(position[topic] == end[topic] for topic in position if topic not in failed)


# -- partitions that a consumer sets aside ---------------------------------------------------------------------------


def cut(high_watermark: int = 10) -> FetchResult:
    """Records, and there are more of them."""
    return FetchResult(ErrorCode.NONE, high_watermark, high_watermark, 0, size_bytes=1000, is_cut=True)


class SettingAside:
    """A consumer with a session over ``a``, ``b`` and ``c``; ``c`` has no records."""

    def __init__(self, *, is_follower: bool = False) -> None:
        self.sessions = Sessions()
        fetches = {**wanted("a", "b"), **wanted("c", offset=10)}
        context = self.sessions.begin(NO_SESSION, INITIAL_EPOCH, fetches, is_follower=is_follower)
        self.session_id = self.sessions.answer(context, {"a": cut(), "b": result(size_bytes=500)})[1]
        self.epoch = INITIAL_EPOCH
        self.is_follower = is_follower

    def fetch(
        self,
        named: str = "",
        forgotten: str = "",
        results: dict[str, FetchResult] | None = None,
        offset: int = 10,
    ) -> int | None:
        """The patience of the next fetch, which is answered."""
        self.epoch += 1
        context = self.sessions.begin(
            self.session_id,
            self.epoch,
            wanted(*named, offset=offset),
            [(topic, 0) for topic in forgotten],
            is_follower=self.is_follower,
        )
        max_empty_wait_ms = context.max_empty_wait_ms
        self.sessions.answer(context, results)
        return max_empty_wait_ms


def test_fetch_waits_briefly_while_left_out_partitions_have_more_data() -> None:
    consumer = SettingAside()
    assert consumer.fetch(forgotten="a") == FIRST_EMPTY_WAIT_MS


def test_partition_cut_from_the_last_response_counts_as_having_more_data() -> None:
    consumer = SettingAside()
    assert consumer.fetch(named="b", results={"a": cut()}, offset=5) is None  # nothing was sent of b, which ends at 10
    assert consumer.fetch(forgotten="b") == FIRST_EMPTY_WAIT_MS


@pytest.mark.parametrize("forgotten", ["", "b", "c", "bc"])
def test_fetch_waits_normally_when_left_out_partitions_have_no_more_data(forgotten: str) -> None:
    assert SettingAside().fetch(forgotten=forgotten) is None


def test_follower_fetches_wait_their_full_max_wait() -> None:
    assert SettingAside(is_follower=True).fetch(forgotten="a") is None


def test_wait_grows_until_a_left_out_partition_returns() -> None:
    consumer = SettingAside()
    first = [consumer.fetch(forgotten="ab"), *(consumer.fetch() for _ in range(30))]
    patience = [each for each in first if each is not None]
    assert len(patience) == 31
    assert all(sooner <= later <= 1.25 * sooner + 1 for sooner, later in pairwise(patience))
    assert patience[-1] > 1000
    assert (consumer.fetch(named="b") or 0) > patience[-1]  # the session does not wait for b
    assert consumer.fetch(named="a") is None
    assert consumer.fetch(forgotten="a", results={}) is None  # all records of a were sent now


def test_wait_for_left_out_partitions_is_bounded() -> None:
    consumer = SettingAside()
    consumer.fetch(forgotten="a")
    assert [consumer.fetch() for _ in range(5000)][-1] == 60_000


def test_responses_with_records_do_not_lengthen_the_wait() -> None:
    consumer = SettingAside()
    consumer.fetch(forgotten="a", results={"c": result(11, size_bytes=10)})
    assert consumer.fetch(results={"c": result(12, size_bytes=10)}) == FIRST_EMPTY_WAIT_MS
    assert consumer.fetch() == FIRST_EMPTY_WAIT_MS


def test_wait_is_reset_when_a_partition_is_left_out_or_returns() -> None:
    consumer = SettingAside()
    consumer.fetch(forgotten="a")
    for _ in range(5):
        grown = consumer.fetch()
    assert grown is not None
    assert grown > FIRST_EMPTY_WAIT_MS
    consumer.fetch(named="b", results={"b": cut(), "c": result(size_bytes=1)})
    assert consumer.fetch(forgotten="b") == FIRST_EMPTY_WAIT_MS
    for _ in range(5):
        consumer.fetch()
    assert consumer.fetch(named="b") == FIRST_EMPTY_WAIT_MS


def test_session_that_grows_beyond_the_limit_of_all_partitions_is_closed_alone() -> None:
    sessions = Sessions(max_partitions=4)
    full, growing = sessions.open("a", "b", "c"), sessions.open("d")
    refused = sessions.answer(sessions.begin(growing, 1, wanted("e")))
    assert refused[0] is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (sessions.cache.get(growing), sessions.cache.partition_count) == (None, 3)
    assert sessions.answer(sessions.begin(full, 1, wanted("d")))[0] is ErrorCode.NONE


def test_left_out_partitions_count_towards_the_limit_of_all_sessions() -> None:
    consumer = SettingAside()
    cache = consumer.sessions.cache
    consumer.fetch(forgotten="ab")
    assert cache.partition_count == 2  # c, and a
    consumer.fetch(named="a")
    assert cache.partition_count == 2
    cache.remove(consumer.session_id)
    assert cache.partition_count == 0


def all_unknown(topics: Iterable[str]) -> dict[str, FetchResult]:
    return dict.fromkeys(topics, FetchResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))


def test_fetcher_of_too_many_partitions_with_an_error_gets_all_errors_but_no_session() -> None:
    sessions, names = Sessions(), [f"t{number}" for number in range(MOST_ERRORS + 1)]
    _, session_id, told = sessions.answer(sessions.begin(NO_SESSION, INITIAL_EPOCH, wanted(*names)), all_unknown(names))
    assert (session_id, len(told), len(sessions.cache)) == (NO_SESSION, len(names), 0)
    _, session_id, _ = sessions.answer(
        sessions.begin(NO_SESSION, INITIAL_EPOCH, wanted(*names)), all_unknown(names[1:])
    )
    assert session_id != NO_SESSION


def test_session_ends_when_too_many_of_its_partitions_have_an_error() -> None:
    sessions, names = Sessions(), [f"t{number}" for number in range(MOST_ERRORS + 1)]
    session_id = sessions.open("a", *names)
    assert sessions.answer(sessions.begin(session_id, 1), all_unknown(names[1:]))[0] is ErrorCode.NONE
    error, _, told = sessions.answer(sessions.begin(session_id, 2), all_unknown(names))
    assert (error, len(told)) == (ErrorCode.NONE, len(names))
    assert sessions.answer(sessions.begin(session_id, 3))[0] is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.cache.partition_count == 0


def test_throttled_response_changes_no_session() -> None:
    sessions = Sessions()
    assert sessions.begin(NO_SESSION, INITIAL_EPOCH, wanted("a")).throttled() == (ErrorCode.NONE, NO_SESSION, [])
    assert sessions.begin(NO_SESSION, FINAL_EPOCH, wanted("a")).throttled() == (ErrorCode.NONE, NO_SESSION, [])
    unknown = sessions.begin(7, 1).throttled()
    assert unknown == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, NO_SESSION, [])
    first = sessions.begin(NO_SESSION, INITIAL_EPOCH, wanted("a"))
    _, session_id, _ = first.answer([(fetch, result()) for fetch in first.partitions], 0)
    stale, current = sessions.begin(session_id, 1), sessions.begin(session_id, 2)
    assert stale.throttled() == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id, [])
    assert current.throttled() == (ErrorCode.NONE, session_id, [])
    _, _, selected = current.answer([(fetch, result(size_bytes=5)) for fetch in current.partitions], 0)
    assert [fetch.key for fetch, _ in selected] == [("a", 0)]
