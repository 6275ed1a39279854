"""Tests of OffsetCommit version 0, which stores offsets of old consumers in the metadata tree under /consumers."""

import pytest
from interop.side_by_side.requests import commit, metadata, offsets
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.clients.topics import create_topic
from support.clients.wire_client import WireClient
from support.processes.broker_process import BrokerProcess
from support.processes.started_broker import Broker, StartBroker

NOTHING = (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def keep(broker: Broker, group: str, topic: str, offset: int, version: int) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        while code := client.ask(commit(group, topic, offset), version).topics[0].partitions[0].error_code:
            assert code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            client.ask(FindCoordinatorRequest(key=group), 0)


def kept(broker: Broker, group: str, topic: str, version: int) -> tuple[int, ErrorCode]:
    with WireClient(broker.bootstrap_servers) as client:
        (partition,) = client.ask(offsets(group, {topic: [0]}), version).topics[0].partitions
    return partition.committed_offset, ErrorCode(partition.error_code)


def await_topic(broker: Broker, topic: str) -> None:
    """Waits for the topic: Kafka reports its start before it knows its topics."""
    with WireClient(broker.bootstrap_servers) as client:
        while client.ask(metadata(topic), 4).topics[0].error_code:
            pass


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_offset_committed_by_version_0_survives_a_restart(
    end: str, start_broker: StartBroker, topic: str, group: str
) -> None:
    broker = start_broker({"offsets.topic.num.partitions": "1"})
    if end == "kill" and not isinstance(broker, BrokerProcess):
        pytest.skip("a killed Kafka can't start before ZooKeeper has missed it")
    create_topic(broker.bootstrap_servers, topic, 1)
    keep(broker, group, topic, 5, version=0)
    keep(broker, group, topic, 6, version=0)
    keep(broker, group, topic, 9, version=1)
    getattr(broker, end)()
    broker.start()
    await_topic(broker, topic)
    assert kept(broker, group, topic, version=0) == (6, ErrorCode.NONE)
    assert kept(broker, "another", topic, version=0) == NOTHING
    keep(broker, group, topic, 7, version=0)
    assert kept(broker, group, topic, version=0) == (7, ErrorCode.NONE)
