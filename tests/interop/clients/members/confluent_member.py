"""A member of a consumer group by librdkafka. README.md describes its arguments and output."""

import contextlib
import json
import signal
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition


def tell(event: str, **facts: object) -> None:
    print(json.dumps({"event": event, **facts}), flush=True)


def places(partitions: list[TopicPartition]) -> list[tuple[str, int]]:
    return [(one.topic, one.partition) for one in partitions]


def note_as_read(consumer: Consumer, message: Message) -> None:
    """Have the offset committed from now on."""
    with contextlib.suppress(KafkaException):  # the partition was revoked meanwhile
        consumer.store_offsets(message=message)


def main(servers: str, group: str, subscription: str, *settings: str) -> None:
    told_to_leave = False

    def leave(*_: object) -> None:
        nonlocal told_to_leave
        told_to_leave = True

    signal.signal(signal.SIGTERM, leave)
    given = dict(setting.split("=", 1) for setting in settings)
    if given.get("group.protocol") != "consumer":  # there the broker decides
        given = {"heartbeat.interval.ms": "100", **given}
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": 100,
            "enable.auto.offset.store": False,
            **given,
        }
    )
    consumer.subscribe(
        [subscription],
        on_assign=lambda _, partitions: tell("assigned", partitions=places(partitions)),
        on_revoke=lambda _, partitions: tell("revoked", partitions=places(partitions)),
        on_lost=lambda _, partitions: tell("lost", partitions=places(partitions)),
    )
    while not told_to_leave:
        message = consumer.poll(0.1)
        if message is None:
            continue
        if error := message.error():
            if error.code() < 0 and error.code() != KafkaError._FATAL:
                continue  # events of librdkafka, such as a lost connection, after which it continues by itself
            tell("failed", error=f"{error.name()}: {error.str()}")
            break
        value = message.value()
        assert value is not None
        tell("read", topic=message.topic(), partition=message.partition(), value=value.decode())
        note_as_read(consumer, message)
    consumer.close()


main(*sys.argv[1:])
