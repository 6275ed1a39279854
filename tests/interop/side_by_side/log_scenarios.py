"""Scenarios of partitions on disk: DeleteRecords, DescribeLogDirs, AlterReplicaLogDirs, DescribeProducers."""

from collections.abc import Mapping

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import (
    a_group,
    a_producer,
    a_topic,
    batch,
    fetch,
    fetch_partition,
    list_offsets,
    produce,
    sequence,
)
from pybroker.protocol.messages import alter_replica_log_dirs as al
from pybroker.protocol.messages import delete_records as dr
from pybroker.protocol.messages import describe_log_dirs as dl
from pybroker.protocol.messages import describe_producers as dp

__all__ = ["SCENARIOS"]

# -- DeleteRecords


def delete(offsets: Mapping[tuple[str, int], int], timeout_ms: int = 30_000) -> dr.DeleteRecordsRequest:
    """Returns a request. `offsets`: the first offset to keep, by topic and partition; -1 deletes all records."""
    topics: dict[str, list[dr.DeleteRecordsPartition]] = {}
    for (topic, index), offset in offsets.items():
        topics.setdefault(topic, []).append(dr.DeleteRecordsPartition(partition_index=index, offset=offset))
    asked = [dr.DeleteRecordsTopic(name=topic, partitions=partitions) for topic, partitions in topics.items()]
    return dr.DeleteRecordsRequest(topics=asked, timeout_ms=timeout_ms)


def delete_records_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk)
    for _ in range(5):
        talk.unrecorded(produce(topic, batch(2)), 9)
    for version in range(3):
        talk.ask(delete({(topic, 0): 1 + 2 * version}), version)
        talk.ask(list_offsets(topic, -2), 7)
        talk.ask(fetch(topic, fetch_partition(0, 1 + 2 * version)), 12)
        talk.ask(delete({}), version, note="none")
    talk.ask(delete({(topic, 0): 2}), 2, note="less than is deleted")
    talk.ask(fetch(topic, fetch_partition(0, 1)), 12)
    talk.ask(produce(topic, batch()), 9)
    talk.ask(delete({(topic, 0): -1}), 2, note="all")
    talk.ask(delete({(topic, 0): -1}), 2, note="all again")
    talk.ask(list_offsets(topic, -2), 7)
    talk.ask(fetch(topic, fetch_partition(0, 11)), 12)


def delete_records_here_and_there(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=2)
    talk.unrecorded(produce(topic, batch(10)), 9)
    for version in range(3):
        talk.ask(delete({(topic, 0): 2 * version, (topic, 1): 0, (topic, 9): 0, (topic, -1): 0}), version)
        for name in (talk.name("unknown"), "", "a b"):
            talk.ask(delete({(name, 0): 1}), version, note=name[-8:])
    talk.ask(delete({(topic, 0): 5}, timeout_ms=0), 2, note="without waiting")


def delete_records_at_impossible_offsets(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=2)
    talk.unrecorded(produce(topic, batch(3)), 9)
    for version in range(3):
        for offset in (4, -2, 2**62, 2**63 - 1, -(2**63)):
            talk.ask(delete({(topic, 0): offset, (topic, 1): offset}), version, note=f"offset {offset}")
    talk.ask(delete({(topic, 0): 3, (topic, 1): -1}), 2)


def delete_records_that_are_not_to_be_deleted(talk: Conversation) -> None:
    a_group(talk)
    for version in range(3):
        compacted = a_topic(talk, f"compacted-{version}", cleanup_policy="compact")
        both = a_topic(talk, f"both-{version}", cleanup_policy="compact,delete")
        for topic in (compacted, both):
            talk.unrecorded(produce(topic, batch(3)), 9)
            talk.ask(delete({(topic, 0): 1, (talk.name("unknown"), 0): 0}), version)
        talk.ask(delete({("__consumer_offsets", 0): 0}), version, see=without_watermarks)


def without_watermarks(answer: Json) -> Json:
    """Removes sizes and watermarks, which depend on other scenarios."""
    return [[each["errorCode"] for each in topic["partitions"]] for topic in answer["topics"]]


# -- log directories


def of_scenario(talk: Conversation, answer: Json) -> Json:
    """Returns only this scenario's replicas, without paths and sizes of disks."""
    for result in answer["results"]:
        result["logDir"] = "the directory" if result["logDir"].startswith("/") else result["logDir"]
        for size in ("totalBytes", "usableBytes"):
            if size in result:
                result[size] = "some" if result[size] > 0 else result[size]
        result["topics"] = [topic for topic in result["topics"] if talk.is_own(topic["name"])]
    return answer


