"""Tests of a cluster of a Kafka and a pybroker under each `inter.broker.protocol.version`.

As in a rolling upgrade, both restart for each version and are controller in turn. A proxy records their requests: every
request between brokers must be sent in the right version.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pybroker.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.clients.request_tap import RequestTap
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of
from support.processes.mixed_cluster import MixedCluster
from support.time.patience import HANGS_AFTER_S, await_answer, await_that

KAFKA, OURS = BROKERS = (1, 2)
ORDERS, CLEARED, PASSING, TRANSACTIONS = "orders", "cleared", "passing", "__transaction_state"
TRANSACTIONAL_IDS = {KAFKA: "b", OURS: "a"}
"""An id that each broker coordinates, by the parity of its hash."""
SETTINGS = {
    "default.replication.factor": "2",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
}
RECORDS = 50

ROUNDS = ["3.0", "3.0", "3.1", "3.2", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "3.9"]
"""Both kinds are controller in turn. AlterPartition v1 (only in 3.2, sent by the other broker) and ListOffsets v9 (only
in 3.9, sent by the controller) need both kinds as controller.
"""
FEW_ROUNDS = ["3.0", "3.0", "3.9"]
VERSIONS = ["3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"]
REQUESTS: Mapping[ApiKey, list[int]] = {
    ApiKey.LEADER_AND_ISR: [5, 5, 6, 6, 7, 7, 7, 7, 7, 7],
    ApiKey.UPDATE_METADATA: [7, 7, 7, 7, 8, 8, 8, 8, 8, 8],
    ApiKey.STOP_REPLICA: [3, 3, 3, 3, 4, 4, 4, 4, 4, 4],
    ApiKey.FETCH: [12, 13, 13, 13, 13, 15, 15, 16, 16, 17],
    ApiKey.LIST_OFFSETS: [7, 7, 7, 7, 7, 8, 8, 8, 8, 9],
    ApiKey.ALTER_PARTITION: [0, 0, 1, 2, 2, 3, 3, 3, 3, 3],
    ApiKey.CONTROLLED_SHUTDOWN: [3] * 10,
    ApiKey.ALLOCATE_PRODUCER_IDS: [0] * 10,
    ApiKey.CREATE_TOPICS: [7] * 10,
    ApiKey.WRITE_TXN_MARKERS: [1] * 10,
    ApiKey.ADD_PARTITIONS_TO_TXN: [5] * 10,
}
"""Versions under each of `VERSIONS`. OffsetForLeaderEpoch is missing, because followers learn of diverged logs from
Fetch responses.
"""
NEWEST_OF_KAFKA = {ApiKey.ALTER_PARTITION: 3}
"""Requests to the controller that Kafka sends in the newest version the controller supports."""


@pytest.fixture
def taps() -> Iterator[dict[int, RequestTap]]:
    with ExitStack() as stack:
        taps = {broker_id: RequestTap() for broker_id in BROKERS}
        for tap in taps.values():
            stack.callback(tap.close)
        yield taps


@pytest.fixture
def cluster(tmp_path: Path, taps: dict[int, RequestTap]) -> Iterator[MixedCluster]:
    """Starts a cluster in which each broker is advertised by its tap, which records requests."""
    own = {broker: {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{tap.port}"} for broker, tap in taps.items()}
    cluster = MixedCluster(tmp_path, {KAFKA: "kafka", OURS: "pybroker"}, SETTINGS, own)
    for broker_id, tap in taps.items():
        tap.target_port = cluster.brokers[broker_id].port
    yield cluster
    cluster.close()


# -- recorded and expected requests


def asked_by(sender: int, tap: RequestTap) -> dict[ApiKey, set[int]]:
    """Returns the versions of the requests from one broker to the other."""
    versions: dict[ApiKey, set[int]] = {}
    names = re.compile(rf"{sender}|broker-{sender}-.*|.*-client-{sender}")
    for seen in tap.take():
        if names.fullmatch(seen.client_id):
            versions.setdefault(seen.api, set()).add(seen.version)
    return versions


def due_from(sender: int, controller: int) -> set[ApiKey]:
    """Returns the requests that one broker must send to the other each time."""
    due = {ApiKey.FETCH, ApiKey.WRITE_TXN_MARKERS, ApiKey.ADD_PARTITIONS_TO_TXN}
    if sender == controller:  # it was also down when records were deleted
        due |= {ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA, ApiKey.STOP_REPLICA, ApiKey.LIST_OFFSETS}
    else:
        due |= {ApiKey.ALTER_PARTITION, ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALLOCATE_PRODUCER_IDS}
        if sender == OURS:  # Kafka brokers write automatically created topics into the tree themselves
            due.add(ApiKey.CREATE_TOPICS)
    return due


def check_requests(taps: dict[int, RequestTap], controller: int, protocol_version: str) -> None:
    stand_for = {api: versions[VERSIONS.index(protocol_version)] for api, versions in REQUESTS.items()}
    for sender, receiver in ((KAFKA, OURS), (OURS, KAFKA)):
        expected = {**stand_for, **(NEWEST_OF_KAFKA if sender == KAFKA else {})}
        asked = {api: versions for api, versions in asked_by(sender, taps[receiver]).items() if api in expected}
        assert asked == {api: {expected[api]} for api in asked}, f"{sender} under {protocol_version}"
        assert due_from(sender, controller) - set(asked) == set(), f"{sender} under {protocol_version} never asked"


# -- operations that cause requests


def ask(cluster: MixedCluster, broker_id: int, request: Message, version: int) -> Any:
    with WireClient(cluster.brokers[broker_id].bootstrap_servers) as client:
        return client.ask(request, version)


def transact(cluster: MixedCluster, coordinator: int) -> None:
    """Runs a transaction in both partitions with this coordinator; waits for its markers."""
    name = TRANSACTIONAL_IDS[coordinator]
    producer = Producer(
        {"bootstrap.servers": cluster.servers, "transactional.id": name, "transaction.timeout.ms": 900_000}
    )
    producer.init_transactions(HANGS_AFTER_S)
    producer.begin_transaction()
    for number in range(RECORDS):
        producer.produce(ORDERS, b"%d" % number, partition=number % 2)
    producer.commit_transaction(HANGS_AFTER_S)
    request = DescribeTransactionsRequest(transactional_ids=[name])
    await_that(
        lambda: ask(cluster, coordinator, request, 0).transaction_states[0].transaction_state == "CompleteCommit",
        "the transaction has ended",
    )


def begin_producer(cluster: MixedCluster, broker_id: int) -> None:
    """Starts a producer; its id comes from a block that the controller assigned to the broker."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    await_that(lambda: ask(cluster, broker_id, request, 4).error_code == ErrorCode.NONE, "a producer id")


