"""Kafka's console share consumer: a share group gets each record once, from pybroker alone (KIP-932)."""

import subprocess
from collections.abc import Iterator

import pytest
from kafka import KafkaProducer
from pybroker import Broker
from pybroker.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from support.clients.async_wire_client import AsyncWireClient
from support.processes.java import java_command
from support.processes.kafka_versions import libs_of

CONSOLE = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
SETTINGS = {
    "group.coordinator.rebalance.protocols": "classic,consumer,share",
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
GROUP_RESOURCE = 32


@pytest.fixture
def servers() -> Iterator[str]:
    """The address of a broker that serves share groups."""
    with Broker(SETTINGS) as started:
        yield started.bootstrap_servers


async def begin_at_the_start(servers: str, group: str) -> None:
    setting = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group, configs=[setting])
    client = await AsyncWireClient.connect(servers)
    response = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    client.close()
    assert response.responses[0].error_code == 0


def consumed(servers: str, count: int) -> list[str]:
    """The values of ``count`` records that a new member gets."""
    libs = libs_of("4.2.0")
    arguments = ("--bootstrap-server", servers, "--topic", "t", "--group", "g", "--max-messages", str(count))
    command = java_command(CONSOLE, *arguments, "--timeout-ms", "60000", libs=libs)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


async def test_console_share_consumer_gets_what_no_member_accepted_before(servers: str) -> None:
    producer = KafkaProducer(bootstrap_servers=servers)
    for value in (b"a", b"b"):
        producer.send("t", value, partition=0).get(timeout=60)
    await begin_at_the_start(servers, "g")
    assert consumed(servers, 2) == ["a", "b"]
    producer.send("t", b"c", partition=0).get(timeout=60)
    assert consumed(servers, 1) == ["c"]
    producer.close()
