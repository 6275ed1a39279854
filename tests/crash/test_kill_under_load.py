"""Tests ``kill -9`` of a broker while clients work: acknowledged records exist once and in order, changes persist.

It is killed under load, while it starts (and so recovers), and while it stops cleanly, at random moments.

    scripts/test tests/crash/test_kill_under_load.py --kill-rounds 50 --kill-seed 7
"""

import signal
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from pybroker.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.kept_records import read_all
from support.clients.topics import create_topic
from support.clients.wire_client import WireClient
from support.load.crash_load import Committing, Consuming, CrashLoad, Producing, TopicMaking
from support.processes.broker_process import BrokerProcess

PARTITIONS = 3
RETAINED_BYTES = 100_000
EVENTS, SHORT = "events", "short-lived"
SETTINGS = {
    "log.segment.bytes": "60000",
    "log.index.interval.bytes": "1024",
    "log.retention.check.interval.ms": "500",
    "log.flush.offset.checkpoint.interval.ms": "500",
    "replica.high.watermark.checkpoint.interval.ms": "500",
    "log.segment.delete.delay.ms": "1000",
    "offsets.topic.num.partitions": "5",
}
FLUSH_INTERVALS = ("1", "20", "9223372036854775807")


class Clients:
    """All clients that work with the broker."""

    def __init__(self, servers: str, random: Random) -> None:
        self.producers = [
            Producing(servers, EVENTS, PARTITIONS, "first"),
            Producing(servers, EVENTS, PARTITIONS, "second"),
            Producing(servers, SHORT, 1, "short"),
        ]
        self.committing = Committing(servers, EVENTS, PARTITIONS, "committers")
        self.consuming = Consuming(servers, EVENTS, "readers")
        self.topics = TopicMaking(servers, random)
        self.everybody: list[CrashLoad] = [*self.producers, self.committing, self.consuming, self.topics]

    @property
    def failures(self) -> list[str]:
        return [failure for load in self.everybody for failure in load.failures]

    def stop(self) -> None:
        for load in self.everybody:
            load.stop()

    def give_up(self) -> None:
        """The test failed: stop without waiting for records in flight."""
        for load in self.everybody:
            load.give_up()


class Killer:
    """Ends the broker in one of several ways, and restarts it with other flush intervals."""

    def __init__(self, broker: BrokerProcess, random: Random) -> None:
        self._broker = broker
        self._random = random
        self.kills: Counter[str] = Counter()

    def kill_and_start(self) -> None:
        way = self._random.choice((self._under_load, self._under_load, self._in_the_start, self._in_a_clean_stop))
        way()
        self._broker.settings["log.flush.interval.messages"] = self._random.choice(FLUSH_INTERVALS)
        self._broker.start()

    def _kill(self, moment: str) -> None:
        if self._broker.kill() == -signal.SIGKILL:
            self.kills[moment] += 1

    def _under_load(self) -> None:
        self._kill("under load")

    def _in_the_start(self) -> None:
        self._kill("under load")
        for _ in range(self._random.choice((1, 1, 2, 3))):
            self._broker.begin()
            self._let_go_on_for(0.8)
            self._kill("in the start")

    def _in_a_clean_stop(self) -> None:
        self._broker.terminate()
        self._let_go_on_for(0.2)
        self._kill("in a clean stop")

    def _let_go_on_for(self, at_most_s: float) -> None:
        """Sleep for a random time; the broker is ended at a random moment."""
        time.sleep(self._random.uniform(0, at_most_s))


def committed(servers: str, group: str, partitions: list[TopicPartition]) -> dict[int, int]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    found = consumer.committed([TopicPartition(each.topic, each.partition) for each in partitions], timeout=60)
    consumer.close()
    return {each.partition: each.offset for each in found}


def retentions(client: WireClient, topics: list[str]) -> dict[str, Any]:
    resources = [
        DescribeConfigsResource(resource_type=2, resource_name=topic, configuration_keys=["retention.ms"])
        for topic in topics
    ]
    answer = client.ask(DescribeConfigsRequest(resources=resources), 1)
    return {result.resource_name: result.configs[0].value for result in answer.results}


class Promises:
    """The operations acknowledged before a kill. Later operations may only add to them."""

    def __init__(self, clients: Clients) -> None:
        self.commits = {each.partition: offset for each, offset in clients.committing.committed.items()}
        self.readers = dict(clients.consuming.committed)
        with clients.topics.progress:
            self.gone = set(clients.topics.gone)

    def check(self, servers: str) -> None:
        partitions = [TopicPartition(EVENTS, partition) for partition in range(PARTITIONS)]
        for group, before in (("committers", self.commits), ("readers", self.readers)):
            now = committed(servers, group, partitions)
            assert all(now[partition] >= offset for partition, offset in before.items()), (group, before, now)
        with WireClient(servers) as client:
            existing = {topic.name for topic in client.ask(MetadataRequest(topics=None), 9).topics}
        assert not existing & self.gone


