"""Scenarios of topics that are deleted and created again with the same name."""

from uuid import UUID

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.requests import (
    a_group,
    a_producer,
    a_topic,
    batch,
    commit,
    create,
    epoch_end,
    fetch,
    fetch_many,
    fetch_partition,
    list_offsets,
    metadata,
    new_topic,
    offsets,
    produce,
    sequence,
    topic_id,
)
from pybroker.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest
from pybroker.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pybroker.protocol.messages.fetch import FetchRequest, FetchTopic, ForgottenTopic

__all__ = ["SCENARIOS"]


def filled(talk: Conversation) -> tuple[str, UUID]:
    """Creates a topic of one partition with three records; returns its name and id."""
    topic = a_topic(talk)
    assert not talk.unrecorded(produce(topic, batch(3)), 9).responses[0].partition_responses[0].error_code
    return topic, topic_id(talk, topic)


def delete(talk: Conversation, topic: str, *, on: str = "admin") -> None:
    """Deletes the topic; waits until its metadata and replica are gone, which Kafka's response does not wait for."""
    request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=30_000)
    assert not talk.unrecorded(request, 5, on=on).responses[0].error_code
    while talk.unrecorded(fetch(topic), 4, on=on).responses[0].partitions[0].error_code != 3:
        pass
    while talk.unrecorded(list_offsets(topic, -1), 7, on=on).topics[0].partitions[0].error_code != 3:
        pass


def make_anew(talk: Conversation, topic: str) -> UUID:
    """Creates the topic again; retries, because Kafka frees the name only after its controller has finished the
    deletion.
    """
    while talk.unrecorded(create(new_topic(topic)), 7, on="admin").topics[0].error_code:
        pass
    while talk.unrecorded(list_offsets(topic, -1), 7, on="admin").topics[0].partitions[0].error_code:
        pass
    return topic_id(talk, topic)


# -- by name


def everything_asked_of_a_deleted_topic(talk: Conversation) -> None:
    topic, known = filled(talk)
    delete(talk, topic)
    for version in (3, 9):
        talk.ask(produce(topic, batch()), version)
    talk.ask(list_offsets(topic, -1), 7)
    talk.ask(epoch_end(topic, 0), 4)
    talk.ask(epoch_end(topic, 0, current=0), 4)
    talk.ask(fetch(topic, fetch_partition(current_leader_epoch=0)), 12)
    talk.ask(metadata(topic), 9)
    talk.ask(metadata(ids=[known]), 12)
    doomed = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
    talk.ask(DeleteRecordsRequest(topics=[doomed], timeout_ms=10_000), 2)
    talk.ask(DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])]), 0)
    talk.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=30_000), 5)


def a_topic_made_anew_begins_at_zero(talk: Conversation) -> None:
    topic, known = filled(talk)
    delete(talk, topic)
    again = make_anew(talk, topic)
    talk.note("another id", again != known)
    talk.ask(list_offsets(topic, -2, -1), 7)
    talk.ask(fetch(topic, fetch_partition(offset=3, current_leader_epoch=0)), 12)
    talk.ask(epoch_end(topic, 0, current=0), 4)
    talk.ask(produce(topic, batch()), 9)
    talk.ask(fetch("", topic_id=known), 13)
    talk.ask(fetch("", topic_id=again), 13)


def offsets_committed_for_a_deleted_topic(talk: Conversation) -> None:
    topic, _ = filled(talk)
    other = a_topic(talk, "other")
    group = a_group(talk)
    for each in (topic, other):
        while talk.unrecorded(commit(group, each, 2), 8).topics[0].partitions[0].error_code:
            pass
    delete(talk, topic)
    talk.until(offsets(group, None), 7, lambda answer: len(answer.topics) == 1)
    talk.ask(offsets(group, {topic: [0], other: [0]}), 7)
    talk.ask(commit(group, topic, 1), 8)
    make_anew(talk, topic)
    talk.ask(offsets(group, {topic: [0]}), 7)
    talk.ask(commit(group, topic, 1), 8)
    talk.ask(offsets(group, None), 7)


# -- producers


def an_idempotent_producer_goes_on_in_a_topic_made_anew(talk: Conversation) -> None:
    topic = a_topic(talk)
    producer = a_producer(talk)
    talk.ask(produce(topic, sequence(producer, 0, 3)), 9)
    delete(talk, topic)
    talk.ask(produce(topic, sequence(producer, 3)), 9)
    make_anew(talk, topic)
    talk.ask(produce(topic, sequence(producer, 3)), 9, note="goes on")
    talk.ask(produce(topic, sequence(producer, 3)), 9, note="the same again")
    talk.ask(produce(topic, sequence(producer, 4)), 9, note="the next")
    talk.ask(produce(topic, sequence(producer, 0, 3)), 9, note="from the old topic")
    talk.ask(produce(topic, sequence(producer, 9)), 9, note="a gap")


