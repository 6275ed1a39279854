"""Scenarios of Fetch with sessions, ListOffsets and OffsetForLeaderEpoch."""

from typing import Any
from uuid import UUID

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import (
    LONG_AGO,
    a_producer,
    a_topic,
    batch,
    consume,
    epoch_end,
    fetch,
    fetch_many,
    fetch_partition,
    init_producer,
    list_offsets,
    message_set,
    produce,
    produce_many,
    records,
    sequence,
    topic_id,
)
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest
from pybroker.protocol.messages.fetch import FetchRequest, FetchTopic, ForgottenTopic, ReplicaState
from pybroker.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsTopic
from pybroker.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import Record, build_batch

__all__ = ["SCENARIOS"]

NOBODYS_ID = UUID("11111111-2222-4333-8444-555555555555")
INT64_MAX = (1 << 63) - 1


def filled(talk: Conversation, what: str = "topic", batches: int = 3, partitions: int = 1, **configs: str) -> str:
    """Creates a topic with batches of two records each in partition 0."""
    topic = a_topic(talk, what, partitions, **configs)
    for n in range(batches):
        data = build_batch(records(2, timestamp=LONG_AGO + 1000 * n))
        answer = talk.unrecorded(produce(topic, data), 9)
        assert not answer.responses[0].partition_responses[0].error_code, answer
    return topic


# -- Fetch


def fetch_in_every_version(talk: Conversation) -> None:
    topic = filled(talk)
    known = topic_id(talk, topic)
    for version in range(4, 18):
        talk.ask(fetch(topic, topic_id=known), version)


def fetch_down_converted(talk: Conversation) -> None:
    topic = filled(talk)
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
        talk.unrecorded(produce(topic, batch(3, codec=codec)), 9)
    for version in range(4):
        consume(talk, topic, version)
        consume(talk, topic, version, max_bytes=200)


def fetch_what_old_clients_wrote(talk: Conversation) -> None:
    topic = a_topic(talk)
    for magic, version in ((0, 1), (1, 2)):
        for codec in (Codec.NONE, Codec.GZIP):
            talk.unrecorded(produce(topic, message_set(magic, 3, codec)), version)
    for version in (0, 2, 4, 12):
        consume(talk, topic, version)


def fetch_zstd_by_old_clients(talk: Conversation) -> None:
    topic = a_topic(talk)
    talk.unrecorded(produce(topic, batch(3, codec=Codec.ZSTD)), 9)
    for version in (0, 2, 3, 4, 9, 10, 12):
        talk.ask(fetch(topic), version)
    talk.unrecorded(produce(topic, batch(3)), 9)
    for version in (0, 2, 4):
        talk.ask(fetch(topic, fetch_partition(0, 3)), version, see=without_records)


def without_records(answer: Json) -> Json:
    """Removes the records: the broker may choose how many a converted response holds."""
    for topic in answer["responses"]:
        for partition in topic["partitions"]:
            partition["records"] = "some" if partition["records"] else "none"
    return answer


def fetch_from_a_zstd_topic_by_old_clients(talk: Conversation) -> None:
    topic = a_topic(talk, compression_type="zstd")
    talk.unrecorded(produce(topic, batch(3)), 9)
    for version in (0, 3, 4, 9, 10):
        talk.ask(fetch(topic), version)


def fetch_from_every_offset(talk: Conversation) -> None:
    topic = filled(talk)
    for offset in range(7):
        talk.ask(fetch(topic, fetch_partition(0, offset)), 12, note=f"offset {offset}")
    for version in (0, 3, 4, 7, 11, 12):
        for offset in (7, -1, -2, INT64_MAX, -INT64_MAX):
            talk.ask(fetch(topic, fetch_partition(0, offset)), version, note=f"offset {offset}")


def fetch_from_unknown_partitions(talk: Conversation) -> None:
    topic = filled(talk)
    for version in (0, 3, 4, 7, 12):
        talk.ask(fetch(talk.name("unknown")), version, note="unknown topic")
        talk.ask(fetch(topic, fetch_partition(3)), version, note="unknown partition")
        talk.ask(fetch(topic, fetch_partition(-1)), version, note="negative partition")
        talk.ask(fetch(""), version, note="empty name")
        talk.ask(fetch(talk.name("unknown"), fetch_partition(0, -1, max_bytes=-1)), version, note="everything wrong")
    known = topic_id(talk, topic)
    for version in (13, 15, 16, 17):
        talk.ask(fetch("", topic_id=NOBODYS_ID), version, note="unknown id")
        talk.ask(fetch("", topic_id=UUID(int=0)), version, note="no id")
        talk.ask(fetch("", fetch_partition(3), topic_id=known), version, note="unknown partition")


