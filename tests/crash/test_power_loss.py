"""Tests a simulated power loss (a kill plus damaged files): the broker recovers the synced data and continues.

scripts/test tests/crash/test_power_loss.py --kill-rounds 50 --kill-seed 7
"""

from pathlib import Path
from random import Random

import pytest
from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, Message, Producer, TopicPartition
from support.clients.kept_records import read_all
from support.clients.topics import create_topic
from support.load.power_loss import StoredLog, lose_power, recovery_points, tear_tails
from support.processes.broker_process import BrokerProcess

TOPIC = "events"
GROUP = "committers"
LAST = b"the last one"
PARTITIONS = 3
SETTINGS = {
    "log.segment.bytes": "20000",
    "log.index.interval.bytes": "512",
    "log.flush.offset.checkpoint.interval.ms": "100",
    "offsets.topic.num.partitions": "1",
}


class Sender:
    """Sends records until enough are acknowledged, and leaves the rest in flight."""

    def __init__(self, servers: str, name: str) -> None:
        self._name = name
        self._acknowledged = 0
        # No batch may be larger than a segment.
        settings = {"enable.idempotence": True, "linger.ms": 1, "batch.size": 5000}
        self._producer = Producer({"bootstrap.servers": servers, **settings})
        self.failures: list[str] = []

    def send(self, count: int, random: Random) -> None:
        for number in range(count + 200):
            value = f"{self._name}:{number}:" + "x" * random.randrange(100)
            self._producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=self._delivered)
            self._producer.poll(0)
        while self._acknowledged < count and not self.failures:
            self._producer.poll(0.1)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._acknowledged += 1
        else:
            self.failures.append(str(error))

    def give_up(self) -> None:
        self._producer.purge()
        self._producer.flush()


def append_last(servers: str, partition: int) -> None:
    """Append a record, which a torn log must accept. Readers pass a hole at the end of a log only if a record
    follows.
    """
    failures: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(TOPIC, LAST, partition=partition, on_delivery=lambda error, _: failures.append(error))
    producer.flush()
    assert failures == [None]


def commit(servers: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": GROUP})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
    consumer.close()


def committed(servers: str) -> int:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": GROUP})
    (found,) = consumer.committed([TopicPartition(TOPIC, 0)], timeout=60)
    consumer.close()
    return int(found.offset)


def logs_in(broker: BrokerProcess) -> dict[str, StoredLog]:
    return {path.name: StoredLog(path) for path in sorted(broker.log_directory.iterdir()) if path.is_dir()}


def found_in(broker: BrokerProcess, partition: int) -> list[tuple[int, bytes | None]]:
    return list(read_all(broker.bootstrap_servers, TOPIC, partition))


def test_synced_records_survive_a_power_cut_and_torn_records_are_cut_off(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    rounds, seed = pytestconfig.getoption("--kill-rounds"), pytestconfig.getoption("--kill-seed")
    random = Random(seed)
    with BrokerProcess(tmp_path, SETTINGS) as broker:
        create_topic(broker.bootstrap_servers, TOPIC, PARTITIONS)
        lost = 0
        for number in range(rounds):
            sender = Sender(broker.bootstrap_servers, str(number))
            sender.send(random.randrange(1, 1500), random)
            assert sender.failures == []
            commit(broker.bootstrap_servers, number + 1)
            broker.kill()
            sender.give_up()
            points = recovery_points(broker.log_directory)
            before, intact = {}, {}
            for name, log in logs_in(broker).items():
                before[name] = log.records(log.batches())
                intact[name] = lose_power(log, points.get(name, 0), random)
            broker.start()
            for partition in range(PARTITIONS):
                name = f"{TOPIC}-{partition}"
                append_last(broker.bootstrap_servers, partition)
                *found, last = found_in(broker, partition)
                assert last[1] == LAST
                whole = len(intact[name])
                assert found[:whole] == intact[name], f"seed {seed}, round {number}"
                # A file that lost its end between two batches leaves a hole, as in Kafka; nothing is made up or moved.
                later = iter(before[name][whole:])
                assert all(record in later for record in found[whole:]), f"seed {seed}, round {number}"
                lost += len(before[name]) - len(found)
            # Commits are records too: the one that remains must be one that was made.
            assert committed(broker.bootstrap_servers) in {OFFSET_INVALID, *range(1, number + 2)}
        print(f"seed {seed}: {lost} unsynced records were lost")
        assert lost > 0
        assert broker.stop() == 0
    assert "Traceback" not in broker.output


def test_everything_acknowledged_survives_a_power_cut_when_every_record_is_flushed(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """With a flush for every record, everything in the files is synced (tests/storage/test_durability.py); only
    unfinished writes are torn.
    """
    rounds, seed = pytestconfig.getoption("--kill-rounds"), pytestconfig.getoption("--kill-seed")
    random = Random(seed)
    with BrokerProcess(tmp_path, {**SETTINGS, "log.flush.interval.messages": "1"}) as broker:
        create_topic(broker.bootstrap_servers, TOPIC, PARTITIONS)
        for number in range(rounds):
            sender = Sender(broker.bootstrap_servers, str(number))
            sender.send(random.randrange(1, 500), random)
            assert sender.failures == []
            commit(broker.bootstrap_servers, number + 1)
            broker.kill()
            sender.give_up()
            before = {}
            for name, log in logs_in(broker).items():
                before[name] = log.records(log.batches())
                tear_tails(log, random)
            broker.start()
            for partition in range(PARTITIONS):
                assert found_in(broker, partition) == before[f"{TOPIC}-{partition}"], f"seed {seed}, round {number}"
            assert committed(broker.bootstrap_servers) == number + 1
        assert broker.stop() == 0
    assert "Traceback" not in broker.output
