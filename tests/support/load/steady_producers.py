"""Idempotent producers that send numbered records to every partition, and a check of the records in the log.

Each partition gets 0, 1, 2, …: a log may have every number once, in order, and must have each acknowledged one.
"""

import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from support.clients.librdkafka_reader import messages_to_end
from support.processes.java_programs import java_program
from support.time.patience import await_that, await_thread

__all__ = [
    "JAVA_PROGRAM",
    "Acknowledgements",
    "FoundRecords",
    "JavaSteadyProducer",
    "LibrdkafkaSteadyProducer",
    "SteadyProducer",
    "Stream",
    "found_records",
    "number_of",
]

JAVA_PROGRAM = Path(__file__).resolve().parents[2] / "interop" / "clients" / "steady" / "SteadyProducer.java"


@dataclass(frozen=True)
class Stream:
    """The records of a producer: their key, the bytes behind the number, and the pause between rounds of partitions."""

    key: str = ""
    filling_bytes: int = 200
    pause_s: float = 0.01


_MANY_SMALL_RECORDS = Stream()


class Acknowledgements:
    """The acknowledgements that a producer got, by partition. Used by several threads."""

    def __init__(self, partitions: int) -> None:
        self.numbers: list[list[int]] = [[] for _ in range(partitions)]
        self.times_s: list[list[float]] = [[] for _ in range(partitions)]
        self.failed: list[str] = []

    def note(self, partition: int, number: int) -> None:
        self.numbers[partition].append(number)
        self.times_s[partition].append(time.monotonic())

    def longest_gaps_s(self) -> list[float]:
        """The longest time without an acknowledgement, by partition."""
        return [max((after - before for before, after in pairwise(t)), default=0.0) for t in self.times_s]

    def await_more(self, count: int, what: str) -> None:
        """Waits until every partition has `count` more acknowledgements."""
        before = [len(each) for each in self.numbers]
        await_that(lambda: all(len(now) >= then + count for now, then in zip(self.numbers, before, strict=True)), what)


class SteadyProducer(Protocol):
    """Sends until `stop`, which waits until every record is acknowledged or has failed."""

    acknowledged: Acknowledgements

    def stop(self) -> None: ...


class LibrdkafkaSteadyProducer:
    """librdkafka in a thread: acks=all, five requests in flight, many small batches."""

    def __init__(
        self,
        servers: str,
        topic: str,
        partitions: int,
        stream: Stream = _MANY_SMALL_RECORDS,
        acknowledged: Acknowledgements | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.acknowledged = acknowledged or Acknowledgements(partitions)
        self.fatal: list[str] = []
        self._topic = topic
        self._stream = stream
        self._ends = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "linger.ms": 2,
                "delivery.timeout.ms": 600_000,
                "error_cb": self._erred,
                **(settings or {}),
            }
        )
        self._thread = threading.Thread(target=self._run, args=(partitions,))
        self._thread.start()

    def _erred(self, error: KafkaError) -> None:
        if error.fatal():
            self.fatal.append(error.str())

    def _run(self, partitions: int) -> None:
        number = 0
        filling = "x" * self._stream.filling_bytes
        while not self._ends.is_set():
            for partition in range(partitions):
                self._produce(partition, number, f"{number} {filling}")
            number += 1
            self._pause()

    def _pause(self) -> None:
        next_round_s = time.monotonic() + self._stream.pause_s
        while (left_s := next_round_s - time.monotonic()) > 0:
            self._producer.poll(left_s)

    def _produce(self, partition: int, number: int, value: str) -> None:
        """Waits while librdkafka's queue is full, until `stop`."""
        while not self._ends.is_set():
            try:
                self._producer.produce(
                    self._topic, value, self._stream.key, partition, on_delivery=self._delivered(number)
                )
            except BufferError:
                self._producer.poll(self._stream.pause_s)
            else:
                return

    def _delivered(self, number: int) -> Callable[[KafkaError | None, Message], None]:
        def delivered(error: KafkaError | None, message: Message) -> None:
            partition = message.partition()
            assert partition is not None
            if error is None:
                self.acknowledged.note(partition, number)
            else:
                self.acknowledged.failed.append(f"{partition} {number} {error}")

        return delivered

    def stop(self) -> None:
        self._ends.set()
        await_thread(self._thread, "the producer ends")
        self._producer.flush()
        assert not self.fatal


class JavaSteadyProducer:
    """Kafka's Java client in a process; skips the test if there is no Java development kit."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self.acknowledged = Acknowledgements(partitions)
        stream = _MANY_SMALL_RECORDS
        arguments = [stream.key, str(partitions), str(stream.filling_bytes), f"{stream.pause_s * 1000:.0f}"]
        self._process = subprocess.Popen(
            [*java_program(JAVA_PROGRAM), servers, topic, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            outcome, partition, number, *rest = line.split(maxsplit=3)
            if outcome == "acked":
                self.acknowledged.note(int(partition), int(number))
            else:
                self.acknowledged.failed.append(f"{partition} {number} {rest}")

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await_thread(self._reader, "the producer ends")
        assert self._process.stdout is not None
        self._process.stdout.close()
        assert self._process.wait() == 0


def number_of(message: Message) -> int:
    """Returns the number of a steady producer's record: the first word of its value."""
    return int((message.value() or b"").split()[0])


class FoundRecords:
    """The numbers in one partition's log, compared with the acknowledged ones."""

    def __init__(self, numbers: Sequence[int], acknowledged: Sequence[int]) -> None:
        first: dict[int, None] = dict.fromkeys(numbers)
        self.lost = sorted(set(acknowledged) - set(first))
        self.doubled = len(numbers) - len(first)
        in_order = list(first)
        self.out_of_order = sum(after < before for before, after in pairwise(in_order))
        self.count = len(numbers)

    def __repr__(self) -> str:
        return f"{self.count} records, {len(self.lost)} lost, {self.doubled} doubled, {self.out_of_order} out of order"

    @property
    def is_right(self) -> bool:
        return not self.lost and not self.doubled and not self.out_of_order


def found_records(servers: str, topic: str, acknowledged: Acknowledgements) -> list[FoundRecords]:
    """Reads every partition to its end; returns the comparison with what was acknowledged, by partition."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "check", "enable.partition.eof": True})
    found = []
    for partition, numbers in enumerate(acknowledged.numbers):
        consumer.assign([TopicPartition(topic, partition, 0)])
        stored = [number_of(message) for _, message in messages_to_end(consumer)]
        found.append(FoundRecords(stored, numbers))
    consumer.close()
    return found
