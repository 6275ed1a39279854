"""A follower's fetch session: which partitions a fetch request names."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.replication.follower.fetch_session_client import ClientFetchSession, SessionRequest
from pybroker.replication.follower.leader_endpoint import WantedPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
OLD_ID, NEW_ID = UUID(int=1), UUID(int=2)


def want(offset: int, topic_id: UUID | None = OLD_ID) -> WantedPartition:
    return WantedPartition(topic_id, offset, 0, 0, 0)


def opened(wanted: dict[TopicPartition, WantedPartition]) -> ClientFetchSession:
    session = ClientFetchSession()
    first = session.request(wanted, wanted)
    assert first is not None
    assert first.is_full
    assert first.named == wanted
    assert session.answered(7, ErrorCode.NONE, wanted)
    return session


def test_incremental_request_names_only_changed_partitions() -> None:
    session = opened({A: want(0), B: want(0)})
    assert session.request({A: want(3), B: want(0)}, [A]) == SessionRequest(7, 1, {A: want(3)}, {}, True)
    assert session.answered(7, ErrorCode.NONE, [A])
    assert session.request({A: want(3), B: want(0)}, []) == SessionRequest(7, 2, {}, {}, True)


def test_removed_partitions_are_sent_as_forgotten() -> None:
    session = opened({A: want(0), B: want(0)})
    assert session.request({B: want(0)}, [A]) == SessionRequest(7, 1, {}, {A: want(0)}, True)
    assert session.request({}, [B]) == SessionRequest(7, 1, {}, {B: want(0)}, True)
    assert session.request({}, []) is None


def test_fetch_after_a_failure_names_all_partitions() -> None:
    session = opened({A: want(0), B: want(0)})
    session.failed()
    assert session.request({A: want(0), B: want(2)}, []) == SessionRequest(7, 0, {A: want(0), B: want(2)}, {}, True)


def test_recreated_topic_is_forgotten_and_named_again() -> None:
    session = opened({A: want(4)})
    again = session.request({A: want(0, NEW_ID)}, [A])
    assert again == SessionRequest(7, 1, {A: want(0, NEW_ID)}, {A: want(4)}, True)


def test_topics_are_named_by_id_when_all_of_them_have_one() -> None:
    session = opened({A: want(0), B: want(0, None)})
    for wanted, uses_ids in (({A: want(1), B: want(0, None)}, False), ({A: want(1), B: want(0)}, True)):
        request = session.request(wanted, wanted)
        assert request is not None
        assert request.uses_topic_ids is uses_ids
    session = opened({A: want(0), B: want(0, None)})
    request = session.request({A: want(0)}, [B])
    assert request is not None
    assert not request.uses_topic_ids  # forgotten partitions are named, too
    request = session.request({A: want(0)}, [])
    assert request is not None
    assert request.uses_topic_ids


WANTED = st.dictionaries(
    st.integers(0, 4).map(lambda number: TopicPartition("t", number)),
    st.builds(want, st.integers(0, 2), st.sampled_from([None, OLD_ID, NEW_ID])),
)


@given(st.lists(st.tuples(WANTED, st.booleans()), min_size=1))
def test_fetch_requests_equal_those_of_comparing_all_partitions(
    rounds: list[tuple[dict[TopicPartition, WantedPartition], bool]],
) -> None:
    """``changed`` may name unchanged partitions, too."""
    session = ClientFetchSession()
    before: dict[TopicPartition, WantedPartition] = {}
    is_open = False
    for wanted, fails in rounds:
        request = session.request(wanted, before | wanted)
        if not is_open:
            before = {}
        named = {each: value for each, value in wanted.items() if before.get(each) != value}
        forgotten = {
            each: value
            for each, value in before.items()
            if each not in wanted or value.topic_id not in (wanted[each].topic_id, None)
        }
        if not wanted and not forgotten:
            assert request is None
            continue
        assert request is not None
        assert (request.named, request.forgotten) == (named, forgotten)
        ids = [value.topic_id for value in (*wanted.values(), *forgotten.values())]
        assert request.uses_topic_ids is (None not in ids)
        before = wanted
        if fails:
            session.failed()
        else:
            assert session.answered(7, ErrorCode.NONE, wanted if request.is_full else ())
        is_open = not fails
