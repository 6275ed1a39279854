"""A row about the memory of unused partitions: `scripts/bench --only "partitions at rest"`."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.cimpl import NewTopic
from support.clients.topics import admin_client

from benchmarks.contestants import Contestant, Running, resident_mib
from benchmarks.scenarios import Scenario, allow_connections, wait_until_quiet
from benchmarks.targets import at_most

__all__ = ["MEMORY"]

_PARTITIONS = {"pybroker": 10_000, "kafka": 1_000}
"""Kafka needs a quarter of an hour to create 10,000 partitions; the memory of each is about the same with fewer."""
_TOPICS = 20
_MAKING_S = 600
_RECORDS_EACH = 3


def growth(broker: Running, partitions: int) -> dict[str, float]:
    """Returns the growth of the process by partitions with a few records each, once it is idle."""
    wait_until_quiet(broker.pid)
    before_mib = resident_mib(broker.pid)
    admin = admin_client(broker.bootstrap_servers)
    for number in range(_TOPICS):
        topic = NewTopic(f"rest-{number}", partitions // _TOPICS, 1)
        admin.create_topics([topic], request_timeout=_MAKING_S, operation_timeout=_MAKING_S)[topic.topic].result()
        fill(broker.bootstrap_servers, topic)
    wait_until_quiet(broker.pid)
    after_mib = resident_mib(broker.pid)
    return {"KiB a partition": (after_mib - before_mib) * 1024 / partitions, "MiB in all": after_mib}


def fill(servers: str, topic: NewTopic) -> None:
    """Produces records, each in its own batch, as is usual where records are few."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "batch.num.messages": 1})
    for _ in range(_RECORDS_EACH):
        for partition in range(topic.num_partitions):
            producer.produce(topic.topic, value=b"v" * 100, partition=partition)
            producer.poll(0)
    left = producer.flush(_MAKING_S)
    assert left == 0, f"{left} records of {topic.topic} were not acknowledged"


def partitions_at_rest(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    figures = {}
    for contestant in contestants:
        partitions = max(int(_PARTITIONS[contestant.name] * min(scale, 1.0)), _TOPICS)
        allow_connections(3 * partitions)
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            broker, stop = contestant.start(Path(directory))
            try:
                figures[contestant.name] = growth(broker, partitions)
            finally:
                broker.kill()  # a clean stop would sync every log, which takes longer than everything else
                stop()
    return figures


MEMORY = (
    Scenario(
        "storage: memory of 10,000 partitions at rest (Kafka: of 1,000)",
        (at_most("KiB a partition", 40),),
        partitions_at_rest,
    ),
)
