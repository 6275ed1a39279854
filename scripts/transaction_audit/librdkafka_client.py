"""A client of librdkafka: `write` or `copy`, then the arguments of `Arguments`. It works until it is killed, or told to
end by the end of its input; it exits when a later client has fenced it.
"""

import sys
from collections.abc import Callable, Iterator
from random import Random

from confluent_kafka import OFFSET_END, Consumer, KafkaException, Message, Producer, TopicPartition

from transaction_audit.journal import Journal
from transaction_audit.writing import TRANSACTION_TIMEOUT_MS, Arguments, Orders, Record, is_aborted, records_of, rest

_QUICK = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500}
_CALL_S = 20
_MOST_COPIED = 40


class AbortableError(Exception):
    """The transaction must be aborted."""


def until_done(call: Callable[[], object]) -> None:
    """Repeats a call of the transactional producer as librdkafka demands. Raises AbortableError, KafkaException."""
    while True:
        try:
            call()
            return
        except KafkaException as error:
            (why,) = error.args
            if why.txn_requires_abort():
                raise AbortableError from error
            if not why.retriable():
                raise


def places(messages: list[Message]) -> list[tuple[str, int, int, str]]:
    return [
        (each.topic() or "", each.partition() or 0, each.offset() or 0, (each.value() or b"").decode())
        for each in messages
    ]


class Client:
    def __init__(self, arguments: Arguments, group: dict[str, str]) -> None:
        self.arguments = arguments
        self.journal = Journal(arguments.journal)
        self.orders = Orders()
        self.random = Random()
        self.consumer = Consumer(
            {
                "bootstrap.servers": arguments.servers,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                **group,
                **_QUICK,
            }
        )
        self.producer: Producer

    def start(self) -> None:
        """InitProducerId. Raises KafkaException."""
        settings = {
            "bootstrap.servers": self.arguments.servers,
            "transactional.id": self.arguments.transactional_id,
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            "linger.ms": 2,
        }
        self.producer = Producer({**settings, **_QUICK})
        until_done(lambda: self.producer.init_transactions(_CALL_S))
        self.journal.session()

    def run(self, transact: Callable[[], None]) -> None:
        """Runs transactions until the client is told to end. Raises KafkaException when it is fenced."""
        while not self.orders.is_told_to_end:
            try:
                transact()
            except AbortableError:
                self.abort()

    def send(self, records: list[Record]) -> None:
        self.journal.send(records)
        for topic, partition, value in records:
            try:
                self.producer.produce(topic, value, partition=partition)
            except KafkaException as error:  # the transaction has failed meanwhile
                raise AbortableError from error
        self.producer.poll(0)

    def commit(self) -> None:
        self.journal.commit()
        until_done(lambda: self.producer.commit_transaction(_CALL_S))
        self.journal.committed()

    def abort(self) -> None:
        until_done(lambda: self.producer.abort_transaction(_CALL_S))
        self.journal.aborted()

    def read(self, seconds: float, most: int = 500) -> list[tuple[str, int, int, str]]:
        messages = [each for each in self.consumer.consume(most, timeout=seconds) if each.error() is None]
        found = places(messages)
        if found:
            self.journal.read(found)
        return found


class Writer(Client):
    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments, {"group.id": "none"})
        partitions = range(arguments.partitions)
        self.consumer.assign([TopicPartition(arguments.topic, each, OFFSET_END) for each in partitions])
        self._parts: Iterator[list[Record]] = records_of(arguments, self.random)

    def transact(self) -> None:
        self.producer.begin_transaction()
        self.journal.begin()
        for _ in range(self.random.choice((1, 2, 3))):
            self.send(next(self._parts))
            rest(self.random, self.read)  # type: ignore[arg-type]
        if is_aborted(self.random):
            raise AbortableError
        self.commit()


class Copier(Client):
    """Copies records to the partition of the same number, as a member of a group (KIP-447)."""

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments, {"group.id": "copies", "session.timeout.ms": "6000"})
        self.consumer.subscribe([arguments.topic], on_assign=self._assigned)
        self._metadata: object = None
        """The group metadata of the assignment: in a later generation the partitions may belong to another member."""
        self._count = 0

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._metadata = consumer.consumer_group_metadata()
        self.journal.moved()

    def transact(self) -> None:
        messages = self.consumer.consume(_MOST_COPIED, timeout=0.5)
        found = places([each for each in messages if each.error() is None])
        if not found:
            return
        firsts, nexts = _edges(found)
        self.producer.begin_transaction()
        self.journal.begin()
        self.journal.read(found)
        try:
            self._count += 1
            by = f" copied by {self.arguments.name}/{self._count}"
            self.send([(self.arguments.output, partition, value + by) for _, partition, _, value in found])
            until_done(lambda: self.producer.send_offsets_to_transaction(nexts, self._metadata, _CALL_S))
            if is_aborted(self.random):
                raise AbortableError
            self.commit()
        except AbortableError:
            self.abort()
            self._go_back(firsts)

    def _go_back(self, firsts: list[TopicPartition]) -> None:
        """Reads the records of an aborted transaction again, unless another member reads them now."""
        self.journal.moved()
        for place in firsts:
            try:
                self.consumer.seek(place)
            except KafkaException:
                continue


def _edges(found: list[tuple[str, int, int, str]]) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """The first offset of each partition, and the offset behind the last."""
    firsts: dict[tuple[str, int], int] = {}
    nexts: dict[tuple[str, int], int] = {}
    for topic, partition, offset, _ in found:
        firsts.setdefault((topic, partition), offset)
        nexts[topic, partition] = offset + 1
    return [TopicPartition(*place, offset) for place, offset in firsts.items()], [
        TopicPartition(*place, offset) for place, offset in nexts.items()
    ]


def main() -> None:
    what, *rest_of_them = sys.argv[1:]
    arguments = Arguments.of(rest_of_them)
    client: Writer | Copier = Writer(arguments) if what == "write" else Copier(arguments)
    client.start()
    client.run(client.transact)


if __name__ == "__main__":
    main()
