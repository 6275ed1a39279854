"""What brokers of a cluster serve each other, beside `table.handlers`."""

from collections.abc import Mapping

from ...config.config import Config
from ...controller.controller import Controller
from ...protocol.apis import ApiKey
from ...replication.partition_set import PartitionSet
from ...replication.transaction_checks import TransactionChecks
from ..coordinator.group.coordinator import GroupCoordinator
from ..inter_broker.controller_orders import ControllerOrders
from ..requests.between_brokers import BetweenBrokers, listeners_between_brokers
from ..requests.context import Handler
from .between_brokers.allocate_producer_ids import AllocateProducerIds
from .between_brokers.alter_partition import AlterPartition
from .between_brokers.controlled_shutdown import ControlledShutdown
from .between_brokers.leader_and_isr import LeaderAndIsr
from .between_brokers.stop_replica import StopReplica
from .between_brokers.update_metadata import UpdateMetadata
from .groups.legacy_offsets import TopicExists
from .transactions.add_partitions_to_txn import add_partitions_to_txn_elsewhere
from .transactions.txn_offset_commit import TxnOffsetCommit
from .transactions.write_txn_markers import WriteTxnMarkers

__all__ = ["cluster_handlers"]


def cluster_handlers(
    config: Config,
    orders: ControllerOrders,
    controller: Controller,
    partitions: PartitionSet,
    groups: GroupCoordinator,
    topic_exists: TopicExists,
    transaction_checks: TransactionChecks | None,
) -> Mapping[ApiKey, Handler]:
    """What the controller orders, what is asked of this broker when it is the controller, and what is written here of
    transactions that other brokers coordinate."""
    listeners = listeners_between_brokers(config)
    between_brokers: Mapping[ApiKey, Handler] = {
        ApiKey.LEADER_AND_ISR: LeaderAndIsr(orders),
        ApiKey.STOP_REPLICA: StopReplica(orders),
        ApiKey.UPDATE_METADATA: UpdateMetadata(orders),
        ApiKey.CONTROLLED_SHUTDOWN: ControlledShutdown(controller),
        ApiKey.ALTER_PARTITION: AlterPartition(controller),
        ApiKey.ALLOCATE_PRODUCER_IDS: AllocateProducerIds(controller),
        ApiKey.WRITE_TXN_MARKERS: WriteTxnMarkers(partitions, groups.commits, config.int("request.timeout.ms")),
    }
    of_clients: Mapping[ApiKey, Handler] = {
        ApiKey.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn_elsewhere,
        ApiKey.TXN_OFFSET_COMMIT: TxnOffsetCommit(groups, topic_exists, transaction_checks),
    }
    return {**of_clients, **{key: BetweenBrokers(handler, listeners) for key, handler in between_brokers.items()}}
