"""A row about what partitions cost that nobody uses: ``scripts/bench --only "partitions at rest"``."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.contestants import Contestant, Running, resident_mib
from benchmarks.kafka_tools import run_tool
from benchmarks.scenarios import Scenario, make_room_for, wait_until_quiet
from benchmarks.targets import at_most

__all__ = ["MEMORY"]

_PARTITIONS = 10_000
_TOPICS = 20
_MAKING_S = 600
_RECORDS_EACH = 3


def growth(broker: Running, partitions: int) -> dict[str, float]:
    """By how much the process grows by partitions that hold a few records each, once all is quiet again."""
    wait_until_quiet(broker.pid)
    before_mib = resident_mib(broker.pid)
    # A Kafka that has just started may not know its controller yet: then librdkafka waits for its next refresh.
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "topic.metadata.refresh.interval.ms": 500})
    for number in range(_TOPICS):
        topic = NewTopic(f"rest-{number}", partitions // _TOPICS, 1)
        admin.create_topics([topic], request_timeout=_MAKING_S, operation_timeout=_MAKING_S)[topic.topic].result()
        run_tool(
            "org.apache.kafka.tools.ProducerPerformance",
            *("--topic", topic.topic, "--num-records", str(partitions // _TOPICS * _RECORDS_EACH)),
            *("--record-size", "100", "--throughput", "-1"),
            *("--producer-props", f"bootstrap.servers={broker.bootstrap_servers}", "batch.size=1"),
            "partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner",
        )
    wait_until_quiet(broker.pid)
    after_mib = resident_mib(broker.pid)
    return {"KiB a partition": (after_mib - before_mib) * 1024 / partitions, "MiB in all": after_mib}


def partitions_at_rest(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    figures = {}
    partitions = int(_PARTITIONS * min(scale, 1.0))
    make_room_for(3 * partitions)
    for contestant in contestants:
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            broker, stop = contestant.start(Path(directory))
            try:
                figures[contestant.name] = growth(broker, partitions)
            finally:
                stop()
    return figures


MEMORY = (
    Scenario("storage: memory of 10,000 partitions at rest", (at_most("KiB a partition", 40),), partitions_at_rest),
)
