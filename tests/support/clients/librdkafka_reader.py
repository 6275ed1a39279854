"""What a consumer of librdkafka finds in the partition that is assigned to it."""

from collections.abc import Iterator

from confluent_kafka import Consumer, Message

__all__ = ["messages_to_end"]


def messages_to_end(consumer: Consumer) -> Iterator[tuple[int, Message]]:
    """Each message with its offset. The consumer has ``enable.partition.eof``, by which it hears of the end."""
    while True:
        message = consumer.poll()
        if message is None:
            continue
        if message.error():  # the end
            return
        offset = message.offset()
        assert offset is not None
        yield offset, message