def check_topics(servers: str, topics: TopicMaking) -> None:
    with WireClient(servers) as client:
        existing = {topic.name: len(topic.partitions) for topic in client.ask(MetadataRequest(topics=None), 9).topics}
        found = retentions(client, sorted(topics.alive))
    assert {name: (existing.get(name), found[name]) for name in topics.alive} == topics.alive
    assert not existing.keys() & topics.gone


def log_start(servers: str, topic: str, partition: int) -> int:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "looking"})
    start: int = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=60)[0]
    consumer.close()
    return start


def check_records(broker: BrokerProcess, producers: list[Producing], topic: str, partition: int) -> None:
    """Check that the log has every acknowledged number once at its offset, and each producer's numbers in order.

    The log must start at its first record, unless retention has deleted records.
    """
    servers = broker.bootstrap_servers
    found = read_all(servers, topic, partition)
    while found[0][0] != log_start(servers, topic, partition):  # deleted by retention; nobody appends any more
        found = read_all(servers, topic, partition)
    offsets = [offset for offset, _ in found]
    assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))
    if offsets[0] > 0:
        assert topic == SHORT
        segments = (broker.log_directory / f"{topic}-{partition}").glob("*.log")
        assert sum(segment.stat().st_size for segment in segments) >= RETAINED_BYTES
    for producer in producers:
        name = f"{producer.name}:".encode()
        numbers = [(int(value.removeprefix(name)), offset) for offset, value in found if value.startswith(name)]
        acknowledged, implied = producer.offsets[partition], producer.implied[partition]
        assert acknowledged.keys() | implied == set(range(producer.sent[partition]))
        kept = {number: offset for number, offset in acknowledged.items() if offset >= offsets[0]}
        assert {number: offset for number, offset in numbers if number not in implied} == kept
        assert [number for number, _ in numbers] == list(range(producer.sent[partition]))[-len(numbers) :]


def test_acknowledged_records_commits_and_topics_survive_kill_9(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    rounds, seed = pytestconfig.getoption("--kill-rounds"), pytestconfig.getoption("--kill-seed")
    print(f"seed {seed}")
    random = Random(seed)
    with BrokerProcess(tmp_path, SETTINGS) as broker:
        create_topic(broker.bootstrap_servers, EVENTS, PARTITIONS)
        create_topic(broker.bootstrap_servers, SHORT, 1, {"retention.bytes": str(RETAINED_BYTES)})
        clients = Clients(broker.bootstrap_servers, Random(seed))
        try:
            kill_in_rounds(broker, clients, random, rounds)
        except BaseException:
            clients.give_up()
            raise
        check_all(broker, clients)
        assert broker.stop() == 0
    assert "Traceback" not in broker.output


def kill_in_rounds(broker: BrokerProcess, clients: Clients, random: Random, rounds: int) -> None:
    killer = Killer(broker, random)
    for load in clients.everybody:
        load.start()
    for _ in range(4 * rounds):  # a clean stop may end before the kill, which then does not count
        for load in clients.everybody:
            load.wait_for(1)
        random.choice(clients.producers).wait_for(random.randrange(1, 3000))
        assert clients.failures == []
        promises = Promises(clients)
        killer.kill_and_start()
        promises.check(broker.bootstrap_servers)
        if killer.kills.total() >= rounds:
            break
    assert killer.kills.total() >= rounds
    for load in clients.everybody:
        load.wait_for(1)
    clients.stop()
    print(f"{dict(killer.kills)}, sent {[each.sent for each in clients.producers]}, topics {clients.topics.steps}")
    assert clients.failures == []


def check_all(broker: BrokerProcess, clients: Clients) -> None:
    """Check all promises after the clients have stopped."""
    for partition in range(PARTITIONS):
        check_records(broker, clients.producers[:2], EVENTS, partition)
    check_records(broker, clients.producers[2:], SHORT, 0)
    check_topics(broker.bootstrap_servers, clients.topics)
    check_seen(clients)


def check_seen(clients: Clients) -> None:
    """Check that the group missed no record below its committed offset."""
    for partition, end in clients.consuming.committed.items():
        for producer in clients.producers[:2]:
            due = {f"{producer.name}:{n}".encode() for n, offset in producer.offsets[partition].items() if offset < end}
            assert due <= clients.consuming.seen[partition]
