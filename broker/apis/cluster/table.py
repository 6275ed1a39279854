"""The APIs about brokers, elections, reassignments and log directories, with their handlers."""

from collections.abc import Mapping

from ....controller.features import TRANSACTION_VERSION, supported_features
from ....protocol.apis import ApiKey
from ...requests.context import Handler
from ..broker_parts import BrokerParts
from .alter_partition_reassignments import AlterPartitionReassignments
from .alter_replica_log_dirs import AlterReplicaLogDirs
from .describe_cluster import DescribeCluster
from .describe_log_dirs import DescribeLogDirs
from .elect_leaders import ElectLeaders
from .list_partition_reassignments import ListPartitionReassignments
from .update_features import UpdateFeatures

__all__ = ["cluster_apis"]


def cluster_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    controller, cluster_id = parts.metadata.controller, parts.metadata.identity.cluster_id
    return {
        ApiKey.DESCRIBE_CLUSTER: DescribeCluster(parts.cache, parts.addresses, cluster_id),
        ApiKey.UPDATE_FEATURES: UpdateFeatures(
            controller,
            parts.settings.changes.caught_up,
            supported_features(parts.config) if parts.is_in_cluster else [TRANSACTION_VERSION],
        ),
        ApiKey.ELECT_LEADERS: ElectLeaders(controller, parts.cache, parts.waiters),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: AlterPartitionReassignments(controller),
        ApiKey.LIST_PARTITION_REASSIGNMENTS: ListPartitionReassignments(controller),
        ApiKey.ALTER_REPLICA_LOG_DIRS: AlterReplicaLogDirs(parts.logs, parts.partitions, parts.run_in_pool),
        ApiKey.DESCRIBE_LOG_DIRS: DescribeLogDirs(parts.logs, parts.partitions, parts.run_in_pool),
    }
