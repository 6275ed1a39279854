"""Groups: Kafka's GroupMetadataManager and the metrics of their coordinator."""

from .rows import rows_of
from .series import Spelling

counter, gauge, _, _ = rows_of(Spelling.JMX)

_GROUPS = "kafka.coordinator.group:type=GroupMetadataManager,name"
_COORDINATOR = "kafka.server:type=group-coordinator-metrics"

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SERIES = (
    gauge("kafka_coordinator_group_groupmetadatamanager_numgroups", "Groups that this broker coordinates.",
          f"{_GROUPS}=NumGroups"),
    gauge("kafka_coordinator_group_groupmetadatamanager_numoffsets", "Offsets of these groups.",
          f"{_GROUPS}=NumOffsets"),
    gauge("kafka_coordinator_group_groupmetadatamanager_numgroupsempty", "Groups without members.",
          f"{_GROUPS}=NumGroupsEmpty"),
    gauge("kafka_coordinator_group_groupmetadatamanager_numgroupsstable", "Groups whose members work.",
          f"{_GROUPS}=NumGroupsStable"),
    gauge("kafka_coordinator_group_groupmetadatamanager_numgroupspreparingrebalance",
          "Groups that wait for members to join.",
          f"{_GROUPS}=NumGroupsPreparingRebalance"),
    gauge("kafka_coordinator_group_groupmetadatamanager_numgroupscompletingrebalance",
          "Groups that wait for the leader's assignment.",
          f"{_GROUPS}=NumGroupsCompletingRebalance"),
    gauge("kafka_coordinator_group_groupmetadatamanager_numgroupsdead", "Groups that are being removed.",
          f"{_GROUPS}=NumGroupsDead"),
    gauge("kafka_server_group_coordinator_metrics_consumer_group_count", "Groups of the consumer protocol by state.",
          f"{_COORDINATOR}:consumer-group-count", "state"),
    counter("kafka_server_group_coordinator_metrics_consumer_group_rebalance_total",
            "Changes of groups of the consumer protocol that raised their epoch.",
            f"{_COORDINATOR}:consumer-group-rebalance-count"),
    counter("kafka_server_group_coordinator_metrics_group_completed_rebalance_total",
            "Rebalances that ended with an assignment.",
            f"{_COORDINATOR}:group-completed-rebalance-count"),
    counter("kafka_server_group_coordinator_metrics_offset_commit_total", "Offsets committed.",
            f"{_COORDINATOR}:offset-commit-count"),
    counter("kafka_server_group_coordinator_metrics_offset_expiration_total", "Offsets that expired.",
            f"{_COORDINATOR}:offset-expiration-count"),
    counter("kafka_server_group_coordinator_metrics_offset_deletion_total", "Offsets deleted on request.",
            f"{_COORDINATOR}:offset-deletion-count"),
)
