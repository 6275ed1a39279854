"""``kill -9`` of the broker while clients produce and commit: what was acknowledged is there once, in order."""

import random
import threading
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPythonPartition
from support.broker_process import BrokerProcess

TOPIC = "events"


class Load:
    """An idempotent producer and a committing group member that go on for as long as they are asked to."""

    def __init__(self, servers: str) -> None:
        self.acknowledged: dict[int, int] = {}
        self.sent = 0
        self.committed = 0
        self.failures: list[str] = []
        self.progress = threading.Condition()
        self._stop = threading.Event()
        quick = {"bootstrap.servers": servers, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100}
        self._producer = Producer(
            {**quick, "enable.idempotence": True, "linger.ms": 1, "message.timeout.ms": 0, "retry.backoff.max.ms": 100}
        )
        self._consumer = Consumer({**quick, "group.id": "committers"})
        self._threads = [threading.Thread(target=self._produce), threading.Thread(target=self._commit)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Returns when everything that was sent is acknowledged (or has failed, which is a failure of the test)."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._producer.flush()
        self._consumer.close()

    def wait_for(self, acknowledged: int, committed: int) -> None:
        with self.progress:
            self.progress.wait_for(lambda: len(self.acknowledged) >= acknowledged and self.committed >= committed)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        with self.progress:
            if error is not None:
                self.failures.append(str(error))
                return
            value = message.value()
            assert value is not None
            self.acknowledged[int(value)] = message.offset() or 0
            self.progress.notify_all()

    def _produce(self) -> None:
        while not self._stop.is_set():
            if len(self._producer) > 500:
                self._producer.poll(0.05)
                continue
            self._producer.produce(TOPIC, str(self.sent), partition=0, on_delivery=self._delivered)
            self.sent += 1
            self._producer.poll(0)

    def _commit(self) -> None:
        offset = 0
        while not self._stop.is_set():
            offset += 1
            try:
                self._consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
            except KafkaException:
                continue
            with self.progress:
                self.committed = offset
                self.progress.notify_all()


def values_in_the_log(servers: str, end: int) -> list[int]:
    consumer = KafkaConsumer(bootstrap_servers=servers)
    partition = KafkaPythonPartition(TOPIC, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    values: list[int] = []
    while len(values) < end:
        for batch in consumer.poll(timeout_ms=1000).values():
            values.extend(int(record.value) for record in batch)
    assert consumer.end_offsets([partition])[partition] == len(values)
    consumer.close()
    return values


def committed_offset(servers: str) -> int:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "committers"})
    (partition,) = consumer.committed([TopicPartition(TOPIC, 0)], timeout=60)
    consumer.close()
    return int(partition.offset)


def test_acknowledged_records_and_commits_survive_kill_9(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    rounds, seed = pytestconfig.getoption("--kill-rounds"), pytestconfig.getoption("--kill-seed")
    random_moments = random.Random(seed)
    broker = BrokerProcess(tmp_path, {"log.segment.bytes": "300000", "log.index.interval.bytes": "1024"}).start()
    load = Load(broker.bootstrap_servers)
    load.start()
    load.wait_for(acknowledged=1, committed=1)
    for _ in range(rounds):
        more = random_moments.randrange(1, 3000)
        load.wait_for(len(load.acknowledged) + more, load.committed + random_moments.randrange(1, 20))
        committed = load.committed
        broker.kill()
        broker.start()
        assert committed_offset(broker.bootstrap_servers) >= committed
    load.wait_for(len(load.acknowledged) + 1, load.committed + 1)
    load.stop()
    assert not load.failures
    assert len(load.acknowledged) == load.sent
    values = values_in_the_log(broker.bootstrap_servers, load.sent)
    assert values == list(range(load.sent)), f"seed {seed}"
    assert load.acknowledged == {value: offset for offset, value in enumerate(values)}
    assert broker.stop() == 0
