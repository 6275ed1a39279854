"""One librdkafka client of the load, with the arguments and the output of `LoadMember.java`."""

import sys
import threading
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer


def tell(partition: int | None, number: int) -> None:
    print(partition, number, int(time.time() * 1000), flush=True)


def produce(servers: str, topic: str, name: str, partitions: int, rate: int, debug: dict[str, Any]) -> None:
    settings = {"bootstrap.servers": servers, "enable.idempotence": True, "message.timeout.ms": 0, "linger.ms": 5}
    producer = Producer({**settings, **debug})
    is_over = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        is_over.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    started_s, sent = time.monotonic(), 0
    while not is_over.is_set():
        producer.poll(max(0.0, started_s + sent / rate - time.monotonic()))
        if time.monotonic() < started_s + sent / rate:
            continue
        partition, number = sent % partitions, sent // partitions

        def delivered(error: KafkaError | None, message: Message, number: int = number) -> None:
            if error is None:
                tell(message.partition(), number)
            else:
                print(error, file=sys.stderr)

        try:
            producer.produce(topic, str(number), name, partition, on_delivery=delivered)
            sent += 1
        except BufferError:
            producer.poll(0.1)
    producer.flush()


def consume(servers: str, topic: str, name: str, debug: dict[str, Any]) -> None:
    settings = {"bootstrap.servers": servers, "group.id": name, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, **debug})
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            value = message.value()
            assert value is not None
            tell(message.partition(), int(value))


def main() -> None:
    what, servers, topic, name, partitions, rate, *debug = sys.argv[1:]
    of_debug = {"debug": debug[0]} if debug else {}
    if what == "produce":
        produce(servers, topic, name, int(partitions), int(rate), of_debug)
    else:
        consume(servers, topic, name, of_debug)


if __name__ == "__main__":
    main()
