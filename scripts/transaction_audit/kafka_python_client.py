"""A writer of kafka-python; as `librdkafka_client.py write`."""

import sys
from random import Random

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError, ProducerFencedError

from transaction_audit.journal import Journal
from transaction_audit.writing import TRANSACTION_TIMEOUT_MS, Arguments, Orders, is_aborted, records_of, rest

_QUICK = {"reconnect_backoff_ms": 50, "reconnect_backoff_max_ms": 500}


class Writer:
    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self._journal = Journal(arguments.journal)
        self._random = Random()
        self._parts = records_of(arguments, self._random)
        self._consumer = KafkaConsumer(
            bootstrap_servers=arguments.servers, isolation_level="read_committed", enable_auto_commit=False, **_QUICK
        )
        places = [TopicPartition(arguments.topic, each) for each in range(arguments.partitions)]
        self._consumer.assign(places)
        self._consumer.seek_to_end(*places)
        self._producer = KafkaProducer(
            bootstrap_servers=arguments.servers,
            transactional_id=arguments.transactional_id,
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
            **_QUICK,
        )
        self._producer.init_transactions()
        self._journal.session()

    def transact(self) -> None:
        """Raises KafkaError when the client is fenced or the transaction can't be aborted."""
        self._producer.begin_transaction()
        self._journal.begin()
        try:
            for _ in range(self._random.choice((1, 2, 3))):
                records = next(self._parts)
                self._journal.send(records)
                for topic, partition, value in records:
                    self._producer.send(topic, value.encode(), partition=partition)
                rest(self._random, self._read)
            if not is_aborted(self._random):
                self._journal.commit()
                self._producer.commit_transaction()
                self._journal.committed()
                return
        except ProducerFencedError:
            raise
        except KafkaError:
            pass
        self._producer.abort_transaction()
        self._journal.aborted()

    def _read(self, seconds: float) -> None:
        polled = self._consumer.poll(timeout_ms=int(seconds * 1000))
        found = [
            (place.topic, place.partition, each.offset, each.value.decode())
            for place, records in polled.items()
            for each in records
        ]
        if found:
            self._journal.read(found)


def main() -> None:
    orders = Orders()
    writer = Writer(Arguments.of(sys.argv[2:]))
    while not orders.is_told_to_end:
        writer.transact()


if __name__ == "__main__":
    main()
