"""The names of kafka-lag-exporter. Labels of members are empty: a new series at every rebalance would be the price."""

from .rows import rows_of
from .series import Spelling

_, gauge, _, _ = rows_of(Spelling.LAG)

_SOURCE = "OffsetFetch, ListOffsets, batch headers"
_GROUP = ("cluster_name", "group")
_MEMBER = (*_GROUP, "topic", "partition", "member_host", "consumer_id", "client_id")

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SERIES = (
    gauge("kafka_consumergroup_group_offset", "Offset that a group committed.", _SOURCE, *_MEMBER),
    gauge("kafka_consumergroup_group_lag", "Records between the committed offset and the high watermark.",
          _SOURCE, *_MEMBER),
    gauge("kafka_consumergroup_group_lag_seconds", "Age of the first unread batch, in seconds; 0 at the end.",
          _SOURCE, *_MEMBER),
    gauge("kafka_consumergroup_group_max_lag", "Largest lag of a group in a partition, in records.", _SOURCE, *_GROUP),
    gauge("kafka_consumergroup_group_max_lag_seconds", "Largest lag of a group in a partition, in seconds.",
          _SOURCE, *_GROUP),
    gauge("kafka_consumergroup_group_sum_lag", "Records by which a group is behind in all its partitions.",
          _SOURCE, *_GROUP),
    gauge("kafka_consumergroup_group_topic_sum_lag", "Records by which a group is behind in a topic.",
          _SOURCE, *_GROUP, "topic"),
    gauge("kafka_partition_latest_offset", "High watermark: the offset behind the last record.",
          _SOURCE, "cluster_name", "topic", "partition"),
    gauge("kafka_partition_earliest_offset", "First offset.", _SOURCE, "cluster_name", "topic", "partition"),
)