def fetch_known_and_unknown_topics_together(talk: Conversation) -> None:
    topic = filled(talk)
    known = topic_id(talk, topic)
    good = FetchTopic(topic=topic, topic_id=known, partitions=[fetch_partition(), fetch_partition(5)])
    bad = FetchTopic(topic=talk.name("unknown"), topic_id=NOBODYS_ID, partitions=[fetch_partition()])
    for version in (4, 12, 13, 17):
        talk.ask(fetch_many([good, bad]), version, see=in_any_order)
        talk.ask(fetch_many([bad, good]), version, see=in_any_order)


def in_any_order(answer: Json) -> Json:
    """Sorts the response, because Kafka puts unknown topics last."""
    partitions = [
        [topic.get("topic"), topic.get("topicId"), partition]
        for topic in answer["responses"]
        for partition in topic["partitions"]
    ]
    return {**answer, "responses": sorted(partitions, key=repr)}


def fetch_a_topic_that_was_deleted(talk: Conversation) -> None:
    topic = filled(talk)
    known = topic_id(talk, topic)
    answer = talk.unrecorded(DeleteTopicsRequest(topic_names=[topic], timeout_ms=30_000), 5)
    assert not answer.responses[0].error_code
    talk.ask(fetch(topic), 12)
    talk.ask(fetch("", topic_id=known), 13)


def fetch_with_sizes(talk: Conversation) -> None:
    """A batch of two records takes about 105 bytes."""
    topic = filled(talk, batches=4)
    for version in (2, 3, 4, 12):
        see = without_records if version < 4 else None
        for max_bytes in (0, 1, 50, 110, 215, 300, 2147483647, -1):
            talk.ask(
                fetch(topic, fetch_partition(max_bytes=max_bytes)), version, note=f"partition {max_bytes}", see=see
            )
    for max_bytes in (0, 1, 110, 215, 300, 2147483647, -1):
        talk.ask(fetch(topic, max_bytes=max_bytes), 12, note=f"in all {max_bytes}")
        talk.ask(fetch(topic, fetch_partition(0, 2), max_bytes=max_bytes), 4, note=f"in all {max_bytes}, from 2")
    for min_bytes in (0, 1, -1, 10_000, 2147483647):
        talk.ask(fetch(topic, min_bytes=min_bytes), 12, note=f"at least {min_bytes}")
        talk.ask(fetch(topic, fetch_partition(0, 8), min_bytes=min_bytes), 12, note=f"at least {min_bytes}, at the end")
    for max_wait_ms in (-1, 1):
        talk.ask(fetch(topic, fetch_partition(0, 8), max_wait_ms=max_wait_ms), 12, note=f"wait {max_wait_ms}")


def fetch_shares_its_bytes_among_partitions(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=3)
    talk.unrecorded(produce_many({topic: [(index, batch(2)) for index in range(3)]}), 9)
    talk.unrecorded(produce_many({topic: [(index, batch(2)) for index in range(3)]}), 9)
    asked = [fetch_partition(index) for index in range(3)]
    for max_bytes in (0, 1, 150, 250, 330, 500, 10_000):
        talk.ask(fetch(topic, *asked, max_bytes=max_bytes), 12, note=f"in all {max_bytes}")
    small = [fetch_partition(index, max_bytes=120) for index in range(3)]
    talk.ask(fetch(topic, *small), 12)
    talk.ask(fetch(topic, *reversed(small), max_bytes=1), 12, note="in the request's order")


def fetch_a_large_batch(talk: Conversation) -> None:
    topic = a_topic(talk)
    data = build_batch([Record(0, LONG_AGO, b"k", b"x" * 5000), Record(1, LONG_AGO, b"k", b"y" * 5000)])
    talk.unrecorded(produce(topic, data), 9)
    for version in (3, 4, 12):
        see = without_records if version < 4 else None
        talk.ask(fetch(topic, fetch_partition(max_bytes=100), max_bytes=100), version, see=see)
    talk.ask(fetch(topic, fetch_partition(max_bytes=100)), 4)


