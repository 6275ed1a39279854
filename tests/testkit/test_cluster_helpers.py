"""The helpers of a cluster look at all its brokers, and wait for events on any of them."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer
from pybroker.testkit.kafka_cluster import KafkaCluster
from pybroker.testkit.led_partitions import led_here

TOPIC = "spread"
PARTITIONS = 6


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    made = KafkaCluster(3, {"offsets.topic.num.partitions": 3, "num.partitions": 2}, "thread")
    try:
        made.create_topic(TOPIC, PARTITIONS)
        yield made
    finally:
        made.close()


class Later:
    """The result of a call on a thread."""

    def __init__(self, call: Any, *arguments: Any, **named: Any) -> None:
        self._found: list[Any] = []
        self._thread = threading.Thread(target=lambda: self._found.append(call(*arguments, **named)), daemon=True)
        self._thread.start()

    def result(self) -> Any:
        self._thread.join(60)
        (found,) = self._found
        return found


def test_records_of_all_leaders_are_appended_and_read(cluster: KafkaCluster, tmp_path: Path) -> None:
    waiting = Later(cluster.wait_records, TOPIC, 12, timeout=60)
    values = [b"%d" % number for number in range(12)]
    stored = cluster.append(TOPIC, *values)
    assert [(each.partition, each.value) for each in stored] == [
        (index, values[number]) for index in range(PARTITIONS) for number in (index, index + PARTITIONS)
    ]
    assert waiting.result() == stored == cluster.records(TOPIC)
    assert cluster.records(TOPIC, 4) == stored[8:10]
    assert cluster.topics() == [TOPIC]
    assert cluster.dump(tmp_path / "all.jsonl") == 12
    assert cluster.load(tmp_path / "all.jsonl", "copy") == 12
    assert [each.value for each in cluster.records("copy")] == [each.value for each in stored]
    for act in (lambda: cluster.records("nope"), lambda: cluster.records(TOPIC, 9), lambda: cluster.lag("nope")):
        with pytest.raises(LookupError):
            act()
    with pytest.raises(TimeoutError, match=r"has not 13 records within 0.1 s: records of partition 0: 2"):
        cluster.wait_records(TOPIC, 13, timeout=0.1)


def test_group_is_seen_at_its_coordinator_and_lag_at_the_leaders(cluster: KafkaCluster) -> None:
    cluster.create_topic("read", 3)
    cluster.append("read", *[b"x"] * 9)
    waits = [Later(cluster.wait_assigned, "g", timeout=60)]
    waits += [Later(cluster.wait_committed, "g", "read", index, 3, timeout=60) for index in range(3)]
    consumer: KafkaConsumer = cluster.consumer("read", group_id="g", enable_auto_commit=False)
    seen = 0
    while seen < 9:
        seen += sum(map(len, consumer.poll(1000).values()))
    consumer.commit()
    for wait in waits:
        assert wait.result() is None
    assert cluster.lag("g") == cluster.lag("g", "read") == 0
    cluster.append("read", b"y", b"z", partition=1)
    assert cluster.lag("g") == 2
    with pytest.raises(TimeoutError, match=r"group 'g' has not committed offset 99 of read-0 within 0.1 s: it is"):
        cluster.wait_committed("g", "read", 0, 99, timeout=0.1)


def test_wait_goes_on_when_a_leader_is_killed_and_another_takes_over(cluster: KafkaCluster) -> None:
    cluster.create_topic("moved", 1)
    cluster.append("moved", b"a")
    waiting = Later(cluster.wait_records, "moved", 2, timeout=60)
    leader = next(id_ for id_ in cluster.broker_ids if _leads(cluster, id_))
    cluster.kill(leader)
    try:
        cluster.append("moved", b"b")
        assert [each.value for each in waiting.result()] == [b"a", b"b"]
    finally:
        cluster.start(leader)


def _leads(cluster: KafkaCluster, broker: int) -> bool:
    led = cluster.cluster.thread_broker(broker).ask(lambda parts: led_here(parts, "moved", committed_only=True), 30)
    return bool(led.spans)
