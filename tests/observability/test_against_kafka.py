"""Under the same load, the metrics of pybroker have the values that Kafka 3.9 shows by JMX."""

import re
import urllib.request
from collections.abc import Iterator, Mapping, Sequence

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pybroker.broker.metrics.series.series import Kind, Series, Spelling
from pybroker.broker.metrics.series.table import SERIES
from support.monitoring.kafka_jmx import KafkaWithJmx
from support.monitoring.steady_load import BATCHES, RECORDS_OF_BATCH, TOPIC, TOPICS, run_load
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import ZooKeeperProcess
from support.processes.ports import free_port

SETTINGS = {
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
}
Bean = tuple[str, frozenset[tuple[str, str]], str]
"""Domain, properties and attribute."""

# Values that depend on time, on the machine, or on how a broker is built.
NOT_COMPARED = {
    r".*(timems|requestbytes)$": "only the count of these is compared",
    r"kafka_network_socketserver_.*|.*idle_percent": "how busy the machine is; Kafka's pool of memory is off",
    r"kafka_server_socket_server_metrics_.*": "connections that come and go",
    r"kafka_server_kafkaserver_linux_disk_.*": "bytes on the disk",
    r"kafka_log_logcleanermanager_time_since_last_run_ms|kafka_log_logcleaner_max_clean_time_secs": "time",
    r"kafka_log_logcleanermanager_max_dirty_percent": "the moment of the last look",
    r".*_(byte_rate|throttle_time)": "no quotas here",
    r"kafka_server_(sessionexpirelistener|zookeeperclientmetrics)_.*": "this pybroker has no ZooKeeper",
    r"kafka_controller_controllereventmanager_.*|kafka_controller_controllerstats_leaderelection.*": "internal events",
    r"kafka_server_delayedoperationpurgatory_.*": "requests that wait at this moment",
}
# The test compares these series only by the labels that the load makes alike.
ALIKE_ONLY: dict[str, tuple[str, Sequence[str]]] = {
    "kafka_network_requestmetrics_(requests|errors)_total": ("request", ["Produce"]),
    "kafka_log_log_(size|logendoffset)": ("topic", TOPICS),
    "kafka_server_brokertopicmetrics_(messagesin|bytesin|bytesout|totalfetchrequests)_total": ("topic", TOPICS),
}


@pytest.fixture(scope="module")
def kafka_beans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[Bean, float]]:
    directory = tmp_path_factory.mktemp("kafka")
    zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
    try:
        kafka = KafkaWithJmx(directory, zookeeper, SETTINGS).start()
        try:
            run_load(kafka.bootstrap_servers)
            yield {parsed(name, attribute): value for (name, attribute), value in kafka.beans().items()}
        finally:
            kafka.kill()
    finally:
        zookeeper.kill()


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, dict[str, str], float]]]:
    """The samples of each series: the name with its suffix, the labels, the value."""
    port = free_port()
    settings = {**SETTINGS, "pybroker.http.listeners": f"HTTP://127.0.0.1:{port}"}
    with BrokerProcess(tmp_path_factory.mktemp("pybroker"), settings) as broker:
        run_load(broker.bootstrap_servers)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as response:
            text = response.read().decode()
    found: dict[str, list[tuple[str, dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = family.name + "_total" if family.type == "counter" else family.name
            found.setdefault(name, []).append((sample.name, dict(sample.labels), sample.value))
    return found


def parsed(name: str, attribute: str) -> Bean:
    domain, _, properties = name.partition(":")
    pairs = (pair.partition("=") for pair in properties.split(","))
    return domain, frozenset((key, value) for key, _, value in pairs), attribute


def bean_of(series: Series, sample_name: str, labels: Mapping[str, str]) -> Bean:
    """The MBean that the table names for a sample."""
    domain, _, rest = series.source.partition(":")
    properties, _, attribute = rest.partition(":")
    pairs = dict(pair.split("=", 1) for pair in properties.split(","))
    pairs |= {name: value for name, value in labels.items() if value}
    counts = series.kind is Kind.COUNTER or (series.kind is Kind.SUMMARY and sample_name.endswith("_count"))
    return domain, frozenset(pairs.items()), attribute or ("Count" if counts else "Value")


def compared(series: Series) -> bool:
    is_count_only = series.kind is Kind.SUMMARY
    return series.spelling is Spelling.JMX and (
        is_count_only or not any(re.fullmatch(pattern, series.name) for pattern in NOT_COMPARED)
    )


def is_alike(name: str, labels: Mapping[str, str]) -> bool:
    for pattern, (label, values) in ALIKE_ONLY.items():
        if re.fullmatch(pattern, name):
            return labels.get(label) in values
    return True


def test_values_agree_with_jmx_of_kafka_within_one_percent(
    samples: Mapping[str, list[tuple[str, dict[str, str], float]]], kafka_beans: Mapping[Bean, float]
) -> None:
    agreed: set[str] = set()
    wrong: dict[str, str] = {}
    for name, series in SERIES.items():
        if not compared(series):
            continue
        for sample_name, labels, value in samples.get(name, ()):
            if series.kind is Kind.SUMMARY and not (
                sample_name.endswith("_count") and labels.get("request") == "Produce"
            ):
                continue
            if not is_alike(name, labels):
                continue
            theirs = kafka_beans.get(bean_of(series, sample_name, labels))
            if theirs is None:
                if value:  # Kafka makes most beans of a topic when there is something to count
                    wrong[f"{sample_name}{labels}"] = f"{value}, Kafka has no such bean"
                continue
            if abs(value - theirs) <= 0.01 * abs(theirs):
                agreed.add(name)
            else:
                wrong[f"{sample_name}{labels}"] = f"{value}, Kafka has {theirs}"
    assert wrong == {}
    assert {
        "kafka_server_brokertopicmetrics_messagesin_total",
        "kafka_server_brokertopicmetrics_bytesin_total",
        "kafka_server_brokertopicmetrics_bytesout_total",
        "kafka_server_replicamanager_leadercount",
        "kafka_log_log_size",
        "kafka_cluster_partition_replicascount",
        "kafka_network_requestmetrics_requests_total",
        "kafka_network_requestmetrics_totaltimems",
        "kafka_controller_kafkacontroller_activecontrollercount",
        "kafka_coordinator_group_groupmetadatamanager_numoffsets",
        "kafka_server_group_coordinator_metrics_group_completed_rebalance_total",
        "kafka_server_brokertopicmetrics_bytesrejected_total",
        "kafka_server_brokertopicmetrics_failedproducerequests_total",
        "kafka_server_brokertopicmetrics_invalidmessagecrcrecords_total",
        "kafka_server_brokertopicmetrics_nokeycompactedtopicrecords_total",
        "kafka_server_brokertopicmetrics_producemessageconversions_total",
    } <= agreed
    assert len(agreed) > 60


def test_load_is_counted_record_for_record(samples: Mapping[str, list[tuple[str, dict[str, str], float]]]) -> None:
    rows = samples["kafka_server_brokertopicmetrics_messagesin_total"]
    assert [value for _, labels, value in rows if labels.get("topic") == TOPIC] == [BATCHES * RECORDS_OF_BATCH]