def make_by_asking_and_delete(cluster: MixedCluster, broker_id: int) -> None:
    """Creates a topic automatically through that broker, and deletes it."""
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=PASSING)], allow_auto_topic_creation=True)
    await_that(lambda: ask(cluster, broker_id, asked, 12).topics[0].error_code == ErrorCode.NONE, "the topic is there")
    cluster.await_in_sync()
    deletion = DeleteTopicsRequest(topics=[DeleteTopicState(name=PASSING)], timeout_ms=60_000)
    ask(cluster, cluster.controller, deletion, 6)
    await_that(lambda: f"/brokers/topics/{PASSING}" not in cluster.tree(), "the topic is gone")


def go_on_alone(cluster: MixedCluster, broker_id: int) -> None:
    """While the other broker is down, deletes records that it has and records that it lacks."""
    batch = batch_of(b"soon gone", timestamps=[int(time.time() * 1000)])
    data = TopicProduceData(name=CLEARED, partition_data=[PartitionProduceData(index=0, records=batch)])
    produce = ProduceRequest(acks=1, timeout_ms=60_000, topic_data=[data])
    await_answer(
        lambda: ask(cluster, broker_id, produce, 9).responses[0].partition_responses[0].error_code,
        lambda code: code == ErrorCode.NONE,
        "it leads",
    )
    partition = DeleteRecordsPartition(partition_index=0, offset=-1)
    clear = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=CLEARED, partitions=[partition])], timeout_ms=60_000)
    assert ask(cluster, broker_id, clear, 2).topics[0].partitions[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize("rounds", [FEW_ROUNDS, pytest.param(ROUNDS, marks=pytest.mark.long)], ids=["few", "all"])
def test_kafka_and_pybroker_replicate_and_lead_under_each_inter_broker_version(
    cluster: MixedCluster, taps: dict[int, RequestTap], rounds: list[str]
) -> None:
    for number, version in enumerate(rounds):
        is_beginning = number == 0  # after which each broker has been down once
        first, second = ((KAFKA, OURS), (OURS, KAFKA))[number % 2]
        cluster.set_for_all("inter.broker.protocol.version", version)
        cluster.start(first, second)
        assert cluster.controller == first
        if is_beginning:
            alone = {"min.insync.replicas": "1"}
            cluster.create_topic(ORDERS, [KAFKA, OURS], [OURS, KAFKA])
            cluster.create_topic(CLEARED, [KAFKA, OURS], config=alone)
            cluster.create_topic(TRANSACTIONS, [KAFKA], [OURS], config={**alone, "cleanup.policy": "compact"})
        cluster.await_in_sync()
        cluster.elect_preferred_leaders()
        cluster.await_leaders(ORDERS, set(BROKERS))
        for coordinator in BROKERS:
            transact(cluster, coordinator)
        begin_producer(cluster, second)
        make_by_asking_and_delete(cluster, second)
        cluster.stop(second)
        go_on_alone(cluster, first)
        cluster.stop(first)
        if is_beginning:
            for tap in taps.values():
                tap.take()
        else:
            check_requests(taps, first, version)
        assert set(cluster.differing(BROKERS)) <= {f"{CLEARED}-0"}, f"under {version}"
    assert cluster.log_of(KAFKA, f"{ORDERS}-0")
    assert cluster.complaints() == []
