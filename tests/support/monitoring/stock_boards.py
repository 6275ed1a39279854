"""The series that stock boards of Grafana ask for: facts about these boards, from which the tests make queries.

Sources: strimzi/strimzi-kafka-operator, packaging/examples/metrics/grafana-dashboards/strimzi-kafka.json and
strimzi-kafka-exporter.json; danielqsj/kafka_exporter, kafka_exporter_overview.json. Left out are the panels about the
JVM, containers and volumes, which no broker can serve.
"""

from typing import NamedTuple

__all__ = ["ASKED", "Asked"]

STRIMZI, EXPORTER, OVERVIEW = "strimzi-kafka", "strimzi-kafka-exporter", "kafka_exporter_overview"
_TOPICS = 'topic!=""'
_POD = ("kubernetes_pod_name",)


class Asked(NamedTuple):
    """A board reads ``series`` where ``labels`` match, by a function over time, and adds it up by some labels."""

    board: str
    series: str
    function: str = ""
    labels: str = ""
    by: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        read = f"{self.series}{{{self.labels}}}"
        over_time = f"{self.function}({read}[5m])" if self.function else read
        return f"sum by ({', '.join(self.by)}) ({over_time})"


_PER_TOPIC = (
    "bytesin",
    "bytesout",
    "messagesin",
    "totalproducerequests",
    "failedproducerequests",
    "totalfetchrequests",
    "failedfetchrequests",
)
ASKED = (
    Asked(STRIMZI, "kafka_server_replicamanager_leadercount", labels='namespace="kafka",strimzi_io_cluster="test"'),
    Asked(STRIMZI, "kafka_controller_kafkacontroller_activecontrollercount"),
    Asked(STRIMZI, "kafka_controller_controllerstats_uncleanleaderelections_total", "irate"),
    Asked(STRIMZI, "kafka_server_replicamanager_partitioncount"),
    Asked(STRIMZI, "kafka_server_replicamanager_underreplicatedpartitions"),
    Asked(STRIMZI, "kafka_cluster_partition_atminisr"),
    Asked(STRIMZI, "kafka_cluster_partition_underminisr"),
    Asked(STRIMZI, "kafka_controller_kafkacontroller_offlinepartitionscount"),
    Asked(STRIMZI, "process_open_fds", labels='container="kafka"', by=_POD),
    *(Asked(STRIMZI, f"kafka_server_brokertopicmetrics_{name}_total", "irate", _TOPICS) for name in _PER_TOPIC),
    Asked(STRIMZI, "kafka_network_socketserver_networkprocessoravgidle_percent", by=_POD),
    Asked(STRIMZI, "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", by=_POD),
    Asked(STRIMZI, "kafka_server_kafkaserver_linux_disk_write_bytes", "irate", by=_POD),
    Asked(STRIMZI, "kafka_server_kafkaserver_linux_disk_read_bytes", "irate", by=_POD),
    Asked(STRIMZI, "kafka_server_socket_server_metrics_connection_count", by=(*_POD, "listener")),
    Asked(STRIMZI, "kafka_log_log_size", labels='topic=~".+",partition=~".+"', by=(*_POD, "topic", "partition")),
    Asked(STRIMZI, "kafka_cluster_partition_replicascount", by=("topic",)),
    Asked(EXPORTER, "kafka_topic_partitions", by=("topic",)),
    Asked(EXPORTER, "kafka_topic_partition_replicas"),
    Asked(EXPORTER, "kafka_topic_partition_in_sync_replica"),
    Asked(EXPORTER, "kafka_topic_partition_under_replicated_partition"),
    Asked(EXPORTER, "kafka_cluster_partition_atminisr", labels=_TOPICS),
    Asked(EXPORTER, "kafka_cluster_partition_underminisr", labels=_TOPICS),
    Asked(EXPORTER, "kafka_topic_partition_leader_is_preferred"),
    Asked(EXPORTER, "kafka_topic_partition_current_offset", "rate", by=("topic",)),
    Asked(EXPORTER, "kafka_consumergroup_current_offset", "delta", by=("consumergroup", "topic")),
    Asked(EXPORTER, "kafka_consumergroup_lag", by=("consumergroup", "topic")),
    Asked(EXPORTER, "kafka_consumergroup_current_offset", by=("consumergroup", "topic", "partition")),
    Asked(EXPORTER, "kafka_consumergroup_lag", by=("consumergroup", "topic", "partition")),
    Asked(EXPORTER, "kafka_topic_partition_current_offset", by=("topic", "partition")),
    Asked(EXPORTER, "kafka_topic_partition_oldest_offset", by=("topic", "partition")),
    Asked(EXPORTER, "kafka_broker_info", by=("id", "address")),
    Asked(OVERVIEW, "kafka_topic_partition_current_offset", "delta", by=("topic",)),
    Asked(
        OVERVIEW, "kafka_topic_partition_current_offset", labels='topic!="__consumer_offsets"', by=("job", "instance")
    ),
)
