"""A transactional producer that goes on whatever happens to its brokers, and knows what it committed."""

import threading
import traceback
from itertools import count
from typing import Self

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from support.patience import await_that

__all__ = ["TransactionalTraffic", "read_committed"]

RECORDS_EACH = 6
PAUSE_S = 0.01


class TransactionalTraffic:
    """Transactions of `RECORDS_EACH` records all over ``topic``, every third aborted, in a thread of its own."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self.committed: list[str] = []
        self.aborted: list[str] = []
        self._servers, self._topic, self._partitions = servers, topic, partitions
        self._failures: list[BaseException] = []
        self._told_to_stop = threading.Event()
        self._thread = threading.Thread(target=self._guarded, daemon=True)
        self._thread.start()

    def _guarded(self) -> None:
        try:
            self._work()
        except BaseException as failure:
            traceback.print_exc()
            self._failures.append(failure)

    def _work(self) -> None:
        # Kafka's longest: no transaction ends because the machine is busy.
        patient = {"transaction.timeout.ms": 900_000}
        producer = Producer({"bootstrap.servers": self._servers, "transactional.id": "shop", **patient})
        _until_done(producer.init_transactions)
        for number in count():
            if self._told_to_stop.wait(PAUSE_S):
                return
            values = [f"{number}.{index}" for index in range(RECORDS_EACH)]
            is_committed = self._transaction(producer, values, wants_commit=number % 3 != 2)
            (self.committed if is_committed else self.aborted).extend(values)

    def _transaction(self, producer: Producer, values: list[str], *, wants_commit: bool) -> bool:
        producer.begin_transaction()
        try:
            for index, value in enumerate(values):
                producer.produce(self._topic, value.encode(), partition=index % self._partitions)
            producer.flush()
            if wants_commit:
                _until_done(producer.commit_transaction)
                return True
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
        _until_done(producer.abort_transaction)
        return False

    def wait_for_more(self, transactions: int) -> None:
        committed, aborted = len(self.committed), len(self.aborted)
        amount = transactions * RECORDS_EACH
        await_that(
            lambda: (
                self._failures
                or (len(self.committed) >= committed + amount and len(self.aborted) >= aborted + amount // 2)
            ),
            f"{transactions} more transactions are committed, and half as many aborted",
        )
        assert not self._failures, self._failures

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._told_to_stop.set()
        if kind is None:
            self._thread.join()
            assert not self._failures, self._failures


def _until_done(step: object) -> None:
    """What librdkafka says may be tried again is."""
    assert callable(step)
    while True:
        try:
            step()
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return


def read_committed(servers: str, topic: str, partitions: int, amount: int) -> list[str]:
    """The values that a ``read_committed`` consumer is given, ``amount`` of them and whatever comes with these."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "committed", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    values: list[str] = []
    while True:
        messages = consumer.consume(1000, timeout=1.0)
        values += [(message.value() or b"").decode() for message in messages if message.error() is None]
        if len(values) >= amount and not messages:
            consumer.close()
            return values
