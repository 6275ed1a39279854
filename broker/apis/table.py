"""The one table of what is served: which handler answers which API. ApiVersions is derived from it."""

from collections.abc import Mapping
from random import Random

from ...config.config import Config
from ...controller.metadata_plane import MetadataPlane
from ...protocol.apis import ApiKey
from ...replication.fetch_session import FetchSessions
from ...replication.offload import Offload
from ...replication.partition_set import PartitionSet
from ..advertised_address import AdvertisedAddresses
from ..coordinator.group.coordinator import GroupCoordinator
from ..metadata_cache import MetadataCache
from ..offsets_topic import CoordinatorPlaces
from ..topic_waiters import TopicWaiters
from ..tree_offsets import TreeOffsets
from .context import Handler
from .create_topics import CreateTopics
from .delete_groups import DeleteGroups
from .delete_topics import DeleteTopics
from .describe_cluster import DescribeCluster
from .describe_groups import DescribeGroups
from .fetch import Fetch
from .find_coordinator import CoordinatorDirectory, FindCoordinator
from .heartbeat import Heartbeat
from .init_producer_id import InitProducerId
from .join_group import JoinGroup
from .leave_group import LeaveGroup
from .list_groups import ListGroups
from .list_offsets import ListOffsets
from .metadata import Metadata
from .offset_commit import OffsetCommit
from .offset_delete import OffsetDelete
from .offset_fetch import OffsetFetch
from .offset_for_leader_epoch import OffsetForLeaderEpoch
from .produce import Produce
from .sync_group import SyncGroup
from .topic_config_entries import TopicConfigEntries

__all__ = ["handlers"]


def handlers(
    *,
    config: Config,
    partitions: PartitionSet,
    cache: MetadataCache,
    metadata: MetadataPlane,
    groups: GroupCoordinator,
    group_places: CoordinatorPlaces,
    addresses: AdvertisedAddresses,
    waiters: TopicWaiters,
    offload: Offload,
    random: Random,
) -> Mapping[ApiKey, Handler]:
    """Every handler with the parts of the broker that it asks."""
    cluster_id = metadata.identity.cluster_id
    creation = metadata.auto_creation.create if config.boolean("auto.create.topics.enable") else None
    slots = config.int("max.incremental.fetch.session.cache.slots")
    sessions = FetchSessions(slots, lambda: random.randrange(1, 2**31))
    tree_offsets = TreeOffsets(metadata.tree)
    group_directory = CoordinatorDirectory(groups.partition_for, group_places.node_of, group_places.ensure_topic)
    return {
        ApiKey.PRODUCE: Produce(partitions, cache),
        ApiKey.FETCH: Fetch(
            partitions, sessions, cache, cache, max_bytes=config.int("fetch.max.bytes"), offload=offload
        ),
        ApiKey.LIST_OFFSETS: ListOffsets(partitions),
        ApiKey.METADATA: Metadata(cache, addresses, cluster_id, creation),
        ApiKey.OFFSET_COMMIT: OffsetCommit(groups.commits, cache.has_partition, tree_offsets),
        ApiKey.OFFSET_FETCH: OffsetFetch(groups.commits, cache.has_partition, tree_offsets),
        ApiKey.FIND_COORDINATOR: FindCoordinator(group_directory),
        ApiKey.JOIN_GROUP: JoinGroup(groups.membership),
        ApiKey.HEARTBEAT: Heartbeat(groups.membership),
        ApiKey.LEAVE_GROUP: LeaveGroup(groups.membership),
        ApiKey.SYNC_GROUP: SyncGroup(groups.membership),
        ApiKey.DESCRIBE_GROUPS: DescribeGroups(groups.administration),
        ApiKey.LIST_GROUPS: ListGroups(groups.administration),
        ApiKey.DELETE_GROUPS: DeleteGroups(groups.administration),
        ApiKey.CREATE_TOPICS: CreateTopics(
            metadata.topics, lambda: metadata.controller.is_active, cache, waiters, TopicConfigEntries(config)
        ),
        ApiKey.DELETE_TOPICS: DeleteTopics(
            metadata.topics, metadata.controller, cache, waiters, lambda: config.boolean("delete.topic.enable")
        ),
        ApiKey.INIT_PRODUCER_ID: InitProducerId(metadata.producer_ids),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: OffsetForLeaderEpoch(partitions),
        ApiKey.OFFSET_DELETE: OffsetDelete(groups.administration, cache.has_partition),
        ApiKey.DESCRIBE_CLUSTER: DescribeCluster(cache, addresses, cluster_id),
    }
