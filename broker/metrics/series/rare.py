"""The series of partitions that stock boards of Grafana and the boards in ``monitoring/`` do not read."""

__all__ = ["RARE"]

RARE = frozenset(
    {
        "kafka_cluster_partition_insyncreplicascount",
        "kafka_cluster_partition_underreplicated",
        "kafka_log_log_logendoffset",
        "kafka_log_log_logstartoffset",
        "kafka_log_log_numlogsegments",
        "kafka_topic_partition_leader",
    }
)
