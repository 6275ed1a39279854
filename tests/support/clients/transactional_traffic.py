"""A transactional producer that continues through failures of brokers and records what it committed."""

import subprocess
import threading
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from support.clients.foreign_clients import PROGRAMS
from support.processes.java_programs import java_program
from support.time.patience import READS, await_answer, await_that, await_thread

__all__ = ["GROUP", "RECORDS_EACH", "TransactionalTraffic", "await_offset", "read_committed"]

GROUP = "totals"
RECORDS_EACH = 6
"""Records of a transaction; fixed in the Java program, like their names."""
_ANSWER_S = 10
"""Seconds to wait for a response before the request is repeated."""


class TransactionalTraffic:
    """Runs transactions of `RECORDS_EACH` records over all partitions of `topic` and one offset of `GROUP` for
    partition 0. Every third one and the last one are aborted.

    Runs in its own process, by Kafka's own client. If the group's coordinator leaves the cluster, librdkafka 2.16 may
    not send the offsets until it opens a new connection (confluentinc/librdkafka#5511), and kafka-python 3.0 may hang
    after finding the new coordinator.
    """

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self.committed: list[str] = []
        self.aborted: list[str] = []
        self.offset = 0
        """Offset committed by the group with the last transaction."""
        self._other_lines: list[str] = []
        self._is_told_to_stop = False
        command = java_program(PROGRAMS / "transactions" / "TransactionTraffic.java")
        self._process = subprocess.Popen(
            [*command, servers, topic, str(partitions), GROUP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                match line.split():
                    case ["committed", number]:
                        self.offset = int(number) + 1
                        self.committed += _values(int(number))
                    case ["aborted", number]:
                        self.aborted += _values(int(number))
                    case _:
                        self._other_lines.append(line)
        self._process.wait()

    def wait_for_more(self, transactions: int) -> None:
        """Waits until this many more are committed, and half as many aborted."""
        committed, aborted = len(self.committed), len(self.aborted)
        amount = transactions * RECORDS_EACH

        def came() -> bool:
            self._require_that_it_runs()
            return len(self.committed) >= committed + amount and len(self.aborted) >= aborted + amount // 2

        await_that(came, f"{transactions} more transactions are committed, and half as many aborted")

    def _require_that_it_runs(self) -> None:
        assert self._reader.is_alive(), f"the transactions ended: {''.join(self._other_lines[-40:])}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self._process.stdin is not None
        if kind is None:
            self._require_that_it_runs()
            with self._process.stdin as told:
                told.write("that is enough\n")
        else:
            self._process.kill()
            self._process.stdin.close()
        await_thread(self._reader, "the end of the transactions")
        assert kind is not None or self._process.returncode == 0, "".join(self._other_lines[-40:])


def _values(number: int) -> list[str]:
    return [f"{number}.{index}" for index in range(RECORDS_EACH)]


def _ends(consumer: Consumer, places: list[TopicPartition]) -> list[int]:
    """The high watermarks; none while a leader is not known, or does not know its own yet (KIP-207)."""
    try:
        return [consumer.get_watermark_offsets(place, timeout=_ANSWER_S)[1] for place in places]
    except KafkaException as error:
        if error.args[0].code() not in (KafkaError.OFFSET_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION):
            raise
        return []


def read_committed(servers: str, topic: str, partitions: int, amount: int) -> list[str]:
    """Returns the values that a `read_committed` consumer gets: `amount`, and those up to the ends found then."""
    settings: dict[str, str | bool | int] = {"isolation.level": "read_committed", "enable.partition.eof": True}
    settings["fetch.wait.max.ms"] = 10  # the end is told by a fetch without records
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "committed", **settings})
    places = [TopicPartition(topic, number, 0) for number in range(partitions)]
    consumer.assign(places)
    values: list[str] = []
    read_to = [0] * partitions
    ends: list[int] = []

    def has_all() -> bool:
        if len(values) >= amount and not ends:
            ends.extend(await_answer(lambda: _ends(consumer, places), bool, f"the ends of {topic}", READS))
        return bool(ends) and all(read >= end for read, end in zip(read_to, ends, strict=True))

    while not has_all():
        what = f"more committed records of {topic} than {len(values)}, {amount} in all"
        message = await_answer(lambda: consumer.poll(1.0), lambda message: message is not None, what, READS)
        assert message is not None
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is None:
            values.append((message.value() or b"").decode())
        elif error.code() == KafkaError._PARTITION_EOF and partition is not None and offset is not None:
            read_to[partition] = offset
    consumer.close()
    return values


def await_offset(servers: str, topic: str, offset: int) -> None:
    """Waits until the group of the transactions has committed this offset."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": GROUP})

    def committed() -> int | None:
        try:
            (found,) = consumer.committed([TopicPartition(topic, 0)], timeout=_ANSWER_S)
        except KafkaException:  # no coordinator yet, or a slow one
            return None
        return int(found.offset)

    await_answer(committed, lambda found: found == offset, f"{offset} is committed", READS)
    consumer.close()
