"""Stock clients of a cluster whose brokers are restarted, which record all errors that they notice.

Clients have default settings except for counting: idempotent producers with acks=all, and a group with a member of each
kind. They record errors, log lines and statistics.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka import TopicPartition as Place
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer
from support.load.crash_load import CrashLoad
from support.time.patience import HANGS_AFTER_S, await_that

__all__ = [
    "LibrdkafkaMember",
    "LibrdkafkaProducing",
    "PythonMember",
    "PythonProducing",
    "kafka_python_warnings",
]

_STATISTICS_MS = 100
_PACE_S = 0.002
"""Seconds between two records: a steady but low load."""


class ClientEvents:
    """Callbacks for a client of librdkafka.

    Attributes:
        counts: number of events by kind: names of errors, and facilities of log lines.
        statistics: the latest ones.
    """

    def __init__(self, name: str) -> None:
        self.counts: Counter[str] = Counter()
        self.statistics: dict[str, Any] = {}
        self._name = name

    def settings(self) -> dict[str, object]:
        return {
            "client.id": self._name,
            "error_cb": lambda error: self.counts.update([f"error {error.name()}"]),
            "logger": self._logger(),
            "stats_cb": self._take_statistics,
            "statistics.interval.ms": _STATISTICS_MS,
        }

    def _logger(self) -> logging.Logger:
        logger = logging.Logger(self._name)
        logger.addHandler(_Counting(lambda record: self.counts.update([f"log {record.args[0]}"])))  # type: ignore[index]
        return logger

    def _take_statistics(self, text: str) -> None:
        self.statistics = json.loads(text)

    def total(self, name: str) -> int:
        """Returns the sum over all brokers."""
        return sum(broker[name] for broker in self.statistics["brokers"].values())


class _Counting(logging.Handler):
    def __init__(self, count: Callable[[logging.LogRecord], None]) -> None:
        super().__init__(logging.WARNING)
        self._count = count

    def emit(self, record: logging.LogRecord) -> None:
        self._count(record)


@contextmanager
def kafka_python_warnings() -> Iterator[Counter[str]]:
    """Records the warnings of all clients of kafka-python by kind: the message before formatting. Warnings about their
    own slow loops are not counted.
    """
    counts: Counter[str] = Counter()

    def note(record: logging.LogRecord) -> None:
        if not str(record.msg).startswith("Task "):
            counts[str(record.msg)] += 1

    handler = _Counting(note)
    logger = logging.getLogger("kafka")
    logger.addHandler(handler)
    yield counts
    logger.removeHandler(handler)


class CountingUp(CrashLoad):
    """A producer of `name:number` that counts up in each partition.

    Attributes:
        sent: number of records, by partition.
        offsets: of acknowledged records, by partition and number.
        refused: errors of the other records.
    """

    def __init__(self, name: str, topic: str, partitions: int) -> None:
        super().__init__()
        self.name = name
        self.topic = topic
        self.sent = dict.fromkeys(range(partitions), 0)
        self.offsets: dict[int, dict[int, int]] = {partition: {} for partition in range(partitions)}
        self.refused: list[str] = []
        self._next = 0

    def further(self, more: int) -> Callable[[], bool]:
        wanted = {partition: number + more for partition, number in self.sent.items()}
        return lambda: all(number in self.offsets[partition] for partition, number in wanted.items())

    def step(self) -> None:
        partition = self._next = (self._next + 1) % len(self.sent)
        number = self.sent[partition]
        self.sent[partition] = number + 1
        self.send(partition, number, f"{self.name}:{number}".encode())
        self._stopping.wait(_PACE_S)

    def send(self, partition: int, number: int, value: bytes) -> None:
        raise NotImplementedError

    def acknowledged(self, partition: int, number: int, offset: int) -> None:
        self.done(lambda: self.offsets[partition].update({number: offset}))


class LibrdkafkaProducing(CountingUp):
    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        super().__init__("librdkafka", topic, partitions)
        self.events = ClientEvents("producer")
        self._producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, **self.events.settings()})

    def send(self, partition: int, number: int, value: bytes) -> None:
        told = partial(self._told, partition, number)
        self._producer.produce(self.topic, value, partition=partition, on_delivery=told)
        self._producer.poll(0)

    def _told(self, partition: int, number: int, error: KafkaError | None, message: Message) -> None:
        offset = message.offset()
        if error is not None or offset is None:
            self.refused.append(error.name() if error is not None else "no offset")
        else:
            self.acknowledged(partition, number, offset)

    def stop(self) -> None:
        """Stops; returns when all sent records are acknowledged or refused and the statistics include them."""
        super().stop()
        assert not self._producer.flush(HANGS_AFTER_S), "not everything is settled"
        former = self.events.statistics

        def has_newer_statistics() -> bool:
            self._producer.poll(0)
            return self.events.statistics is not former

        await_that(has_newer_statistics, "the last statistics")


class PythonProducing(CountingUp):
    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        super().__init__("kafka-python", topic, partitions)
        self._producer = KafkaProducer(bootstrap_servers=servers, acks="all", enable_idempotence=True)

    def send(self, partition: int, number: int, value: bytes) -> None:
        sent = self._producer.send(self.topic, value, partition=partition)
        sent.add_callback(lambda metadata: self.acknowledged(partition, number, metadata.offset))
        sent.add_errback(lambda error: self.refused.append(type(error).__name__))

    def stop(self) -> None:
        super().stop()
        self._producer.flush()
        self._producer.close()


class Reading(CrashLoad):
    """A member of a group that reads a topic.

    Attributes:
        given: partition and offset of each record, in the order received.
        rebalances: number of assignments and revocations.
    """

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[int, int]] = []
        self.rebalances = 0
        self.assigned: set[int] = set()

    def read(self, partition: int, offset: int) -> None:
        self.done(lambda: self.given.append((partition, offset)))


class LibrdkafkaMember(Reading):
    def __init__(self, servers: str, topic: str, group: str) -> None:
        super().__init__()
        self.events = ClientEvents("member")
        settings = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
        self._consumer = Consumer({**settings, **self.events.settings()})
        self._consumer.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked)

    def step(self) -> None:
        message = self._consumer.poll(0.1)
        if message is None:
            return
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is not None:
            self.events.counts[f"error {error.name()}"] += 1
            return
        assert partition is not None
        assert offset is not None
        self.read(partition, offset)

    def _assigned(self, _consumer: Consumer, places: list[Place]) -> None:
        self.rebalances += 1
        self.assigned = {place.partition for place in places}

    def _revoked(self, _consumer: Consumer, _places: list[Place]) -> None:
        self.rebalances += 1

    def stop(self) -> None:
        super().stop()
        self._consumer.close()


class PythonMember(Reading, ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, servers: str, topic: str, group: str) -> None:
        super().__init__()
        self._consumer = KafkaConsumer(bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest")
        self._consumer.subscribe([topic], listener=self)

    def step(self) -> None:
        for place, records in self._consumer.poll(timeout_ms=100).items():
            for record in records:
                self.read(place.partition, record.offset)

    def on_partitions_assigned(self, assigned: Any) -> None:
        self.rebalances += 1
        self.assigned = {place.partition for place in assigned}

    def on_partitions_revoked(self, revoked: Any) -> None:
        self.rebalances += 1

    def stop(self) -> None:
        super().stop()
        self._consumer.close()
