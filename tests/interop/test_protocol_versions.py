"""``inter.broker.protocol.version``: a Kafka and a pybroker are one cluster under each that there is, one by one.

As in a rolling upgrade, both are started anew for each, by turns as controller. What they ask each other is seen on its
way, and has the versions that the protocol version stands for.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pybroker.broker.inter_broker.request_versions import RequestVersions
from pybroker.protocol.apis import ApiKey
from support.mixed_cluster import MixedCluster
from support.request_tap import RequestTap

KAFKA, OURS = 1, 2
VERSIONS = ["3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"]
SETTINGS = {"offsets.topic.replication.factor": "2", "min.insync.replicas": "2"}
RECORDS = 50


OF_THE_CONTROLLER = (ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA)
OF_OURS_ALONE = (ApiKey.ALTER_PARTITION, ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALLOCATE_PRODUCER_IDS)
"""Of the requests to the controller Kafka sends the newest version that the controller says it reads."""


@pytest.fixture
def taps() -> Iterator[dict[int, RequestTap]]:
    with ExitStack() as stack:
        taps = {broker_id: RequestTap() for broker_id in (KAFKA, OURS)}
        for tap in taps.values():
            stack.callback(tap.close)
        yield taps


@pytest.fixture
def cluster(tmp_path: Path, taps: dict[int, RequestTap]) -> Iterator[MixedCluster]:
    """In which everybody is told to reach a broker by its tap."""
    own = {broker: {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{tap.port}"} for broker, tap in taps.items()}
    cluster = MixedCluster(tmp_path, {KAFKA: "kafka", OURS: "pybroker"}, SETTINGS, own)
    for broker_id, tap in taps.items():
        tap.target_port = cluster.brokers[broker_id].port
    yield cluster
    cluster.close()


def asked_by(sender: int, tap: RequestTap) -> dict[ApiKey, set[int]]:
    """The versions of what one broker has asked of the other."""
    versions: dict[ApiKey, set[int]] = {}
    for seen in tap.take():
        if seen.client_id == str(sender) or seen.client_id.startswith(f"broker-{sender}-"):
            versions.setdefault(seen.api, set()).add(seen.version)
    return versions


def stand_for(protocol_version: str) -> dict[ApiKey, int]:
    versions = RequestVersions.of(protocol_version)
    return {
        ApiKey.LEADER_AND_ISR: versions.leader_and_isr,
        ApiKey.STOP_REPLICA: versions.stop_replica,
        ApiKey.UPDATE_METADATA: versions.update_metadata,
        ApiKey.FETCH: versions.fetch,
        ApiKey.LIST_OFFSETS: versions.list_offsets,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: versions.offset_for_leader_epoch,
        ApiKey.ALTER_PARTITION: versions.alter_partition,
        ApiKey.CONTROLLED_SHUTDOWN: versions.controlled_shutdown,
        ApiKey.ALLOCATE_PRODUCER_IDS: versions.allocate_producer_ids,
    }


def check_requests(taps: dict[int, RequestTap], controller: int, protocol_version: str) -> None:
    expected = stand_for(protocol_version)
    for sender, receiver in ((KAFKA, OURS), (OURS, KAFKA)):
        asked = asked_by(sender, taps[receiver])
        settled = OF_OURS_ALONE if sender == KAFKA else ()
        compared = {api: versions for api, versions in asked.items() if api in expected and api not in settled}
        assert compared == {api: {expected[api]} for api in compared}, f"{sender} under {protocol_version}"
        assert ApiKey.FETCH in compared
        if sender == controller:
            assert set(OF_THE_CONTROLLER) <= set(compared)


def produce(servers: str) -> None:
    """With acks=all, to both partitions."""
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce(
            "orders",
            b"%d" % number,
            partition=number % 2,
            on_delivery=lambda error, _: failed.append(error) if error is not None else None,
        )
    producer.flush()
    assert not failed


def test_they_replicate_and_lead_under_each_version(cluster: MixedCluster, taps: dict[int, RequestTap]) -> None:
    for number, version in enumerate(VERSIONS):
        cluster.set_for_all("inter.broker.protocol.version", version)
        first, second = ((KAFKA, OURS), (OURS, KAFKA))[number % 2]
        cluster.start(first, second)
        assert cluster.controller == first
        if number == 0:
            cluster.create_topic("orders", [KAFKA, OURS], [OURS, KAFKA])
        cluster.await_in_sync()
        cluster.tool("LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions")
        cluster.await_leaders("orders", {KAFKA, OURS})
        produce(cluster.servers)
        cluster.stop(first)  # hands over its partitions, and the controller's place
        cluster.stop(second)
        check_requests(taps, first, version)
        assert cluster.differing([KAFKA, OURS]) == [], f"under {version}"
    assert cluster.log_of(KAFKA, "orders-0")
    assert cluster.complaints() == []
