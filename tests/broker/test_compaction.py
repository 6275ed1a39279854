"""A started broker compacts its compacted topics, `__consumer_offsets` among them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from pybroker.base.topic_partition import TopicPartition as StoredPartition
from pybroker.storage.files import checkpoint_file
from pybroker.storage.files.files import Files
from support.clients.topics import create_topic
from support.processes.broker_process import BrokerProcess
from support.time.patience import await_that

SETTINGS = {
    "log.cleaner.backoff.ms": "20",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.segment.bytes": "4096",
    "offsets.topic.segment.bytes": "4096",
    "offsets.topic.num.partitions": "1",
    "log.segment.delete.delay.ms": "0",
}
OFFSETS = StoredPartition("__consumer_offsets", 0)


def compacted_up_to(broker: BrokerProcess, tp: StoredPartition) -> int:
    path = broker.log_directory / "cleaner-offset-checkpoint"
    return checkpoint_file.read_offsets(Files(), str(path)).get(tp, 0)


def stored_bytes(broker: BrokerProcess, tp: StoredPartition) -> int:
    return sum(path.stat().st_size for path in (broker.log_directory / str(tp)).glob("*.log"))


def consumer(broker: BrokerProcess, group: str) -> Consumer:
    return Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group, "enable.auto.commit": False})


@contextmanager
def committing(broker: BrokerProcess, group: str) -> Iterator[Consumer]:
    found = consumer(broker, group)
    try:
        yield found
    finally:
        found.close()


def test_committed_offsets_are_compacted_and_survive_a_restart(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, SETTINGS) as broker:
        create_topic(broker.bootstrap_servers, "topic", 2)
        with committing(broker, "group") as client, committing(broker, "other") as bystander:
            bystander.commit(offsets=[TopicPartition("topic", 1, 5)], asynchronous=False)
            written = 400
            for offset in range(1, written + 1):
                client.commit(offsets=[TopicPartition("topic", 0, offset)], asynchronous=False)
        await_that(lambda: compacted_up_to(broker, OFFSETS) >= 300, "the compaction of the commits")
        assert stored_bytes(broker, OFFSETS) < written * 60, "most commits are shadowed"
        broker.stop()
        broker.start()
        with committing(broker, "group") as client, committing(broker, "other") as bystander:
            (found,) = client.committed([TopicPartition("topic", 0)])
            assert found.offset == written
            (found,) = bystander.committed([TopicPartition("topic", 1)])
            assert found.offset == 5


def test_a_consumer_finds_the_last_value_of_each_key(tmp_path: Path) -> None:
    settings = {**SETTINGS, "log.cleanup.policy": "compact"}
    with BrokerProcess(tmp_path, settings) as broker:
        create_topic(broker.bootstrap_servers, "topic", 1)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 1})
        number = 3000
        for value in range(1, number + 1):
            producer.produce("topic", key=f"key {value % 7}", value=str(value))
            if value % 100 == 0:
                producer.flush()
        await_that(lambda: compacted_up_to(broker, StoredPartition("topic", 0)) >= 2000, "the compaction of the topic")
        client = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": "readers",
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
            }
        )
        client.subscribe(["topic"])
        found: dict[bytes, int] = {}
        count = 0
        last_offset = -1
        for _ in range(1400):  # about 1000 records, and some minutes of silence
            message = client.poll(1)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF
                break
            key, text, offset = message.key(), message.value(), message.offset()
            assert key is not None
            assert text is not None
            assert offset is not None
            assert offset > last_offset
            last_offset = offset
            count += 1
            found[key] = int(text)
        client.close()
        assert found == {f"key {value % 7}".encode(): value for value in range(number - 6, number + 1)}
        assert count < 1100


def cleaners_of(broker: BrokerProcess) -> list[psutil.Process]:
    return [each for each in psutil.Process(broker.pid).children() if "cleaner_process" in " ".join(each.cmdline())]


def test_cleaner_process_exists_only_during_compaction_and_dies_with_the_broker(tmp_path: Path) -> None:
    slowly = {**SETTINGS, "log.cleanup.policy": "compact", "log.cleaner.io.max.bytes.per.second": "1000"}
    with BrokerProcess(tmp_path, slowly) as broker:
        create_topic(broker.bootstrap_servers, "topic", 1)
        assert not cleaners_of(broker)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 1})
        for number in range(2000):
            producer.produce("topic", key="key", value=str(number))
            if number % 100 == 99:
                producer.flush()
        await_that(lambda: cleaners_of(broker) != [], "a compacting child process")
        found = cleaners_of(broker)
        broker.kill()
        psutil.wait_procs(found)
        assert not [each for each in found if each.is_running()]
        broker.start()
        assert stored_bytes(broker, StoredPartition("topic", 0)) > 4096
