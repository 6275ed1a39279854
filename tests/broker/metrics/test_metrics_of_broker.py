"""A running broker gives its metrics over HTTP, and Prometheus' own tool finds no fault with them."""

import shutil
import subprocess
from collections.abc import Iterator
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import Consumer, Producer
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.broker.metrics.series.table import SERIES
from pybroker.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from pybroker.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from support.clients.topics import create_topic
from support.clients.wire_client import WireClient
from support.in_process.scraping import ScrapedSamples, samples_in
from support.source_tree import rejects_all_but

TOPIC = "orders"
# Rows without a source on a broker with an embedded store, and why.
WITHOUT_SOURCE = {
    "kafka_server_sessionexpirelistener_zookeeperdisconnects_total": "only with ZooKeeper",
    "kafka_server_sessionexpirelistener_zookeeperexpires_total": "only with ZooKeeper",
    "kafka_server_sessionexpirelistener_zookeepersyncconnects_total": "only with ZooKeeper",
    "kafka_server_zookeeperclientmetrics_zookeeperrequestlatencyms": "only with ZooKeeper",
    "pybroker_metrics_dropped_series": "the writer itself gives it",
    "pybroker_metrics_failed_sources": "the writer itself gives it",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker({"pybroker.http.listeners": "HTTP://127.0.0.1:0"}) as broker:
        servers = {"bootstrap.servers": broker.bootstrap_servers}
        create_topic(broker.bootstrap_servers, TOPIC, 3)
        limit_every_user(broker.bootstrap_servers)
        producer = Producer(servers)
        for number in range(30):
            producer.produce(TOPIC, b"%d" % number, partition=number % 3)
        assert producer.flush() == 0
        consumer = Consumer({**servers, "group.id": "readers", "auto.offset.reset": "earliest"})
        consumer.subscribe([TOPIC])
        read = 0
        while read < 30:
            read += len(consumer.consume(30 - read, timeout=1))
        consumer.commit(asynchronous=False)
        member = join_new_group(broker.bootstrap_servers)
        yield broker
        member.close()
        consumer.close()


def join_new_group(servers: str) -> WireClient:
    """A group of the consumer protocol gets a member."""
    client = WireClient(servers)
    joining = ConsumerGroupHeartbeatRequest(
        group_id="new", member_id="m", rebalance_timeout_ms=20_000, subscribed_topic_names=[TOPIC], topic_partitions=[]
    )
    assert client.ask(joining, 1).error_code == 0
    return client


def limit_every_user(servers: str) -> None:
    """Give every user a quota far above what it uses, so that its bytes are counted."""
    ops = [OpData(key=key, value=1e9) for key in ("producer_byte_rate", "consumer_byte_rate")]
    entity = [RequestEntityData(entity_type="user", entity_name=None)]
    request = AlterClientQuotasRequest(entries=[RequestEntryData(entity=entity, ops=ops)])
    with WireClient(servers) as client:
        assert [entry.error_code for entry in client.ask(request, 1).entries] == [0]


def scraped_text(broker: BlockingBroker, **headers: str) -> str:
    with urlopen(Request(f"{broker.http_url}/metrics", headers=headers), timeout=60) as response:
        text: bytes = response.read()
    return text.decode()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
def test_promtool_finds_no_fault(broker: BlockingBroker) -> None:
    # promtool also checks names against Prometheus' conventions. Names that begin with kafka_ are left out on purpose:
    # they are spelled as Kafka's JMX exporters and kafka_exporter spell them, because boards ask for exactly these.
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=scraped_text(broker), capture_output=True, text=True, check=False
    )
    assert checked.returncode != 1, checked.stderr
    assert [line for line in checked.stderr.splitlines() if not line.startswith("kafka_")] == []


def test_series_of_partitions_and_groups_have_the_values_of_the_clients(broker: BlockingBroker) -> None:
    found = ScrapedSamples(samples_in(scraped_text(broker)))
    for partition in "012":
        labels = {"topic": TOPIC, "partition": partition}
        assert found.value("kafka_log_log_logendoffset", **labels) == 10
        assert found.value("kafka_topic_partition_current_offset", **labels) == 10
        assert found.value("kafka_topic_partition_leader_is_preferred", **labels) == 1
        assert found.value("kafka_log_log_size", **labels) > 0
    assert found.value("kafka_controller_kafkacontroller_activecontrollercount") == 1
    assert found.value("kafka_controller_kafkacontroller_offlinepartitionscount") == 0
    assert found.value("kafka_controller_kafkacontroller_globaltopiccount") == 2
    assert found.value("kafka_server_replicamanager_leadercount") == found.value(
        "kafka_controller_kafkacontroller_globalpartitioncount"
    )
    for kind in ("produce", "fetch"):
        assert found.value(f"kafka_server_{kind}_byte_rate", user="ANONYMOUS", client_id="") > 0
        assert found.value(f"kafka_server_{kind}_throttle_time", user="ANONYMOUS", client_id="") == 0
    assert found.value("kafka_coordinator_group_groupmetadatamanager_numgroups") == 1
    assert found.value("kafka_coordinator_group_groupmetadatamanager_numgroupsstable") == 1
    assert found.value("kafka_coordinator_group_groupmetadatamanager_numoffsets") == 3
    assert found.value("kafka_server_group_coordinator_metrics_group_completed_rebalance_total") >= 1
    of_consumers = "kafka_server_group_coordinator_metrics_consumer_group"
    assert found.value(f"{of_consumers}_count", state="Stable") == 1
    assert found.value(f"{of_consumers}_count", state="Empty") == 0
    assert found.value(f"{of_consumers}_rebalance_total") == 1
    assert found.value("kafka_brokers") == 1
    assert found.value("kafka_topic_partitions", topic=TOPIC) == 3
    assert found.value("kafka_consumergroup_current_offset_sum", consumergroup="readers", topic=TOPIC) == 30
    assert found.value("kafka_consumergroup_lag_sum", consumergroup="readers", topic=TOPIC) == 0
    assert found.value("kafka_server_group_coordinator_metrics_offset_commit_total") >= 3
    assert found.value("kafka_controller_controllereventmanager_eventqueuetimems_count") > 0
    assert found.value("kafka_controller_controllerstats_uncleanleaderelections_total") == 0
    assert found.value("kafka_server_kafkaserver_brokerstate") == 3
    assert found.value("pybroker_recovery_progress_ratio") == 1
    (build,) = found.by_labels("pybroker_build_info")
    assert dict(build)["kafka_version"] == "3.9"
    assert found.value("pybroker_ready") == 1
    assert found.value("pybroker_metrics_failed_sources") == 0


def test_each_sampled_name_has_a_row_and_each_row_a_source(broker: BlockingBroker) -> None:
    text = scraped_text(broker)
    families = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
    assert families - set(SERIES) == set()
    sourced = set(broker_families(broker))
    assert sourced - set(SERIES) == set()
    rejects_all_but(WITHOUT_SOURCE, set(SERIES) - sourced)


def broker_families(broker: BlockingBroker) -> Iterator[str]:
    server = broker._broker._server
    assert server is not None
    registry = server.observability.metrics.registry
    return (family.series.name for family in registry.families())