def fetch_the_same_partition_twice(talk: Conversation) -> None:
    topic = filled(talk)
    for version in (4, 7, 12):
        talk.ask(fetch(topic, fetch_partition(), fetch_partition(0, 2)), version)
        twice = [FetchTopic(topic=topic, partitions=[fetch_partition()]) for _ in range(2)]
        talk.ask(fetch_many(twice), version, note="topic twice")


def fetch_nothing(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in (0, 4, 7, 12, 17):
        talk.ask(fetch_many([]), version, note="no topic")
        if version < 13:
            talk.ask(fetch_many([FetchTopic(topic=topic)]), version, note="no partition")


def fetch_with_leader_epochs(talk: Conversation) -> None:
    topic = filled(talk)
    known = topic_id(talk, topic)
    for epoch in (0, 1, -1, -2, 2147483647):
        for version in (9, 12, 16):
            asked = fetch_partition(current_leader_epoch=epoch)
            talk.ask(fetch(topic, asked, topic_id=known), version, note=f"current leader epoch {epoch}")


def fetch_with_a_last_fetched_epoch(talk: Conversation) -> None:
    topic = filled(talk)
    for offset, epoch in ((0, 0), (2, 0), (6, 0), (7, 0), (2, 1), (0, 1), (2, 5), (2, -1), (2, -2)):
        asked = fetch_partition(0, offset, last_fetched_epoch=epoch)
        talk.ask(fetch(topic, asked), 12, note=f"offset {offset}, epoch {epoch}")


def fetch_with_isolation_levels(talk: Conversation) -> None:
    topic = filled(talk)
    for level in (0, 1, 2, -1):
        talk.ask(fetch(topic, isolation_level=level), 12, note=f"level {level}")
    talk.ask(fetch(topic, fetch_partition(0, 6), isolation_level=1), 4, note="at the end")
    talk.ask(fetch(topic, fetch_partition(0, 7), isolation_level=1), 4, note="past the end")


def fetch_as_a_follower_that_is_none(talk: Conversation) -> None:
    topic = filled(talk)
    known = topic_id(talk, topic)
    for replica_id in (0, 5, -2, -3):
        talk.ask(fetch(topic, replica_id=replica_id), 12, note=f"replica {replica_id}")
        talk.ask(
            fetch(topic, topic_id=known, replica_state=ReplicaState(replica_id=replica_id, replica_epoch=1)),
            15,
            note=f"replica {replica_id}",
        )


def fetch_with_a_rack_and_a_cluster_id(talk: Conversation) -> None:
    topic = filled(talk)
    talk.ask(fetch(topic, rack_id="here"), 11)
    talk.ask(fetch(topic, cluster_id="another-cluster"), 12)


# -- fetch sessions


def session(talk: Conversation, topic: str, version: int, **fields: Any) -> int:
    """Starts a fetch session; returns its id."""
    fetched = talk.ask(fetch(topic, session_epoch=0, **fields), version)
    assert isinstance(fetched.session_id, int)
    return fetched.session_id


def fetch_sessions(talk: Conversation) -> None:
    topic = filled(talk, partitions=3)
    for version in (7, 12):
        answer = talk.ask(fetch(topic, *map(fetch_partition, range(3)), session_epoch=0), version)
        number = answer.session_id
        talk.ask(fetch_many([], session_id=number, session_epoch=1), version, note="nothing new asked")
        talk.ask(fetch(topic, fetch_partition(0, 6), session_id=number, session_epoch=2), version)
        talk.ask(fetch_many([], session_id=number, session_epoch=3), version, note="nothing new there")
        talk.unrecorded(produce(topic, batch(), partition=1), 9)
        talk.ask(fetch_many([], session_id=number, session_epoch=4), version, note="something in partition 1")
        talk.ask(
            fetch_many(
                [],
                session_id=number,
                session_epoch=5,
                forgotten_topics_data=[ForgottenTopic(topic=topic, partitions=[1, 2, 9])],
            ),
            version,
            note="without partition 1",
        )
        talk.ask(
            fetch(topic, fetch_partition(7), session_id=number, session_epoch=6), version, note="unknown partition"
        )
        talk.ask(fetch_many([], session_id=number, session_epoch=7), version, note="its error again")
        talk.ask(fetch_many([], session_id=number, session_epoch=-1), version, note="the end")
        talk.ask(fetch_many([], session_id=number, session_epoch=8), version, note="after the end")


def fetch_sessions_with_topic_ids(talk: Conversation) -> None:
    topic = filled(talk, partitions=2)
    known = topic_id(talk, topic)
    answer = talk.ask(fetch("", fetch_partition(0), fetch_partition(1), topic_id=known, session_epoch=0), 13)
    number = answer.session_id
    talk.ask(fetch_many([], session_id=number, session_epoch=1), 13)
    talk.ask(fetch("", fetch_partition(), topic_id=NOBODYS_ID, session_id=number, session_epoch=2), 13)
    talk.ask(fetch_many([], session_id=number, session_epoch=3), 13)
    forgotten = [ForgottenTopic(topic_id=NOBODYS_ID, partitions=[0])]
    talk.ask(fetch_many([], session_id=number, session_epoch=4, forgotten_topics_data=forgotten), 13)
    talk.ask(fetch(topic, session_id=number, session_epoch=5), 12, note="by name from now on")
    talk.ask(fetch("", topic_id=known, session_id=number, session_epoch=5), 13)


def fetch_sessions_with_wrong_epochs_and_ids(talk: Conversation) -> None:
    topic = filled(talk)
    for version in (7, 12):
        number = session(talk, topic, version)
        for epoch in (2, 5, 2147483647, -2):
            talk.ask(fetch(topic, session_id=number, session_epoch=epoch), version, note=f"epoch {epoch}")
        talk.ask(fetch(topic, session_id=number, session_epoch=1), version, note="the right epoch still works")
        talk.ask(fetch(topic, session_id=number, session_epoch=1), version, note="once")
        for other, epoch in ((1, 1), (-1, 1), (0, 1), (0, -2), (2147483000, 3), (1, -1), (-5, -1)):
            talk.ask(fetch(topic, session_id=other, session_epoch=epoch), version, note=f"id {other}, epoch {epoch}")


def fetch_sessions_begun_anew(talk: Conversation) -> None:
    topic = filled(talk)
    number = session(talk, topic, 12)
    again = talk.ask(fetch(topic, session_id=number, session_epoch=0), 12, note="a full fetch in the same session")
    talk.ask(fetch(topic, session_id=number, session_epoch=1), 12, note="the old one")
    talk.ask(fetch(topic, session_id=again.session_id, session_epoch=1), 12, note="the new one")


def fetch_sessions_without_partitions(talk: Conversation) -> None:
    answer = talk.ask(fetch_many([], session_epoch=0), 12)
    talk.ask(fetch_many([], session_id=answer.session_id, session_epoch=1), 12)
    topic = filled(talk)
    answer = talk.ask(fetch(topic, session_epoch=0), 12)
    forgotten = [ForgottenTopic(topic=topic, partitions=[0])]
    talk.ask(fetch_many([], session_id=answer.session_id, session_epoch=1, forgotten_topics_data=forgotten), 12)
    talk.ask(fetch_many([], session_id=answer.session_id, session_epoch=2), 12)


def fetch_sessions_of_a_topic_that_comes_to_be(talk: Conversation) -> None:
    name = talk.name("later")
    answer = talk.ask(fetch(name, session_epoch=0), 12)
    filled(talk, "later")
    talk.ask(fetch_many([], session_id=answer.session_id, session_epoch=1), 12)


def fetch_wakes_when_something_comes(talk: Conversation) -> None:
    topic = filled(talk)
    waiting = talk.send(fetch(topic, fetch_partition(0, 6), max_wait_ms=30_000), 12, on="consumer")
    talk.ask(produce(topic, batch()), 9)
    waiting.answer()
    behind = talk.send(fetch(topic, fetch_partition(0, 7), max_wait_ms=30_000), 12, on="consumer")
    first = talk.send(produce(topic, batch()), 9)
    first.answer()
    behind.answer()


# -- ListOffsets


def list_offsets_in_every_version(talk: Conversation) -> None:
    topic = filled(talk)
    for version in range(10):
        for timestamp in (-1, -2, -3, -4, -5, -6, -7, LONG_AGO, LONG_AGO + 1001, LONG_AGO + 999_999, 0):
            talk.ask(list_offsets(topic, timestamp), version, note=str(timestamp))


def list_offsets_of_an_empty_partition(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in (0, 1, 5, 9):
        for timestamp in (-1, -2, LONG_AGO):
            talk.ask(list_offsets(topic, timestamp), version, note=str(timestamp))
    for timestamp in (-3, -4, -5):
        talk.ask(list_offsets(topic, timestamp), 9, note=str(timestamp))


def list_offsets_of_version_0_with_counts(talk: Conversation) -> None:
    topic = a_topic(talk, segment_bytes="120")
    for n in range(4):
        talk.unrecorded(produce(topic, build_batch(records(2, timestamp=LONG_AGO + n * 1000))), 9)
    for count in (0, 1, 2, 100, -1):
        for timestamp in (-1, -2, -3, 0, LONG_AGO + 1500, 1 << 62):
            talk.ask(list_offsets(topic, timestamp, max_num_offsets=count), 0, note=f"{timestamp}, at most {count}")


def list_offsets_of_unknown_partitions(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in (0, 1, 4, 7, 9):
        for timestamp in (-1, -2, LONG_AGO):
            talk.ask(list_offsets(talk.name("unknown"), timestamp), version, note=f"unknown topic, {timestamp}")
            talk.ask(list_offsets(topic, timestamp, partition=4), version, note=f"unknown partition, {timestamp}")
    talk.ask(list_offsets("", -1), 7)
    talk.ask(list_offsets(topic, -1, partition=-1), 7)


def list_offsets_with_leader_epochs(talk: Conversation) -> None:
    topic = filled(talk)
    for epoch in (0, 1, -1, -2):
        for timestamp in (-1, -2, LONG_AGO):
            talk.ask(list_offsets(topic, timestamp, current_leader_epoch=epoch), 7, note=f"{timestamp}, epoch {epoch}")


def list_offsets_as_others_than_consumers(talk: Conversation) -> None:
    topic = filled(talk)
    for replica_id in (0, 3, -2, -3):
        for version in (0, 1, 7):
            talk.ask(list_offsets(topic, -1, replica_id=replica_id), version, note=f"replica {replica_id}")
    for level in (1, 2, -1):
        talk.ask(list_offsets(topic, -1, isolation=level), 7, note=f"isolation {level}")
        talk.ask(list_offsets(topic, LONG_AGO, isolation=level), 7, note=f"isolation {level}, by time")


def list_offsets_of_a_partition_named_twice(talk: Conversation) -> None:
    topic = filled(talk)
    for version in (0, 1, 7):
        talk.ask(list_offsets(topic, -1, -2), version)


def list_offsets_of_nothing(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in (0, 1, 7):
        talk.ask(ListOffsetsRequest(replica_id=-1), version)
        talk.ask(ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic)]), version)


def list_offsets_by_time_among_odd_timestamps(talk: Conversation) -> None:
    """Offsets by time are those of the first record with at least that timestamp, in the order of offsets."""
    topic = a_topic(talk)
    times = [500, 100, 900, 900, 300]
    for chunk in (times, [1000], [200]):
        data = build_batch([Record(n, LONG_AGO + each, b"k", b"v") for n, each in enumerate(chunk)])
        talk.unrecorded(produce(topic, data), 9)
    talk.unrecorded(produce(topic, build_batch([Record(0, LONG_AGO + 950, b"k", b"v")], codec=Codec.GZIP)), 9)
    for after in (0, 100, 101, 500, 501, 900, 901, 1000, 1001):
        talk.ask(list_offsets(topic, LONG_AGO + after), 7, note=f"+{after}")
    talk.ask(list_offsets(topic, -3), 7)


def list_offsets_of_the_latest_among_equal_timestamps(talk: Conversation) -> None:
    topic = a_topic(talk)
    for codec in (Codec.NONE, Codec.LZ4):
        talk.unrecorded(
            produce(topic, build_batch([Record(n, LONG_AGO, b"k", b"v") for n in range(3)], codec=codec)), 9
        )
        talk.ask(list_offsets(topic, -3), 7)
    negative = a_topic(talk, "negative")
    talk.unrecorded(produce(negative, build_batch([Record(0, -1, b"k", b"v")])), 9)
    for timestamp in (-3, 0):
        talk.ask(list_offsets(negative, timestamp), 7)


def list_offsets_in_a_topic_with_append_time(talk: Conversation) -> None:
    topic = a_topic(talk, message_timestamp_type="LogAppendTime")
    talk.unrecorded(produce(topic, batch(3)), 9)
    talk.ask(list_offsets(topic, LONG_AGO), 7)
    talk.ask(list_offsets(topic, -3), 7)


# -- OffsetForLeaderEpoch


def offset_for_leader_epoch_in_every_version(talk: Conversation) -> None:
    topic = filled(talk)
    for version in range(5):
        for epoch in (0, 1, 5, -1, -2, 2147483647):
            talk.ask(epoch_end(topic, epoch), version, note=f"epoch {epoch}")


def offset_for_leader_epoch_of_an_empty_partition(talk: Conversation) -> None:
    topic = a_topic(talk)
    for epoch in (0, 1, -1):
        talk.ask(epoch_end(topic, epoch), 3, note=f"epoch {epoch}")


def offset_for_leader_epoch_with_the_current_epoch(talk: Conversation) -> None:
    topic = filled(talk)
    for current in (0, 1, -1, -2):
        for version in (2, 4):
            talk.ask(epoch_end(topic, 0, current=current), version, note=f"current {current}")


def offset_for_leader_epoch_of_unknown_partitions(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in (0, 1, 3, 4):
        talk.ask(epoch_end(talk.name("unknown"), 0), version)
        talk.ask(epoch_end(topic, 0, partition=3), version)
        talk.ask(OffsetForLeaderEpochRequest(), version)


def offset_for_leader_epoch_as_replicas(talk: Conversation) -> None:
    topic = filled(talk)
    for replica_id in (-1, -2, 0, 7):
        talk.ask(epoch_end(topic, 0, replica_id=replica_id), 3, note=f"replica {replica_id}")


def fetch_after_an_idempotent_producer(talk: Conversation) -> None:
    topic = a_topic(talk)
    producer = a_producer(talk)
    talk.unrecorded(init_producer(), 4)
    for first in (0, 2):
        talk.unrecorded(produce(topic, sequence(producer, first, 2)), 9)
    for level in (0, 1):
        talk.ask(fetch(topic, isolation_level=level), 12)
    consume(talk, topic, 0)


def fetch_with_everything_at_its_default(talk: Conversation) -> None:
    for version in (0, 4, 12, 17):
        talk.ask(FetchRequest(), version)


SCENARIOS = [
    fetch_in_every_version,
    fetch_down_converted,
    fetch_what_old_clients_wrote,
    fetch_zstd_by_old_clients,
    fetch_from_a_zstd_topic_by_old_clients,
    fetch_from_every_offset,
    fetch_from_unknown_partitions,
    fetch_known_and_unknown_topics_together,
    fetch_a_topic_that_was_deleted,
    fetch_with_sizes,
    fetch_shares_its_bytes_among_partitions,
    fetch_a_large_batch,
    fetch_the_same_partition_twice,
    fetch_nothing,
    fetch_with_leader_epochs,
    fetch_with_a_last_fetched_epoch,
    fetch_with_isolation_levels,
    fetch_as_a_follower_that_is_none,
    fetch_with_a_rack_and_a_cluster_id,
    fetch_sessions,
    fetch_sessions_with_topic_ids,
    fetch_sessions_with_wrong_epochs_and_ids,
    fetch_sessions_begun_anew,
    fetch_sessions_without_partitions,
    fetch_sessions_of_a_topic_that_comes_to_be,
    fetch_wakes_when_something_comes,
    fetch_after_an_idempotent_producer,
    fetch_with_everything_at_its_default,
    list_offsets_in_every_version,
    list_offsets_of_an_empty_partition,
    list_offsets_of_version_0_with_counts,
    list_offsets_of_unknown_partitions,
    list_offsets_with_leader_epochs,
    list_offsets_as_others_than_consumers,
    list_offsets_of_a_partition_named_twice,
    list_offsets_of_nothing,
    list_offsets_by_time_among_odd_timestamps,
    list_offsets_of_the_latest_among_equal_timestamps,
    list_offsets_in_a_topic_with_append_time,
    offset_for_leader_epoch_in_every_version,
    offset_for_leader_epoch_of_an_empty_partition,
    offset_for_leader_epoch_with_the_current_epoch,
    offset_for_leader_epoch_of_unknown_partitions,
    offset_for_leader_epoch_as_replicas,
]
