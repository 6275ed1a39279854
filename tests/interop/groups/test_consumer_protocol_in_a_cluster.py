"""A cluster serves the consumer protocol (KIP-848) from the moment when the level of its feature is raised."""

import time
from collections.abc import Callable

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pybroker import Cluster
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from support.clients.feature_levels import raise_level
from support.clients.wire_client import WireClient

SETTINGS = {"group.coordinator.rebalance.protocols": "classic,consumer"}
RECORDS = 20
_PATIENCE_S = 60.0


def poll_until(condition: Callable[[], bool], consumer: Consumer, values: set[bytes | None]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, len(values)
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            values.add(message.value())


def produce(servers: str, values: range) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce("orders", str(value).encode(), partition=value % 4)
    assert producer.flush() == 0


def test_members_read_and_commit_through_a_kill_of_a_broker() -> None:
    with Cluster(3, SETTINGS) as cluster:
        servers = cluster.bootstrap_servers.split(",")
        with WireClient(servers[0]) as client:
            refused = client.ask(ConsumerGroupHeartbeatRequest(group_id="readers"), 0)
        assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
        raise_level(cluster.bootstrap_servers, "group.version")
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("orders", 4, 3)])["orders"].result()
        produce(cluster.bootstrap_servers, range(RECORDS))
        options = {"group.id": "readers", "group.protocol": "consumer", "auto.offset.reset": "earliest"}
        consumer = Consumer({**options, "bootstrap.servers": cluster.bootstrap_servers, "enable.auto.commit": False})
        consumer.subscribe(["orders"])
        values: set[bytes | None] = set()
        poll_until(lambda: len(values) == RECORDS, consumer, values)

        cluster.kill(cluster.broker_ids[0])
        produce(cluster.bootstrap_servers, range(RECORDS, 2 * RECORDS))
        poll_until(lambda: len(values) == 2 * RECORDS, consumer, values)
        assert len(consumer.assignment()) == 4
        consumer.commit(asynchronous=False)
        committed = consumer.committed(consumer.assignment())
        assert sorted(each.offset for each in committed) == [10, 10, 10, 10]
        consumer.close()
