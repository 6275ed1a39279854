"""The one table of what is served: which handler answers which API. ApiVersions is derived from it."""

from collections.abc import Mapping
from random import Random

from ...config.config import Config
from ...config.config_entries import topic_entries
from ...controller.metadata_plane import MetadataPlane
from ...protocol.apis import ApiKey
from ...replication.leader.fetch_session import FetchSessions
from ...replication.partition_set import PartitionSet
from ...replication.record_deletion import RecordDeletion
from ...replication.run_in_pool import Offload
from ...replication.transaction_checks import TransactionChecks
from ...storage.store.log_store import LogStore
from ...storage.workers.unpacking import InlineBounds
from ..coordinator.group.coordinator import GroupCoordinator
from ..coordinator.group.tree_offsets import TreeOffsets
from ..coordinator.offsets_topic import CoordinatorPlaces
from ..inter_broker.controller_orders import ControllerOrders
from ..metadata.advertised_address import AdvertisedAddresses
from ..metadata.metadata_cache import MetadataCache
from ..metadata.topic_waiters import TopicWaiters
from ..requests.context import Handler
from ..settings.live_settings import LiveSettings
from .cluster.alter_partition_reassignments import AlterPartitionReassignments
from .cluster.alter_replica_log_dirs import AlterReplicaLogDirs
from .cluster.describe_cluster import DescribeCluster
from .cluster.describe_log_dirs import DescribeLogDirs
from .cluster.elect_leaders import ElectLeaders
from .cluster.list_partition_reassignments import ListPartitionReassignments
from .cluster.update_features import UpdateFeatures
from .configs.alter_client_quotas import alter_client_quotas
from .configs.alter_configs import AlterConfigs
from .configs.describe_client_quotas import describe_client_quotas
from .configs.describe_configs import DescribeConfigs
from .configs.incremental_alter_configs import IncrementalAlterConfigs
from .groups.consumer_group_describe import consumer_group_describe
from .groups.consumer_group_heartbeat import consumer_group_heartbeat
from .groups.delete_groups import DeleteGroups
from .groups.describe_groups import DescribeGroups
from .groups.find_coordinator import CoordinatorDirectory, FindCoordinator
from .groups.heartbeat import Heartbeat
from .groups.join_group import JoinGroup
from .groups.leave_group import LeaveGroup
from .groups.list_groups import ListGroups
from .groups.offset_commit import OffsetCommit
from .groups.offset_delete import OffsetDelete
from .groups.offset_fetch import OffsetFetch
from .groups.sync_group import SyncGroup
from .records.delete_records import DeleteRecords
from .records.fetch import Fetch
from .records.list_offsets import ListOffsets
from .records.near_consumers import NearConsumers
from .records.offset_for_leader_epoch import OffsetForLeaderEpoch
from .records.produce import Produce
from .security.alter_user_scram_credentials import alter_user_scram_credentials
from .security.create_acls import create_acls
from .security.create_delegation_token import create_delegation_token
from .security.delete_acls import delete_acls
from .security.describe_acls import describe_acls
from .security.describe_delegation_token import describe_delegation_token
from .security.describe_user_scram_credentials import describe_user_scram_credentials
from .security.expire_delegation_token import expire_delegation_token
from .security.renew_delegation_token import renew_delegation_token
from .security.sasl_authenticate import sasl_authenticate
from .security.sasl_handshake import sasl_handshake
from .topics.create_partitions import CreatePartitions
from .topics.create_topics import CreateTopics
from .topics.delete_topics import DeleteTopics
from .topics.describe_topic_partitions import DescribeTopicPartitions
from .topics.metadata import Metadata
from .transactions.add_offsets_to_txn import add_offsets_to_txn
from .transactions.add_partitions_to_txn import add_partitions_to_txn
from .transactions.describe_producers import DescribeProducers
from .transactions.describe_transactions import describe_transactions
from .transactions.end_txn import end_txn
from .transactions.init_producer_id import InitProducerId
from .transactions.list_transactions import list_transactions
from .transactions.txn_offset_commit import txn_offset_commit

__all__ = ["handlers"]


