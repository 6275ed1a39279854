"""The APIs that only brokers and controllers of the cluster call, with their handlers."""

from collections.abc import Mapping

from ....controller.controller import Controller
from ....protocol.apis import ApiKey
from ...requests.between_brokers import BetweenBrokers, listeners_between_brokers
from ...requests.context import Handler
from ..broker_parts import BrokerParts
from .allocate_producer_ids import AllocateProducerIds
from .alter_partition import AlterPartition
from .controlled_shutdown import ControlledShutdown
from .leader_and_isr import LeaderAndIsr
from .stop_replica import StopReplica
from .update_metadata import UpdateMetadata

__all__ = ["between_brokers_apis", "controller_apis"]


def between_brokers_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    """Each handler refuses requests that come by a listener for clients."""
    config, controller, orders = parts.config, parts.metadata.controller, parts.orders
    table: Mapping[ApiKey, Handler] = {
        # from the controller
        ApiKey.LEADER_AND_ISR: LeaderAndIsr(orders),
        ApiKey.STOP_REPLICA: StopReplica(orders),
        ApiKey.UPDATE_METADATA: UpdateMetadata(orders),
        # to the controller
        **controller_apis(controller),
    }
    if parts.share_coordinator is not None:
        from .share_group_state import share_state_apis  # most clusters have no share groups

        table = {**table, **share_state_apis(parts.share_coordinator.requests)}
    listeners = listeners_between_brokers(config)
    return {key: BetweenBrokers(handler, listeners) for key, handler in table.items()}


def controller_apis(controller: Controller) -> Mapping[ApiKey, Handler]:
    """The requests that brokers, this one included, send to the controller."""
    return {
        ApiKey.CONTROLLED_SHUTDOWN: ControlledShutdown(controller),
        ApiKey.ALTER_PARTITION: AlterPartition(controller),
        ApiKey.ALLOCATE_PRODUCER_IDS: AllocateProducerIds(controller),
    }
