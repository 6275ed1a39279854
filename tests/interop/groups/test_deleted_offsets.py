"""Tests that deletions last: whole groups, single offsets, and offsets of deleted topics."""

from collections.abc import Iterable

import pytest
from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaPythonPartition
from pybroker.base.topic_partition import TopicPartition as StoredPartition
from pybroker.broker.coordinator.group.record_keys import OffsetKey
from support.clients.topics import admin_client, create_topic
from support.logs.offset_keys import GroupKey
from support.logs.offsets_files import OffsetsFiles
from support.processes.broker_process import BrokerProcess
from support.processes.started_broker import StartBroker
from support.time.patience import await_answer

KEPT, GONE = "kept", "gone"
"""Two topics of two partitions."""
EVERYWHERE = {(KEPT, 0): 1, (KEPT, 1): 2, (GONE, 0): 3, (GONE, 1): 4}


class Groups:
    """Groups, as seen by administrators and members."""

    def __init__(self, servers: str) -> None:
        self._servers = servers

    def commit_as_member(self, group: str, offsets: dict[tuple[str, int], int]) -> None:
        """Joins the group to get a generation, commits and leaves."""
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": group, "enable.auto.commit": False})
        assigned: list[TopicPartition] = []
        consumer.subscribe([KEPT], on_assign=lambda _, partitions: assigned.extend(partitions))
        while not assigned:
            consumer.poll(0.05)
        self._commit(consumer, offsets)
        consumer.close()

    def commit_many_times(self, group: str, times: int) -> None:
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": group})
        for offset in range(times):
            self._commit(consumer, {(KEPT, 0): offset})
        consumer.close()

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": group})
        found = consumer.committed([TopicPartition(*place) for place in EVERYWHERE])
        consumer.close()
        return {(each.topic, each.partition): each.offset for each in found if each.offset >= 0}

    def names(self) -> set[str]:
        admin = admin_client(self._servers)
        return {each.group_id for each in admin.list_consumer_groups().result().valid}

    def delete(self, group: str) -> None:
        admin = admin_client(self._servers)  # without a reference it would cancel its requests
        admin.delete_consumer_groups([group])[group].result()

    def delete_offset(self, group: str, topic: str, partition: int) -> None:
        admin = KafkaAdminClient(bootstrap_servers=self._servers)
        admin.delete_group_offsets(group, [KafkaPythonPartition(topic, partition)])
        admin.close()

    def delete_topic(self, topic: str) -> None:
        admin = admin_client(self._servers)
        admin.delete_topics([topic])[topic].result()

    @staticmethod
    def _commit(consumer: Consumer, offsets: dict[tuple[str, int], int]) -> None:
        places = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        consumer.commit(offsets=places, asynchronous=False)


def offset_keys(group: str, places: Iterable[tuple[str, int]]) -> set[OffsetKey]:
    return {OffsetKey(group, StoredPartition(*place)) for place in places}


WRITTEN = {
    GroupKey("deleted"),
    *offset_keys("deleted", EVERYWHERE),
    *offset_keys("in part", [(KEPT, 1), (GONE, 0), (GONE, 1)]),
    *offset_keys("reader of both", [(GONE, 0), (GONE, 1)]),
}


def delete_this_and_that(groups: Groups, files: OffsetsFiles) -> None:
    for group in ("deleted", "in part", "reader of both"):
        groups.commit_as_member(group, EVERYWHERE)
    groups.delete("deleted")
    groups.delete_offset("in part", KEPT, 1)
    groups.delete_topic(GONE)
    # The response does not wait until the deletion is written.
    await_answer(lambda: set(files.tombstones()), lambda found: found == WRITTEN, "tombstones of what was deleted")


def check(groups: Groups) -> None:
    """Checks groups and offsets. A request for offsets waits until the groups are loaded; listing groups does not."""
    assert groups.committed("deleted") == {}
    assert groups.committed("in part") == {(KEPT, 0): 1}
    assert groups.committed("reader of both") == {(KEPT, 0): 1, (KEPT, 1): 2}
    assert groups.names() >= {"in part", "reader of both"}
    assert "deleted" not in groups.names()


@pytest.mark.parametrize(
    "rolled", [pytest.param(False, marks=pytest.mark.long), True], ids=["in one segment", "in rolled segments"]
)
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_deleted_groups_and_offsets_stay_deleted_after_a_restart(
    end: str, rolled: bool, start_broker: StartBroker
) -> None:
    segment_bytes = {"offsets.topic.segment.bytes": "600"} if rolled else {}
    broker = start_broker({"offsets.topic.num.partitions": "1", **segment_bytes})
    if end == "kill" and not isinstance(broker, BrokerProcess):
        pytest.skip("a killed Kafka can't start before ZooKeeper has missed it")
    groups, files = Groups(broker.bootstrap_servers), OffsetsFiles(broker.log_directory)
    for topic in (KEPT, GONE):
        create_topic(broker.bootstrap_servers, topic, 2)
    delete_this_and_that(groups, files)
    check(groups)
    groups.commit_many_times("busy", 50)
    getattr(broker, end)()
    assert (len(files.segments) > 5) is rolled
    broker.start()
    check(groups)
    create_topic(broker.bootstrap_servers, GONE, 2)  # a new topic with the old name has no offsets
    check(groups)
    assert groups.committed("busy") == {(KEPT, 0): 49}


def test_deleted_group_can_be_used_again(start_broker: StartBroker) -> None:
    broker = start_broker({"offsets.topic.num.partitions": "1"})
    groups = Groups(broker.bootstrap_servers)
    create_topic(broker.bootstrap_servers, KEPT, 2)
    groups.commit_as_member("deleted", {(KEPT, 0): 1, (KEPT, 1): 2})
    groups.delete("deleted")
    groups.commit_as_member("deleted", {(KEPT, 1): 7})
    broker.stop()
    broker.start()
    assert groups.committed("deleted") == {(KEPT, 1): 7}
