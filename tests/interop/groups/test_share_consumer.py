"""Kafka's console share consumer and kafka-share-groups: a share group gets each record once (KIP-932)."""

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
    "group.coordinator.rebalance.protocols": "classic,share",
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
COMMAND = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
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
    arguments = ("--topic", "t", "--group", "g", "--max-messages", str(count), "--timeout-ms", "60000")
    return printed(CONSOLE, servers, *arguments).split()


def printed(tool: str, servers: str, *arguments: str) -> str:
    command = java_command(tool, "--bootstrap-server", servers, *arguments, libs=libs_of("4.2.0"))
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


async def test_console_share_consumer_gets_what_no_member_accepted_until_offsets_are_reset(servers: str) -> None:
    producer = KafkaProducer(bootstrap_servers=servers)
    for value in (b"a", b"b"):
        producer.send("t", value, partition=0).get(timeout=60)
    await begin_at_the_start(servers, "g")
    assert consumed(servers, 2) == ["a", "b"]
    producer.send("t", b"c", partition=0).get(timeout=60)
    assert consumed(servers, 1) == ["c"]
    reset = printed(COMMAND, servers, "--reset-offsets", "--group", "g", "--all-topics", "--to-earliest", "--execute")
    assert reset.split()[-4:] == ["g", "t", "0", "0"]
    producer.close()
