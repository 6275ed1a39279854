"""The command `logins` of ../README.md, by confluent-kafka, the client on librdkafka."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from support.security.login_rows import PARTITIONS, RECORDS, Row, use_each

WAIT_S = 60
FOR_EVER_S = 2**31


def settings(row: Row, report: Callable[[KafkaError], None]) -> dict[str, Any]:
    common: dict[str, Any] = {
        "bootstrap.servers": row.servers,
        "security.protocol": row.protocol,
        "error_cb": report,
        "log_level": 0,
    }
    if row.uses_tls:
        common |= {"ssl.ca.location": row.authority}
    if row.certificate:
        common |= {"ssl.certificate.location": row.certificate, "ssl.key.location": row.certificate}
    if row.mechanism == "OAUTHBEARER":
        return common | {"sasl.mechanism": row.mechanism, "oauth_cb": lambda _: (row.secret, FOR_EVER_S)}
    if row.mechanism:
        common |= {"sasl.mechanism": row.mechanism, "sasl.username": row.user, "sasl.password": row.secret}
    return common


def administer(row: Row) -> int:
    """Creates the topic; returns the number of its partitions. Raises the first error that librdkafka reports, because
    it would try to log in again for ever.
    """
    errors: list[KafkaError] = []
    admin = AdminClient(settings(row, errors.append))
    created = admin.create_topics([NewTopic(row.topic, PARTITIONS, 1)])[row.topic]
    while not created.done():
        admin.poll(0.1)
        for error in errors:
            if error.code() != KafkaError._ALL_BROKERS_DOWN:
                raise KafkaException(error)
    created.result()
    return len(admin.describe_topics(TopicCollection([row.topic]))[row.topic].result().partitions)


def produce(row: Row, report: Callable[[KafkaError], None]) -> None:
    producer = Producer({**settings(row, report), "transactional.id": row.topic})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    for value in RECORDS:
        producer.produce(row.topic, value)
    producer.commit_transaction(WAIT_S)


def consume(row: Row, report: Callable[[KafkaError], None]) -> list[str]:
    group = {"group.id": row.topic, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    consumer = Consumer({**settings(row, report), **group})
    consumer.subscribe([row.topic])
    values: list[str] = []
    while len(values) < len(RECORDS):
        message = consumer.poll(1)
        if message is None:
            continue
        if error := message.error():
            raise KafkaException(error)
        value = message.value()
        assert value is not None
        values.append(value.decode())
    consumer.close()
    return sorted(values)


def use(row: Row) -> dict[str, object]:
    errors: list[KafkaError] = []
    partitions = administer(row)
    produce(row, errors.append)
    values = consume(row, errors.append)
    if errors:
        raise KafkaException(errors[0])
    return {"partitions": partitions, "values": values}


use_each(use)
