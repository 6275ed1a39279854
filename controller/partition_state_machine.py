"""Changes the states of partitions: elects leaders, writes them to the tree, and tells the brokers."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import assert_never

from ..base.gathered_lines import log_gathered
from ..base.topic_partition import TopicPartition
from .context import ControllerContext, IllegalMoveError
from .leader_election import (
    Election,
    ElectionStrategy,
    elect_initial,
    elect_on_controlled_shutdown,
    elect_on_reassignment,
    elect_preferred,
    elect_when_offline,
)
from .request_batch import RequestBatch
from .state_tables import PartitionState
from .tree.cluster_tree import ClusterTree
from .tree.leader_and_isr import LeaderAndIsr, PartitionLeadership

__all__ = ["PartitionStateMachine"]

logger = logging.getLogger(__name__)


class PartitionStateMachine:
    """Kafka's PartitionStateMachine; called within the controller's events only.

    Nothing else changes the context between two awaits. AnotherControllerError of `ClusterTree` is passed on.
    ``flush`` sends the requests of ``batch``. ``allows_unclean`` tells by topic whether unclean election is allowed.
    """

    def __init__(
        self,
        context: ControllerContext,
        tree: ClusterTree,
        batch: RequestBatch,
        flush: Callable[[], None],
        allows_unclean: Callable[[Iterable[str]], Awaitable[Mapping[str, bool]]],
        *,
        marks_recovery: bool,
    ) -> None:
        """``marks_recovery``: whether brokers know the recovery state (KIP-704)."""
        self._context = context
        self._tree = tree
        self._batch = batch
        self._flush = flush
        self._allows_unclean = allows_unclean
        self._marks_recovery = marks_recovery
        self.unclean_elections = 0
        """Elections of a leader outside the ISR."""

    async def start(self) -> None:
        """Set the states that the tree shows, and elect missing leaders."""
        for partition in self._context.all_partitions:
            leadership = self._context.leadership(partition)
            if leadership is None:
                state = PartitionState.NEW
            elif self._context.is_replica_online(leadership.leader_and_isr.leader, partition):
                state = PartitionState.ONLINE
            else:
                state = PartitionState.OFFLINE
            self._context.initialize_partition(partition, state)
        await self.bring_online()

    async def bring_online(self, topic: str | None = None) -> dict[TopicPartition, LeaderAndIsr]:
        """Elect leaders for all new and offline partitions, or those of one topic; returns the elected states."""
        waiting = [
            partition
            for partition in self._context.partitions_in(PartitionState.OFFLINE, PartitionState.NEW, topic=topic)
            if not self._context.is_queued_for_deletion(partition.topic)
        ]
        return await self.move_online(waiting, ElectionStrategy.OFFLINE)

    def move(self, partitions: Iterable[TopicPartition], target: PartitionState) -> None:
        """Move to NEW, OFFLINE or NON_EXISTENT; no broker is told."""
        for partition in partitions:
            self._move(partition, target)

    async def move_online(
        self, partitions: Iterable[TopicPartition], strategy: ElectionStrategy
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """Give new partitions their first leader, and elect leaders for the others by ``strategy``.

        Returns the states elected for partitions that were not new. Partitions for which no replica can lead stay
        unchanged.
        """
        new: list[TopicPartition] = []
        to_elect: list[TopicPartition] = []
        for partition in partitions:
            match self._context.partition_state(partition):
                case PartitionState.NEW:
                    new.append(partition)
                case PartitionState.ONLINE | PartitionState.OFFLINE:
                    to_elect.append(partition)
                case PartitionState.NON_EXISTENT as state:
                    logger.error("partition %s may not move from %s to online", partition, state.value)
        await self._initialize(new)
        elected = await self._elect(to_elect, strategy)
        for partition in elected:
            self._move(partition, PartitionState.ONLINE)
        self._flush()
        return elected

    def _move(self, partition: TopicPartition, target: PartitionState) -> None:
        try:
            self._context.move_partition(partition, target)
        except IllegalMoveError:
            logger.exception("controller epoch %d: refused a state change", self._context.epoch)

    async def _initialize(self, partitions: Sequence[TopicPartition]) -> None:
        states: dict[TopicPartition, PartitionLeadership] = {}
        dead: list[str] = []
        for partition in partitions:
            assignment = self._context.assignment(partition)
            is_online = partial(self._context.is_replica_online, partition=partition)
            election = elect_initial(assignment, is_online)
            if election.leader_and_isr is None:
                replicas = list(assignment.replicas)
                dead.append(f"partition {partition} has no leader: none of its replicas {replicas} is alive")
                continue
            states[partition] = PartitionLeadership(election.leader_and_isr, self._context.epoch)
        log_gathered(logger, logging.WARNING, "controller.partition-without-live-replica", dead)
        if not states:
            return
        created = await self._tree.create_partition_states(states, self._context.epoch_version)
        for partition in states:
            if partition not in created:
                logger.error("partition %s is new but has a state in the tree", partition)
        for partition, leadership in created.items():
            self._context.put_leadership(partition, leadership)
            self._batch.add_leader_and_isr(leadership.leader_and_isr.isr, partition, leadership, is_new=True)
            self._move(partition, PartitionState.ONLINE)

    async def _elect(
        self, partitions: Sequence[TopicPartition], strategy: ElectionStrategy
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """Elect leaders, and retry partitions whose state was changed by another writer meanwhile.

        It uses the cached states first, because a write based on an outdated state is refused. It reads the tree only
        after such a refusal, and before it reports that no replica can lead.
        """
        known = {p: leadership for p in partitions if (leadership := self._context.leadership(p)) is not None}
        elections = await self._elections(self._of_this_term(known), strategy)
        elected, _ = await self._write(elections, strategy)
        remaining = [partition for partition in partitions if partition not in elected]
        while remaining:
            elections = await self._elections(await self._current_states(remaining), strategy)
            leaderless = [str(p) for p, election in elections.items() if election.leader_and_isr is None]
            if leaderless:
                log_gathered(
                    logger,
                    logging.WARNING,
                    "controller.no-leader-elected",
                    [f"no leader could be elected ({strategy.value}) for {partition}" for partition in leaderless],
                )
            written, remaining = await self._write(elections, strategy)
            elected.update(written)
        return elected

    async def _elections(
        self, states: Mapping[TopicPartition, LeaderAndIsr], strategy: ElectionStrategy
    ) -> dict[TopicPartition, Election]:
        unclean = await self._unclean_allowed(states, strategy)
        return {
            partition: self._election(partition, state, strategy, unclean_allowed=unclean.get(partition.topic, False))
            for partition, state in states.items()
        }

    async def _write(
        self, elections: Mapping[TopicPartition, Election], strategy: ElectionStrategy
    ) -> tuple[dict[TopicPartition, LeaderAndIsr], list[TopicPartition]]:
        """Returns the written states, and the partitions whose state another writer has changed."""
        wanted: dict[TopicPartition, LeaderAndIsr] = {}
        for partition, election in elections.items():
            if election.leader_and_isr is not None:
                wanted[partition] = election.leader_and_isr
        written, changed = await self._tree.update_partition_states(
            wanted, self._context.epoch, self._context.epoch_version
        )
        log_gathered(
            logger,
            logging.INFO,
            "controller.leader-elected",
            [f"partition {each}: {state.in_words()} ({strategy.value})" for each, state in written.items()],
        )
        for partition, state in written.items():
            leadership = PartitionLeadership(state, self._context.epoch)
            self._context.put_leadership(partition, leadership)
            self._batch.add_leader_and_isr(elections[partition].recipients, partition, leadership, is_new=False)
        return written, changed

    async def _current_states(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, LeaderAndIsr]:
        """The states in the tree."""
        states = await self._tree.partition_states(partitions)
        for partition in partitions:
            if partition not in states:
                logger.error("partition %s has no state in the tree", partition)
        return self._of_this_term(states)

    def _of_this_term(self, states: Mapping[TopicPartition, PartitionLeadership]) -> dict[TopicPartition, LeaderAndIsr]:
        """``states`` without the states that a later controller has written."""
        return {
            partition: leadership.leader_and_isr
            for partition, leadership in states.items()
            if not self._context.is_of_later_term(partition, leadership)
        }

    async def _unclean_allowed(
        self, states: Mapping[TopicPartition, LeaderAndIsr], strategy: ElectionStrategy
    ) -> Mapping[str, bool]:
        """By topic; asks only for topics that have a partition without a live member of the ISR."""
        topics = {
            partition.topic: True
            for partition, state in states.items()
            if not any(self._context.is_replica_online(member, partition) for member in state.isr)
        }
        if strategy is ElectionStrategy.OFFLINE and topics:
            return await self._allows_unclean(topics)
        return topics

    def _election(
        self,
        partition: TopicPartition,
        state: LeaderAndIsr,
        strategy: ElectionStrategy,
        *,
        unclean_allowed: bool,
    ) -> Election:
        assignment = self._context.assignment(partition)

        def is_online(broker_id: int) -> bool:
            return self._context.is_replica_online(broker_id, partition)

        def is_online_or_shutting_down(broker_id: int) -> bool:
            return self._context.is_replica_online(broker_id, partition, include_shutting_down=True)

        match strategy:
            case ElectionStrategy.OFFLINE | ElectionStrategy.UNCLEAN:
                election = elect_when_offline(
                    assignment,
                    state,
                    is_online,
                    unclean_allowed=unclean_allowed,
                    marks_recovery=self._marks_recovery,
                )
                elected = election.leader_and_isr
                self.unclean_elections += elected is not None and elected.leader not in state.isr
                return election
            case ElectionStrategy.REASSIGN:
                return elect_on_reassignment(assignment, state, is_online)
            case ElectionStrategy.PREFERRED:
                return elect_preferred(assignment, state, is_online)
            case ElectionStrategy.CONTROLLED_SHUTDOWN:
                return elect_on_controlled_shutdown(
                    assignment, state, is_online_or_shutting_down, self._context.shutting_down
                )
            case _:
                assert_never(strategy)
