"""The names of kafka_exporter. Only a partition's leader and a group's coordinator give a series, so sums are right."""

from .rows import rows_of
from .series import Spelling

_, gauge, _, _ = rows_of(Spelling.EXPORTER)

_METADATA = "Metadata"
_OFFSETS = "ListOffsets"
_GROUPS = "OffsetFetch, DescribeGroups"

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SERIES = (
    gauge("kafka_brokers", "Brokers that are alive.", _METADATA),
    gauge("kafka_broker_info", "A broker's address, always 1.", _METADATA, "id", "address"),
    gauge("kafka_topic_partitions", "Partitions of a topic; the leader of partition 0 gives it.", _METADATA, "topic"),
    gauge("kafka_topic_partition_current_offset", "High watermark: the offset behind the last record.",
          _OFFSETS, "topic", "partition"),
    gauge("kafka_topic_partition_oldest_offset", "First offset.", _OFFSETS, "topic", "partition"),
    gauge("kafka_topic_partition_in_sync_replica", "Members of the ISR.", _METADATA, "topic", "partition"),
    gauge("kafka_topic_partition_leader", "Broker id of the leader.", _METADATA, "topic", "partition"),
    gauge("kafka_topic_partition_leader_is_preferred", "1 if the preferred replica leads.",
          _METADATA, "topic", "partition"),
    gauge("kafka_topic_partition_replicas", "Replicas.", _METADATA, "topic", "partition"),
    gauge("kafka_topic_partition_under_replicated_partition", "1 if the ISR is smaller than the set of replicas.",
          _METADATA, "topic", "partition"),
    gauge("kafka_consumergroup_current_offset", "Offset that a group committed.",
          _GROUPS, "consumergroup", "topic", "partition"),
    gauge("kafka_consumergroup_current_offset_sum", "Sum of the offsets that a group committed in a topic.",
          _GROUPS, "consumergroup", "topic"),
    gauge("kafka_consumergroup_lag", "Records between a group's committed offset and the high watermark.",
          _GROUPS, "consumergroup", "topic", "partition"),
    gauge("kafka_consumergroup_lag_sum", "Records by which a group is behind in a topic.",
          _GROUPS, "consumergroup", "topic"),
    gauge("kafka_consumergroup_members", "Members of a group.", _GROUPS, "consumergroup"),
)
