"""The APIs of consumer groups and their offsets, with their handlers."""

from collections.abc import Callable, Mapping

from ....base.kafka_names import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from ....protocol.apis import ApiKey
from ...coordinator.coordinator_directory import CoordinatorDirectory
from ...coordinator.coordinator_topic import CoordinatorTopic
from ...coordinator.group.tree_offsets import TreeOffsets
from ...requests.context import Handler
from ...requests.group_features import WhileServed
from ..broker_parts import BrokerParts
from .consumer_group_describe import ConsumerGroupDescribe
from .consumer_group_heartbeat import ConsumerGroupHeartbeat
from .delete_groups import DeleteGroups
from .describe_groups import DescribeGroups
from .find_coordinator import FindCoordinator
from .heartbeat import Heartbeat
from .join_group import JoinGroup
from .leave_group import LeaveGroup
from .list_groups import ListGroups
from .offset_commit import OffsetCommit
from .offset_delete import OffsetDelete
from .offset_fetch import OffsetFetch
from .sync_group import SyncGroup

__all__ = ["group_apis"]


def group_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    coordinators, topic_exists = parts.coordinators, parts.cache.has_partition
    groups, transactions, features = coordinators.groups, coordinators.transactions, parts.group_features
    share = coordinators.share if features.share.is_asked_for else None
    tree_offsets = TreeOffsets(parts.metadata.tree, parts.config.int("pybroker.legacy.offsets.max.bytes"))
    return {
        ApiKey.FIND_COORDINATOR: FindCoordinator(
            _directory(groups.partition_for, parts.coordinator_topic(CONSUMER_OFFSETS_TOPIC)),
            _directory(transactions.partition_for, parts.coordinator_topic(TRANSACTION_STATE_TOPIC)),
            parts.throttling,
            None
            if share is None
            else _directory(share.partition_for, parts.coordinator_topic(SHARE_GROUP_STATE_TOPIC)),
        ),
        ApiKey.JOIN_GROUP: JoinGroup(groups.membership),
        ApiKey.SYNC_GROUP: SyncGroup(groups.membership),
        ApiKey.HEARTBEAT: Heartbeat(groups.membership),
        ApiKey.LEAVE_GROUP: LeaveGroup(groups.membership),
        ApiKey.OFFSET_COMMIT: OffsetCommit(groups.commits, topic_exists, tree_offsets, parts.cache),
        ApiKey.OFFSET_FETCH: OffsetFetch(groups.commits, topic_exists, tree_offsets, parts.cache),
        ApiKey.OFFSET_DELETE: OffsetDelete(groups.administration, topic_exists),
        ApiKey.DESCRIBE_GROUPS: DescribeGroups(groups.administration),
        ApiKey.LIST_GROUPS: ListGroups(groups.administration),
        ApiKey.DELETE_GROUPS: DeleteGroups(
            groups.administration, groups.share_offsets, serves_shares=lambda: features.share.is_served
        ),
        # Where the consumer protocol (KIP-848) is not served, admin tools ask DescribeGroups.
        ApiKey.CONSUMER_GROUP_HEARTBEAT: WhileServed(ConsumerGroupHeartbeat(groups.consumers), features.consumer),
        ApiKey.CONSUMER_GROUP_DESCRIBE: WhileServed(ConsumerGroupDescribe(groups.consumers), features.consumer),
    }


def _directory(partition_for: Callable[[str], int], topic: CoordinatorTopic) -> CoordinatorDirectory:
    return CoordinatorDirectory(partition_for, topic.node_of, topic.ensure_topic)
