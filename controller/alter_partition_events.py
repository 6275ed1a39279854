"""Handles AlterPartition: leaders change the ISR and recovery state of their partitions."""

import logging
from collections.abc import Callable, Mapping, Sequence

from ..base.gathered_lines import log_gathered
from ..base.topic_partition import TopicPartition
from ..protocol.errors import InvalidUpdateVersionError, KafkaError, UnknownTopicOrPartitionError
from .broker_requests import BrokerRequests
from .context import ControllerContext
from .isr_rules import IsrChange, decide
from .tree.cluster_tree import ClusterTree
from .tree.leader_and_isr import LeaderAndIsr, PartitionLeadership

__all__ = ["AlterPartitionEvents"]

logger = logging.getLogger(__name__)


class AlterPartitionEvents:
    """Called within the controller's events only.

    ``on_changed`` is called with the partitions whose ISR was changed; the leader's response does not wait for it.
    """

    def __init__(
        self,
        context: ControllerContext,
        tree: ClusterTree,
        requests: BrokerRequests,
        on_changed: Callable[[Sequence[TopicPartition]], None],
    ) -> None:
        self._context = context
        self._tree = tree
        self._requests = requests
        self._on_changed = on_changed

    async def alter(
        self, broker_id: int, changes: Mapping[TopicPartition, IsrChange]
    ) -> dict[TopicPartition, LeaderAndIsr | KafkaError]:
        """Write the allowed changes and tell every broker; returns the new state, or the error, by partition."""
        wanted: dict[TopicPartition, LeaderAndIsr] = {}
        refused: dict[TopicPartition, KafkaError] = {}
        for partition, change in changes.items():
            try:
                state = decide(self._context, broker_id, partition, change)
            except KafkaError as error:
                refused[partition] = error
            else:
                if state is not None:
                    wanted[partition] = state
        forbidden = [f"broker {broker_id} may not change the ISR of {each}: {why}" for each, why in refused.items()]
        log_gathered(logger, logging.INFO, "controller.isr-change-refused", forbidden)
        refused.update(await self._write(wanted))
        self._requests.tell_all_brokers(changes)
        self._on_changed([partition for partition in changes if partition not in refused])
        return {partition: refused.get(partition) or self._state_of(partition) for partition in changes}

    async def _write(self, wanted: Mapping[TopicPartition, LeaderAndIsr]) -> dict[TopicPartition, KafkaError]:
        """Returns the errors of partitions that could not be written."""
        written, changed = await self._tree.update_partition_states(
            wanted, self._context.epoch, self._context.epoch_version
        )
        changes = [
            f"partition {partition}: ISR {list(state.isr)}, partition epoch {state.partition_epoch}"
            for partition, state in written.items()
        ]
        log_gathered(logger, logging.INFO, "controller.isr-changed", changes)
        for partition, state in written.items():
            self._context.put_leadership(partition, PartitionLeadership(state, self._context.epoch))
        refused: dict[TopicPartition, KafkaError] = {}
        for partition in wanted:
            if partition not in written and partition not in changed:
                refused[partition] = UnknownTopicOrPartitionError(f"{partition} was deleted")
        if changed:  # by another writer: read them again so that the context is up to date
            for partition, leadership in (await self._tree.partition_states(changed)).items():
                self._context.put_leadership(partition, leadership)
            refused.update((partition, InvalidUpdateVersionError(f"{partition} was changed")) for partition in changed)
        return refused

    def _state_of(self, partition: TopicPartition) -> LeaderAndIsr:
        leadership = self._context.leadership(partition)
        assert leadership is not None
        return leadership.leader_and_isr