# -- fetch sessions and parked fetches


def more(session: int, epoch: int, *topics: FetchTopic, forgotten: ForgottenTopic | None = None) -> FetchRequest:
    """Returns the next request of a fetch session; usually it names no partition."""
    return fetch_many(
        list(topics),
        session_id=session,
        session_epoch=epoch,
        forgotten_topics_data=[] if forgotten is None else [forgotten],
    )


def a_session_by_name_meets_the_topic_made_anew(talk: Conversation) -> None:
    topic, _ = filled(talk)
    session = talk.ask(fetch(topic, session_epoch=0), 12).session_id
    delete(talk, topic)
    talk.ask(more(session, 1), 12)
    talk.ask(more(session, 2), 12)
    make_anew(talk, topic)
    talk.ask(more(session, 3), 12)
    talk.ask(produce(topic, batch()), 9)
    talk.ask(more(session, 4), 12)


def a_session_by_name_reads_beyond_the_end_of_the_topic_made_anew(talk: Conversation) -> None:
    topic, _ = filled(talk)
    session = talk.ask(fetch(topic, fetch_partition(offset=3), session_epoch=0), 12).session_id
    delete(talk, topic)
    make_anew(talk, topic)
    talk.ask(more(session, 1), 12)
    talk.ask(more(session, 2), 12)


def a_session_by_id_meets_the_topic_made_anew(talk: Conversation) -> None:
    topic, known = filled(talk)
    session = talk.ask(fetch("", topic_id=known, session_epoch=0), 13).session_id
    delete(talk, topic)
    talk.ask(more(session, 1), 13, note="deleted")
    talk.ask(more(session, 2), 13, note="still deleted")
    again = make_anew(talk, topic)
    talk.ask(more(session, 3), 13, note="made anew")
    forgotten = ForgottenTopic(topic_id=known, partitions=[0])
    wanted = FetchTopic(topic_id=again, partitions=[fetch_partition()])
    talk.ask(more(session, 4, wanted, forgotten=forgotten), 13, note="the other id")
    talk.ask(produce(topic, batch()), 9)
    talk.ask(more(session, 5), 13)


def a_session_by_id_that_forgets_nothing(talk: Conversation) -> None:
    topic, known = filled(talk)
    session = talk.ask(fetch("", topic_id=known, session_epoch=0), 13).session_id
    delete(talk, topic)
    again = make_anew(talk, topic)
    talk.ask(produce(topic, batch()), 9)
    wanted = FetchTopic(topic_id=again, partitions=[fetch_partition()])
    talk.ask(more(session, 1, wanted), 13)
    talk.ask(more(session, 2), 13)


def a_session_begun_for_a_topic_id_that_is_gone(talk: Conversation) -> None:
    topic, known = filled(talk)
    delete(talk, topic)
    session = talk.ask(fetch("", topic_id=known, session_epoch=0), 13).session_id
    talk.ask(more(session, 1), 13)


def a_parked_fetch_is_answered_when_its_topic_goes(talk: Conversation) -> None:
    """The code is not recorded: in Kafka a race between the controller's requests decides between two."""
    topic, known = filled(talk)
    for version, parked in (
        (12, fetch(topic, fetch_partition(offset=3), max_wait_ms=600_000, min_bytes=1)),
        (13, fetch("", fetch_partition(offset=3), topic_id=known, max_wait_ms=600_000, min_bytes=1)),
    ):
        pending = talk.send(parked, version, on=f"parked {version}")
        delete(talk, topic)
        pending.answer(lambda _: "answered")
        make_anew(talk, topic)
        talk.unrecorded(produce(topic, batch(3)), 9)
        known = topic_id(talk, topic)


SCENARIOS = [
    everything_asked_of_a_deleted_topic,
    a_topic_made_anew_begins_at_zero,
    offsets_committed_for_a_deleted_topic,
    an_idempotent_producer_goes_on_in_a_topic_made_anew,
    a_session_by_name_meets_the_topic_made_anew,
    a_session_by_name_reads_beyond_the_end_of_the_topic_made_anew,
    a_session_by_id_meets_the_topic_made_anew,
    a_session_by_id_that_forgets_nothing,
    a_session_begun_for_a_topic_id_that_is_gone,
    a_parked_fetch_is_answered_when_its_topic_goes,
]
