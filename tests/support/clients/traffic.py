"""Clients that produce to and consume from one topic until stopped, whatever happens to the topic."""

import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import count
from typing import NamedTuple, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaConnectionError
from kafka.errors import KafkaError as KafkaPythonError
from support.time.patience import BETWEEN_LOOKS_S, LOOKS

__all__ = ["ConfluentTraffic", "KafkaPythonTraffic", "Place", "Traffic"]

PAUSE_S = 0.02
"""Seconds between two records: a steady but low load."""
LONGEST_REBALANCE_MS = 20_000
"""The `poll` of kafka-python 3.0 must not end during a rebalance. If the rebalance then ends before the next `poll`,
the consumer never learns its partitions.
"""


class Place(NamedTuple):
    """The position of a record."""

    partition: int
    offset: int


class Traffic(ABC):
    """A producer and a consumer, each in its own thread.

    `acknowledged` has the values in the order sent, `refused` the results of the others; `read` is in the order of
    reading. A failed thread fails the test in `wait_until`. The producer is idempotent and retries for long; with
    `gives_up` it drops a record soon if its topic is missing.
    """

    def __init__(self, servers: str, topic: str, group: str, *, gives_up: bool = False) -> None:
        self.servers, self.topic, self.group, self.gives_up = servers, topic, group, gives_up
        self.acknowledged: list[tuple[str, Place]] = []
        self.refused: list[str] = []
        self.read: list[tuple[str, Place]] = []
        self._failures: list[BaseException] = []
        self._told_to_stop = threading.Event()
        self._told_consumer_to_stop = threading.Event()
        self._producer, self._consumer = (
            threading.Thread(target=self._guarded, args=[work], daemon=True) for work in (self.produce, self.consume)
        )
        self._producer.start()
        self._consumer.start()

    @abstractmethod
    def produce(self) -> None:
        """Produces values "0", "1", … until told to stop."""

    @abstractmethod
    def consume(self) -> None:
        """Consumes as the group's only member until told to stop."""

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:
            traceback.print_exc()
            self._failures.append(failure)

    def must_produce(self) -> bool:
        """Waits for the pause between two records."""
        return not self._told_to_stop.wait(PAUSE_S)

    def must_consume(self) -> bool:
        return not (self._told_consumer_to_stop.is_set() or self._told_to_stop.is_set())

    def wait_until(self, condition: Callable[[], bool]) -> None:
        for _ in range(LOOKS):
            if condition():
                return
            assert not self._failures, self._failures
            self._told_to_stop.wait(BETWEEN_LOOKS_S)
        told = f"{len(self.acknowledged)} acknowledged, {len(self.read)} read, {len(self.refused)} refused"
        raise AssertionError(f"clients of {self.topic}: not so far after {LOOKS} looks: {told}")

    def wait_for_more(self, amount: int) -> None:
        """Waits until this many more records are acknowledged, and as many of these are read. Not all are read: a
        consumer that does not notice the deletion of its topic continues at its old offset.
        """
        acknowledged, read = len(self.acknowledged), len(self.read)
        self.wait_until(lambda: len(self.acknowledged) >= acknowledged + amount)
        self.wait_until(lambda: len(set(self.acknowledged[acknowledged:]) & set(self.read[read:])) >= amount)

    def wait_for_each(self, partitions: int) -> None:
        """Waits until one more record in each partition is acknowledged and read."""
        acknowledged, read = len(self.acknowledged), len(self.read)

        def gone_through() -> set[int]:
            return {place.partition for _, place in set(self.acknowledged[acknowledged:]) & set(self.read[read:])}

        self.wait_until(lambda: len(gone_through()) == partitions)

    def passed_over(self) -> list[Place]:
        """Returns positions of acknowledged records that were skipped: not read, although a later one was."""
        read = {place for _, place in self.read}
        last = {partition: max(each.offset for each in read if each.partition == partition) for partition, _ in read}
        return [
            place for _, place in self.acknowledged if place not in read and place.offset < last.get(place.partition, 0)
        ]

    def stop(self) -> None:
        """The consumer stops first, so that records arrive and its last `poll` ends."""
        self._told_consumer_to_stop.set()
        self._consumer.join()
        self._told_to_stop.set()
        self._producer.join()
        assert not self._failures, self._failures

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stops the clients; after a failed test it does not wait for them, because the broker may be gone."""
        if kind is None:
            self.stop()
        else:
            self._told_to_stop.set()


class KafkaPythonTraffic(Traffic):
    def produce(self) -> None:
        # An idempotent producer of kafka-python 3.0 hangs after it dropped a record, also with Apache Kafka.
        impatient = {"max_block_ms": 1000, "delivery_timeout_ms": 2000, "request_timeout_ms": 1000}
        patience = {**impatient, "enable_idempotence": False} if self.gives_up else {}
        producer = KafkaProducer(bootstrap_servers=self.servers, **patience)
        numbers = count()
        while self.must_produce():
            value = str(next(numbers))
            try:
                stored = producer.send(self.topic, value.encode()).get()
            except KafkaPythonError as error:
                self.refused.append(type(error).__name__)
            else:
                self.acknowledged.append((value, Place(stored.partition, stored.offset)))
        producer.close()

    def consume(self) -> None:
        consumer = KafkaConsumer(
            self.topic,
            bootstrap_servers=self.servers,
            group_id=self.group,
            auto_offset_reset="earliest",
            metadata_max_age_ms=200,
            heartbeat_interval_ms=200,
            auto_commit_interval_ms=200,
        )
        while self.must_consume():
            try:
                batches = consumer.poll(timeout_ms=LONGEST_REBALANCE_MS)
            except (
                KafkaConnectionError
            ):  # by kafka-python 3.0, when its coordinator and the next broker that it asks are down
                continue
            for batch in batches.values():
                self.read += [(record.value.decode(), Place(record.partition, record.offset)) for record in batch]
        consumer.close()


class ConfluentTraffic(Traffic):
    """Traffic by confluent-kafka. `of_producer`, `of_consumer`: additional settings."""

    of_producer: Mapping[str, str | int] = {}
    of_consumer: Mapping[str, str | int] = {}

    def produce(self) -> None:
        producer = Producer(
            {
                **self.of_producer,
                "bootstrap.servers": self.servers,
                "topic.metadata.refresh.interval.ms": 200,
                "enable.idempotence": not self.gives_up,
                **({"topic.metadata.propagation.max.ms": 0} if self.gives_up else {}),
            }
        )

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.refused.append(error.name())
                return
            value, partition, offset = message.value(), message.partition(), message.offset()
            assert value is not None
            assert partition is not None
            assert offset is not None
            self.acknowledged.append((value.decode(), Place(partition, offset)))

        numbers = count()
        while self.must_produce():
            try:
                producer.produce(self.topic, str(next(numbers)), on_delivery=delivered)
            except KafkaException as error:
                self.refused.append(error.args[0].name())
            producer.flush()

    def consume(self) -> None:
        consumer = Consumer(
            {
                **self.of_consumer,
                "bootstrap.servers": self.servers,
                "group.id": self.group,
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 200,
                "auto.commit.interval.ms": 200,
                "topic.metadata.refresh.interval.ms": 200,
                "topic.metadata.propagation.max.ms": 0,
                "allow.auto.create.topics": True,
            }
        )
        consumer.subscribe([self.topic])
        while self.must_consume():
            message = consumer.poll(0.5)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART, error
                continue
            value, partition, offset = message.value(), message.partition(), message.offset()
            assert value is not None
            assert partition is not None
            assert offset is not None
            self.read.append((value.decode(), Place(partition, offset)))
        consumer.close()
