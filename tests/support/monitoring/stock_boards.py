"""The series that stock boards of Grafana ask for: facts about these boards, from which the tests make queries.

Sources: strimzi/strimzi-kafka-operator, packaging/examples/metrics/grafana-dashboards/strimzi-kafka.json and
strimzi-kafka-exporter.json, and the alerts in prometheus-install/prometheus-rules; danielqsj/kafka_exporter,
kafka_exporter_overview.json; seglo/kafka-lag-exporter, Kafka_Lag_Exporter_Dashboard.json. Left out are the panels about
the JVM, containers and volumes, which no broker can serve.
"""

from typing import NamedTuple

__all__ = ["ASKED", "JOINED", "Asked"]

STRIMZI, EXPORTER, ALERTS = "strimzi-kafka", "strimzi-kafka-exporter", "strimzi-rules"
OVERVIEW, LAG_EXPORTER = "kafka_exporter_overview", "kafka-lag-exporter"
_TOPICS = 'topic!=""'
_IN_GROUPS = 'namespace="kafka",cluster_name!="",group!=""'
_PLACE = ("namespace", "cluster_name", "topic", "partition")
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
    Asked(OVERVIEW, "kafka_topic_partition_current_offset", "rate", by=("instance", "topic")),
    Asked(OVERVIEW, "kafka_topic_partitions", by=("instance", "topic")),
    Asked(OVERVIEW, "kafka_consumergroup_lag", by=("instance", "consumergroup", "topic")),
    Asked(OVERVIEW, "kafka_consumergroup_current_offset", "delta", by=("instance", "consumergroup", "topic")),
    *(
        Asked(LAG_EXPORTER, f"kafka_consumergroup_group_{name}", labels=_IN_GROUPS, by=("group",))
        for name in ("max_lag_seconds", "max_lag", "lag_seconds", "lag", "offset")
    ),
    Asked(LAG_EXPORTER, "kafka_partition_latest_offset", labels='namespace="kafka",cluster_name!=""', by=_PLACE),
    Asked(ALERTS, "kafka_server_replicamanager_underreplicatedpartitions"),
    Asked(ALERTS, "kafka_server_replicamanager_underminisrpartitioncount"),
    Asked(ALERTS, "kafka_controller_kafkacontroller_activecontrollercount", by=("namespace",)),
    Asked(ALERTS, "kafka_controller_kafkacontroller_offlinepartitionscount", by=("namespace",)),
    Asked(ALERTS, "kafka_log_logmanager_offlinelogdirectorycount"),
    Asked(ALERTS, "kafka_topic_partition_current_offset", "changes"),
)
# The lag exporter's board shows the offset that each group may read up to: each place of a group must match one series.
JOINED = (
    f"sum(0 * kafka_consumergroup_group_offset{{{_IN_GROUPS}}} + on({', '.join(_PLACE)}) group_left() "
    "kafka_partition_latest_offset)"
)