def handlers(
    *,
    config: Config,
    settings: LiveSettings,
    logs: LogStore,
    partitions: PartitionSet,
    cache: MetadataCache,
    metadata: MetadataPlane,
    groups: GroupCoordinator,
    group_places: CoordinatorPlaces,
    transactions: CoordinatorDirectory | None,
    transaction_checks: TransactionChecks | None,
    addresses: AdvertisedAddresses,
    waiters: TopicWaiters,
    offload: Offload,
    random: Random,
    orders: ControllerOrders,
) -> Mapping[ApiKey, Handler]:
    """Every handler with the parts of the broker that it asks. ``orders`` are only taken in a cluster; there others may
    serve ``transactions``, and ``transaction_checks`` ask them."""
    cluster_id = metadata.identity.cluster_id
    creation = metadata.auto_creation.create if config.boolean("auto.create.topics.enable") else None
    slots = config.int("max.incremental.fetch.session.cache.slots")
    sessions = FetchSessions(
        slots,
        lambda: random.randrange(1, 2**31),
        max_partitions=config.int("pybroker.fetch.sessions.max.partitions"),
    )
    tree_offsets = TreeOffsets(metadata.tree, config.int("pybroker.legacy.offsets.max.bytes"))
    dynamic, altered_config = settings.dynamic, settings.altered_config(cache.has_topic, metadata.settings_room)
    group_directory = CoordinatorDirectory(groups.partition_for, group_places.node_of, group_places.ensure_topic)
    alone: dict[ApiKey, Handler] = {
        ApiKey.PRODUCE: Produce(partitions, cache, transaction_checks),
        ApiKey.FETCH: Fetch(
            partitions,
            sessions,
            cache,
            cache,
            max_bytes=config.int("fetch.max.bytes"),
            max_decompressed_bytes=config.int("pybroker.batch.max.decompressed.bytes"),
            inline=InlineBounds(
                config.int("pybroker.batch.inline.max.bytes"), config.int("pybroker.batch.inline.max.records")
            ),
            max_waiting_bytes=config.int("pybroker.fetch.waiting.max.bytes"),
            near_consumers=NearConsumers.of(config, cache),
            offload=offload,
        ),
        ApiKey.LIST_OFFSETS: ListOffsets(partitions),
        ApiKey.METADATA: Metadata(cache, addresses, cluster_id, creation),
        ApiKey.OFFSET_COMMIT: OffsetCommit(groups.commits, cache.has_partition, tree_offsets),
        ApiKey.OFFSET_FETCH: OffsetFetch(groups.commits, cache.has_partition, tree_offsets),
        ApiKey.FIND_COORDINATOR: FindCoordinator(group_directory, transactions),
        ApiKey.JOIN_GROUP: JoinGroup(groups.membership),
        ApiKey.HEARTBEAT: Heartbeat(groups.membership),
        ApiKey.LEAVE_GROUP: LeaveGroup(groups.membership),
        ApiKey.SYNC_GROUP: SyncGroup(groups.membership),
        ApiKey.DESCRIBE_GROUPS: DescribeGroups(groups.administration),
        ApiKey.LIST_GROUPS: ListGroups(groups.administration),
        ApiKey.SASL_HANDSHAKE: sasl_handshake,
        ApiKey.CREATE_TOPICS: CreateTopics(
            metadata.topics,
            lambda: metadata.controller.is_active,
            cache,
            waiters,
            lambda topic: topic_entries(dynamic.config, topic),
            lambda broker_id, partition: broker_id != metadata.identity.broker_id or partitions.is_leader(partition),
        ),
        ApiKey.DELETE_TOPICS: DeleteTopics(
            metadata.topics, metadata.controller, cache, waiters, lambda: config.boolean("delete.topic.enable")
        ),
        ApiKey.DELETE_RECORDS: DeleteRecords(
            RecordDeletion(partitions), lambda partition: partitions.get(partition) is not None
        ),
        ApiKey.INIT_PRODUCER_ID: InitProducerId(metadata.producer_ids),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: OffsetForLeaderEpoch(partitions),
        ApiKey.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn,
        ApiKey.ADD_OFFSETS_TO_TXN: add_offsets_to_txn,
        ApiKey.END_TXN: end_txn,
        ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit,
        ApiKey.DESCRIBE_ACLS: describe_acls,
        ApiKey.CREATE_ACLS: create_acls,
        ApiKey.DELETE_ACLS: delete_acls,
        ApiKey.DESCRIBE_CONFIGS: DescribeConfigs(
            metadata.identity.broker_id, metadata.tree, dynamic, cache.has_topic, settings.loggers
        ),
        ApiKey.ALTER_CONFIGS: AlterConfigs(altered_config),
        ApiKey.ALTER_REPLICA_LOG_DIRS: AlterReplicaLogDirs(logs, partitions, offload),
        ApiKey.DESCRIBE_LOG_DIRS: DescribeLogDirs(logs, partitions, offload),
        ApiKey.SASL_AUTHENTICATE: sasl_authenticate,
        ApiKey.CREATE_PARTITIONS: CreatePartitions(metadata.growth, metadata.controller, cache, waiters),
        ApiKey.CREATE_DELEGATION_TOKEN: create_delegation_token,
        ApiKey.RENEW_DELEGATION_TOKEN: renew_delegation_token,
        ApiKey.EXPIRE_DELEGATION_TOKEN: expire_delegation_token,
        ApiKey.DESCRIBE_DELEGATION_TOKEN: describe_delegation_token,
        ApiKey.DELETE_GROUPS: DeleteGroups(groups.administration),
        ApiKey.ELECT_LEADERS: ElectLeaders(metadata.controller, cache, waiters),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: IncrementalAlterConfigs(altered_config),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: AlterPartitionReassignments(metadata.controller),
        ApiKey.LIST_PARTITION_REASSIGNMENTS: ListPartitionReassignments(metadata.controller),
        ApiKey.OFFSET_DELETE: OffsetDelete(groups.administration, cache.has_partition),
        ApiKey.DESCRIBE_CLIENT_QUOTAS: describe_client_quotas,
        ApiKey.ALTER_CLIENT_QUOTAS: alter_client_quotas,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: describe_user_scram_credentials,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials,
        ApiKey.UPDATE_FEATURES: UpdateFeatures(lambda: metadata.controller.is_active),
        ApiKey.DESCRIBE_CLUSTER: DescribeCluster(cache, addresses, cluster_id),
        ApiKey.DESCRIBE_PRODUCERS: DescribeProducers(partitions, cache),
        ApiKey.DESCRIBE_TRANSACTIONS: describe_transactions,
        ApiKey.LIST_TRANSACTIONS: list_transactions,
        ApiKey.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat,
        ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_group_describe,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: DescribeTopicPartitions(
            cache, config.int("max.request.partition.size.limit")
        ),
    }
    if config.uses_embedded_store:  # a stranger could play controller
        return alone
    from .cluster_handler_table import cluster_handlers  # one broker alone does not need it

    return {
        **alone,
        **cluster_handlers(
            config, orders, metadata.controller, partitions, groups, cache.has_partition, transaction_checks
        ),
    }
