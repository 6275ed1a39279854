"""Reads an assigned partition by a consumer of librdkafka."""

from collections.abc import Iterator

from confluent_kafka import Consumer, Message

__all__ = ["messages_to_end"]


def messages_to_end(consumer: Consumer) -> Iterator[tuple[int, Message]]:
    """Yields each message with its offset, up to the end, which the consumer reports by `enable.partition.eof`."""
    while True:
        message = consumer.poll()
        if message is None:
            continue
        if message.error():  # the end
            return
        offset = message.offset()
        assert offset is not None
        yield offset, message