def describe_log_dirs(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=3)
    talk.unrecorded(produce(topic, batch(3)), 9)
    talk.unrecorded(produce(topic, batch(2), partition=2), 9)

    def ask(version: int, topics: list[dl.DescribableLogDirTopic] | None, note: str) -> None:
        request = dl.DescribeLogDirsRequest(topics=topics)
        talk.ask(request, version, note=note, see=lambda answer: of_scenario(talk, answer))

    def named(name: str, *partitions: int) -> dl.DescribableLogDirTopic:
        return dl.DescribableLogDirTopic(topic=name, partitions=list(partitions))

    for version in range(5):
        ask(version, None, "all")
        ask(version, [], "none")
        ask(version, [named(topic, 0, 2, 7), named(talk.name("unknown"), 0), named(topic, 0)], "known and unknown ones")
        ask(version, [named(talk.name("unknown"), 0)], "an unknown topic")
        ask(version, [named("", 0), named("a b", -1)], "odd names")
        ask(version, [named(topic)], "no partition")


def move_partitions_to_log_dirs(talk: Conversation) -> None:
    topic = a_topic(talk)
    here = talk.unrecorded(dl.DescribeLogDirsRequest(topics=[]), 4).results[0].log_dir
    partitions = [(topic, 0), (topic, 9), (talk.name("unknown"), 0), ("x" * 240, 0), ("a/b", 0)]
    for path in (here, f"{here}/", "/no/such/directory", "", "relative"):
        for version in range(3):
            topics = [al.AlterReplicaLogDirTopic(name=name, partitions=[index]) for name, index in partitions]
            for moved in ([each] for each in topics) if version == 2 else [topics]:
                request = al.AlterReplicaLogDirsRequest(dirs=[al.AlterReplicaLogDir(path=path, topics=moved)])
                talk.ask(request, version, note=f"to {path.replace(here, 'here')!r}")
    for version in range(3):
        talk.ask(al.AlterReplicaLogDirsRequest(), version, note="nothing")
        talk.ask(al.AlterReplicaLogDirsRequest(dirs=[al.AlterReplicaLogDir(path=here)]), version, note="no topic")


# -- DescribeProducers


def without_the_time(answer: Json) -> Json:
    for topic in answer["topics"]:
        for partition in topic["partitions"]:
            for producer in partition["activeProducers"]:
                producer["lastTimestamp"] = producer["lastTimestamp"] > 0
            partition["activeProducers"].sort(key=lambda producer: producer["producerId"])
    return answer


def ask_for_producers(talk: Conversation, partitions: Mapping[str, list[int]], note: str = "") -> None:
    topics = [dp.TopicRequest(name=name, partition_indexes=indexes) for name, indexes in partitions.items()]
    talk.ask(dp.DescribeProducersRequest(topics=topics), 0, note=note, see=without_the_time)


def describe_producers(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=2)
    first, second = a_producer(talk), a_producer(talk)
    talk.unrecorded(produce(topic, sequence(first, 0, 3)), 9)
    ask_for_producers(talk, {topic: [0]}, "one producer")
    talk.unrecorded(produce(topic, sequence(first, 3, 1)), 9)
    talk.unrecorded(produce(topic, sequence(second, 0, 1, epoch=2)), 9)
    talk.unrecorded(produce(topic, batch(1)), 9)
    ask_for_producers(talk, {topic: [0]}, "two producers")
    talk.unrecorded(produce(topic, sequence(second, 0, 1, epoch=3)), 9)
    ask_for_producers(talk, {topic: [0, 1, 9, 0, -1]}, "a new epoch; unknown partitions, and one twice")
    for name in (talk.name("unknown"), "a b", "", "__consumer_offsets"):
        ask_for_producers(talk, {name: [0]}, name[-8:])
    ask_for_producers(talk, {topic: []}, "no partition")
    ask_for_producers(talk, {}, "nothing")


SCENARIOS = [
    delete_records_in_every_version,
    delete_records_here_and_there,
    delete_records_at_impossible_offsets,
    delete_records_that_are_not_to_be_deleted,
    describe_log_dirs,
    move_partitions_to_log_dirs,
    describe_producers,
]
