"""One term of a controller, from its election to its resignation: the state of the cluster and the parts that act.

A new term begins empty and reads everything from the tree. Watches and responses of an old term are ignored.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random

from ..base.topic_partition import TopicPartition
from .alter_partition_events import AlterPartitionEvents
from .broker_channel import ChannelTo, ControlRequest, ControlResponse
from .broker_events import BrokerEvents
from .broker_requests import BrokerRequests
from .broker_responses import BrokerResponses
from .context import ControllerContext
from .controller_inbox import ControllerInbox
from .controller_settings import ControllerSettings
from .inbox_events import InboxEvents
from .leader_balance import FIRST_CHECK_SECONDS, partitions_to_give_back
from .leader_election import ElectionStrategy
from .partition_state_machine import PartitionStateMachine
from .reassignment_steps import ReassignmentSteps
from .replica_state_machine import ReplicaStateMachine
from .request_batch import RequestBatch
from .state_machines import StateMachines
from .topic_deletion import TopicDeletion
from .topic_events import TopicEvents
from .tree.cluster_tree import ClusterTree
from .tree.feature_node import enable_features
from .tree.znodes import ZnodeDecodeError

__all__ = ["ControllerTerm"]

logger = logging.getLogger(__name__)


class ControllerTerm:
    """The state and the parts of one term.

    ``post`` queues an event: the term it belongs to, its name, and its handler.
    ``on_deletion_settled`` is called with each topic whose deletion is complete or has to wait for a broker.
    """

    def __init__(
        self,
        settings: ControllerSettings,
        tree: ClusterTree,
        *,
        channel_to: ChannelTo,
        random: Random,
        on_deletion_settled: Callable[[str], None],
        post: Callable[["ControllerTerm", str, Callable[[], Awaitable[object]]], None],
    ) -> None:
        self._settings = settings
        self._tree = tree
        self._post = partial(post, self)
        self._balance_timer: asyncio.TimerHandle | None = None
        self.context = context = ControllerContext()
        self._batch = RequestBatch(context, settings.broker_id, settings.inter_broker_listener)
        self.requests = requests = BrokerRequests(context, self._batch, channel_to, self._on_answer)
        self._machines = machines = self._new_state_machines(on_deletion_settled)
        self.partitions = machines.partitions
        inbox = ControllerInbox(tree)
        self.reassignments = ReassignmentSteps(context, tree, inbox, self._batch, requests, machines)
        self.brokers = BrokerEvents(context, tree, self._batch, requests, machines, self.reassignments, self._post)
        self._topics = TopicEvents(context, tree, machines, random, self._post)
        self._inbox = InboxEvents(
            context, tree, inbox, requests, self.brokers, self.partitions, self.reassignments, self._post
        )
        self.alter_partition = AlterPartitionEvents(context, tree, requests, self._on_isrs_changed)
        self._responses = BrokerResponses(
            context, machines.deletion, self.brokers.replicas_offline, self.brokers.replicas_online, self._post
        )

    def _new_state_machines(self, on_deletion_settled: Callable[[str], None]) -> StateMachines:
        context, tree, batch, flush = self.context, self._tree, self._batch, self.requests.flush
        partitions = PartitionStateMachine(
            context, tree, batch, flush, self._allows_unclean, marks_recovery=self._settings.marks_recovery
        )
        replicas = ReplicaStateMachine(context, tree, batch, flush)
        deletion = TopicDeletion(
            context,
            tree,
            batch,
            flush,
            partitions,
            replicas,
            enabled=self._settings.delete_topic_enable,
            on_settled=on_deletion_settled,
        )
        return StateMachines(partitions, replicas, deletion)

    async def take_over(self) -> None:
        """Read and watch the tree, tell the brokers, and continue the unfinished work of earlier controllers."""
        await enable_features(self._tree.store, self._settings.protocol_version, self._settings.levels_of_new)
        await self._inbox.clear()
        await self.brokers.load()
        await self._topics.load()
        # Brokers must know each other before they are told which leader to follow.
        self.requests.tell_all_brokers(())
        # Partitions with a live replica are announced together with its role.
        leaderless = [p for p in self.context.partitions_with_leaders if self._has_no_live_replica(p)]
        if leaderless:
            self._batch.add_update_metadata(self.context.live_or_shutting_down_ids, leaderless)
        self._machines.replicas.start()
        await self.partitions.start()
        await self._machines.replicas.take_dead_replicas_offline()
        await self._inbox.resume()
        await self._machines.deletion.resume()
        await self._inbox.resume_elections()
        self._check_balance_in(FIRST_CHECK_SECONDS)

    async def end(self) -> None:
        """Stop sending requests to brokers."""
        self._stop_checking_balance()
        await self.requests.close()

    def kill(self) -> None:
        """`end` without waiting."""
        self._stop_checking_balance()
        self.requests.kill()

    async def balance_leaders(self) -> None:
        """Return leadership to preferred replicas where the imbalance is too high; check again later."""
        balance = self._settings.leader_balance
        assert balance is not None
        self._check_balance_in(balance.interval_seconds)
        wanted = partitions_to_give_back(self.context, balance.percentage)
        if wanted:
            logger.info("%d partitions get their preferred leaders back", len(wanted))
            await self.partitions.move_online(wanted, ElectionStrategy.PREFERRED)

    def _check_balance_in(self, seconds: float) -> None:
        if self._settings.leader_balance is not None:
            loop = asyncio.get_running_loop()
            self._balance_timer = loop.call_later(seconds, self._post, "leader balance", self.balance_leaders)

    def _stop_checking_balance(self) -> None:
        if self._balance_timer is not None:
            self._balance_timer.cancel()

    def discard_batch(self) -> None:
        """Drop the requests that were about to be sent to brokers."""
        self._batch.take()

    def _has_no_live_replica(self, partition: TopicPartition) -> bool:
        replicas = self.context.assignment(partition).replicas
        return not any(self.context.is_replica_online(broker_id, partition) for broker_id in replicas)

    async def _allows_unclean(self, topics: Iterable[str]) -> Mapping[str, bool]:
        allowed = {}
        for topic in topics:
            try:
                setting = (await self._tree.config("topics", topic)).get("unclean.leader.election.enable")
            except ZnodeDecodeError as error:  # no leader is better than one that loses records
                logger.error("topic %s: no unclean leader election, its settings cannot be read: %s", topic, error)
                setting = "false"
            allowed[topic] = (
                self._settings.unclean_by_default() if setting is None else setting.strip().lower() == "true"
            )
        return allowed

    def _on_isrs_changed(self, changed: Sequence[TopicPartition]) -> None:
        moving = [partition for partition in changed if self.reassignments.is_under_way(partition)]
        if moving:
            complete = partial(self.reassignments.complete_where_in_sync, moving)
            self._post("new replicas in sync", complete)

    def _on_answer(self, broker_id: int, request: ControlRequest, response: ControlResponse) -> None:
        self._responses.received(broker_id, request, response)
