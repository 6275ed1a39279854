"""A librdkafka client of the load: `produce` as `SteadyProducer.java` does, or `consume` as `LoadConsumer.java` does.

Arguments: `produce` or `consume`, bootstrap servers, topic, name, partitions, ms between rounds, debug contexts.
"""

import sys
import time

from confluent_kafka import Consumer
from support.load.steady_producers import Acknowledgements, LibrdkafkaSteadyProducer, Stream, number_of


def tell(what: str, partition: int | None, number: int) -> None:
    print(what, partition, number, int(time.time() * 1000), flush=True)


class PrintedAcknowledgements(Acknowledgements):
    """Prints each acknowledgement, and keeps none."""

    def note(self, partition: int, number: int) -> None:
        tell("acked", partition, number)


def produce(servers: str, topic: str, name: str, partitions: int, pause_s: float, debug: dict[str, str]) -> None:
    """Sends records until the end of its input, and ends when all are acknowledged."""
    acknowledged = PrintedAcknowledgements(partitions)
    stream = Stream(name, 0, pause_s)
    producer = LibrdkafkaSteadyProducer(servers, topic, partitions, stream, acknowledged, debug)
    sys.stdin.read()
    producer.stop()
    for line in acknowledged.failed:
        print(line, file=sys.stderr)


def consume(servers: str, topic: str, name: str, debug: dict[str, str]) -> None:
    settings = {"bootstrap.servers": servers, "group.id": name, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, **debug})
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            tell("read", message.partition(), number_of(message))


def main() -> None:
    what, servers, topic, name, partitions, pause_ms, *debug = sys.argv[1:]
    of_debug = {"debug": debug[0]} if debug else {}
    if what == "produce":
        produce(servers, topic, name, int(partitions), int(pause_ms) / 1000, of_debug)
    else:
        consume(servers, topic, name, of_debug)


if __name__ == "__main__":
    main()
