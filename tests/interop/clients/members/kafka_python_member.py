"""A member of a consumer group by kafka-python. README.md describes its arguments and output."""

import json
import signal
import sys
from collections.abc import Iterable
from typing import NoReturn

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaConnectionError, KafkaError

ASSIGNORS = {"range": RangePartitionAssignor, "cooperative-sticky": CooperativeStickyAssignor}
DEFAULTS = ("auto.offset.reset=earliest", "metadata.max.age.ms=100", "heartbeat.interval.ms=100")
POLL_MS = 30_000
"""Longer than any rebalance: kafka-python 3.0 discards a JoinGroup response that arrives after a poll ends."""


def tell(event: str, **facts: object) -> None:
    print(json.dumps({"event": event, **facts}), flush=True)


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        tell("assigned", partitions=list(assigned))

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        tell("revoked", partitions=list(revoked))

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        tell("lost", partitions=list(lost))


def configuration(settings: Iterable[str]) -> dict[str, object]:
    """Returns the settings by kafka-python's names and types."""
    pairs = dict(setting.split("=", 1) for setting in settings)
    values: dict[str, object] = {
        name.replace(".", "_"): int(value) if name.endswith(".ms") else value for name, value in pairs.items()
    }
    if "partition_assignment_strategy" in values:
        values["partition_assignment_strategy"] = [ASSIGNORS[pairs["partition.assignment.strategy"]]]
    return values


def leave(*_: object) -> NoReturn:
    raise SystemExit


def main(servers: str, group: str, subscription: str, *settings: str) -> None:
    signal.signal(signal.SIGTERM, leave)
    consumer = KafkaConsumer(
        **configuration([*DEFAULTS, f"bootstrap.servers={servers}", f"group.id={group}", *settings])
    )
    named = {"pattern": subscription} if subscription.startswith("^") else {"topics": [subscription]}
    consumer.subscribe(**named, listener=Listener())
    try:
        while True:
            read(consumer)
    except KafkaError as error:
        tell("failed", error=f"{type(error).__name__}: {error}")
    finally:
        consumer.close()


def read(consumer: KafkaConsumer) -> None:
    """Polls once; a lost connection is ignored, because the next poll opens another."""
    try:
        batches = consumer.poll(timeout_ms=POLL_MS)
    except KafkaConnectionError:
        return
    for batch in batches.values():
        for record in batch:
            tell("read", topic=record.topic, partition=record.partition, value=record.value.decode())


main(*sys.argv[1:])
