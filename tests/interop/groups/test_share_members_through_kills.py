"""Kafka's share consumers are killed and paused, and the broker is killed: each record is accepted once (KIP-932)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pybroker.cli.kafka_scripts.configs_command import configs_command
from pybroker.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from support.clients.share_members import ShareMembers
from support.clients.topics import create_topic
from support.clients.wire_client import WireClient
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_versions import libs_of
from support.time.patience import await_that

pytestmark = pytest.mark.long

PARTITIONS = 2
BATCH = 400
MOST_DELIVERIES = 10
SETTINGS = {
    "group.coordinator.rebalance.protocols": "classic,share",
    "group.share.min.session.timeout.ms": "6000",
    "group.share.session.timeout.ms": "6000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.record.lock.duration.ms": "10000",
    "group.share.record.lock.duration.ms": "10000",
    "group.share.delivery.count.limit": str(MOST_DELIVERIES),
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(tmp_path, SETTINGS).start()
    yield broker
    broker.stop()


def produce(servers: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for number in range(BATCH):
        producer.produce("t", str(number), partition=number % PARTITIONS)
    assert producer.flush() == 0


def lags(servers: str) -> dict[int, int]:
    """The records that are neither accepted nor rejected, by partition; empty while the coordinator is not there."""
    group = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
    with WireClient(servers) as client:
        (described,) = client.ask(DescribeShareGroupOffsetsRequest(groups=[group]), 1).groups
    return {each.partition_index: each.lag for topic in described.topics for each in topic.partitions}


@pytest.mark.parametrize("version", ["4.1.1", "4.2.0"])
def test_each_record_is_accepted_once_while_members_and_the_broker_are_killed(
    version: str, broker: BrokerProcess
) -> None:
    servers = broker.bootstrap_servers
    create_topic(servers, "t", PARTITIONS)
    entity = ["--entity-type", "groups", "--entity-name", "g"]
    changed = ["--alter", *entity, "--add-config", "share.auto.offset.reset=earliest"]
    assert configs_command(["--bootstrap-server", servers, *changed]) == 0
    produce(servers)
    with ShareMembers(servers, "g", "t", libs_of(version)) as members:
        implicit, explicit, killed = (members.start(mode) for mode in ("implicit", "explicit", "explicit"))
        members.wait_until(lambda: all(each.reads for each in members.all) or len(members.done()) == BATCH)
        implicit.pause()
        produce(servers)
        members.wait_until(lambda: len(explicit.attempted) > BATCH // 4)
        killed.kill()
        members.start("explicit")
        broker.kill()
        broker.start()
        produce(servers)
        members.wait_until(lambda: len(members.done()) > 2 * BATCH)
        implicit.resume()
        broker.kill()
        broker.start()
        produce(servers)
        end = 4 * BATCH // PARTITIONS
        await_that(lambda: lags(servers) == {0: 0, 1: 0}, "the end of the partitions")
        for member in members.all:
            if member is not killed:
                member.leave()
        confirmed, done = members.confirmations(), members.done()
        sent = {(partition, offset) for partition in range(PARTITIONS) for offset in range(end)}
        assert {place: count for place, count in confirmed.items() if count > 1} == {}
        assert sent == done
        assert len(confirmed) > len(sent) * 0.8
        counts = {count for member in members.all for _, count in member.reads}
        assert min(counts) == 1
        assert max(counts) <= MOST_DELIVERIES
