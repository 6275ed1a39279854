"""One broker's term as controller: what it knows of the cluster, and the parts that act on it.

From an election to the resignation. A new term begins with nothing and reads all of it from the tree; whatever an old
one still waits for, a watch or an answer, is of no more interest.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random

from ..base.topic_partition import TopicPartition
from ..config.versions import is_at_least
from .alter_partition_events import AlterPartitionEvents
from .broker_answers import BrokerAnswers
from .broker_channel import ChannelTo, ControlRequest, ControlResponse
from .broker_events import BrokerEvents
from .broker_requests import BrokerRequests
from .context import ControllerContext
from .controller_inbox import ControllerInbox
from .inbox_events import InboxEvents
from .leader_balance import FIRST_CHECK_SECONDS, LeaderBalance, partitions_to_give_back
from .leader_election import ElectionStrategy
from .partition_state_machine import PartitionStateMachine
from .reassignment_steps import ReassignmentSteps
from .replica_state_machine import ReplicaStateMachine
from .request_batch import RequestBatch
from .topic_deletion import TopicDeletion
from .topic_events import TopicEvents
from .tree.cluster_tree import ClusterTree
from .tree.feature_node import enable_features
from .tree.znodes import ZnodeDecodeError

__all__ = ["ControllerTerm"]

logger = logging.getLogger(__name__)

_FIRST_WITH_RECOVERY = "3.2-IV0"
"""Of the protocol versions in which the state of a partition says that its leader was elected uncleanly."""


class ControllerTerm:
    """``post`` takes an event: its term, its name, and what to do. The other arguments are the controller's."""

    def __init__(
        self,
        *,
        broker_id: int,
        tree: ClusterTree,
        channel_to: ChannelTo,
        inter_broker_listener: str,
        protocol_version: str,
        unclean_by_default: Callable[[], bool],
        delete_topic_enable: bool,
        leader_balance: LeaderBalance | None,
        random: Random,
        on_deletion_settled: Callable[[str], None],
        post: Callable[["ControllerTerm", str, Callable[[], Awaitable[object]]], None],
    ) -> None:
        self._tree = tree
        self._protocol_version = protocol_version
        self._unclean_by_default = unclean_by_default
        self._leader_balance = leader_balance
        self._balance_timer: asyncio.TimerHandle | None = None
        self.context = context = ControllerContext()
        self._batch = batch = RequestBatch(context, broker_id, inter_broker_listener)
        self.requests = requests = BrokerRequests(context, batch, channel_to, self._on_answer)
        self.partitions = PartitionStateMachine(
            context,
            tree,
            batch,
            requests.flush,
            self._allows_unclean,
            marks_recovery=is_at_least(protocol_version, _FIRST_WITH_RECOVERY),
        )
        self._replicas = ReplicaStateMachine(context, tree, batch, requests.flush)
        self._deletion = TopicDeletion(
            context,
            tree,
            batch,
            requests.flush,
            self.partitions,
            self._replicas,
            enabled=delete_topic_enable,
            on_settled=on_deletion_settled,
        )

        self._post = post_event = partial(post, self)
        inbox = ControllerInbox(tree)
        self.reassignments = reassignments = ReassignmentSteps(
            context, tree, inbox, batch, requests, self.partitions, self._replicas, self._deletion
        )
        self.brokers = BrokerEvents(
            context, tree, batch, requests, self.partitions, self._replicas, self._deletion, reassignments, post_event
        )
        self._topics = TopicEvents(context, tree, self.partitions, self._replicas, self._deletion, random, post_event)
        self._inbox = InboxEvents(
            context, tree, inbox, requests, self.brokers, self.partitions, reassignments, post_event
        )

        def isrs_changed(changed: Sequence[TopicPartition]) -> None:
            moving = [partition for partition in changed if reassignments.is_under_way(partition)]
            if moving:
                post_event("new replicas in sync", partial(reassignments.complete_where_in_sync, moving))

        self.alter_partition = AlterPartitionEvents(context, tree, requests, isrs_changed)
        self._answers = BrokerAnswers(context, self._deletion, self.brokers.replicas_offline, post_event)

    async def take_over(self) -> None:
        """Read the tree, watch it, tell the brokers, go on with what an earlier controller left."""
        await enable_features(self._tree.store, self._protocol_version)
        await self._inbox.clear()
        await self.brokers.load()
        await self._topics.load()
        # Brokers must know each other before they are told whom to follow.
        self.requests.tell_everyone(())
        # Of partitions with a live replica they hear with its role.
        leaderless = [p for p in self.context.partitions_with_leaders if self._has_no_live_replica(p)]
        if leaderless:
            self._batch.add_update_metadata(self.context.live_or_shutting_down_ids, leaderless)
        self._replicas.start()
        await self.partitions.start()
        await self._replicas.take_the_gone_offline()
        await self._inbox.resume()
        await self._deletion.resume()
        await self._inbox.resume_elections()
        self._check_balance_in(FIRST_CHECK_SECONDS)

    async def end(self) -> None:
        """No broker is told anything any more."""
        self._stop_checking_balance()
        await self.requests.close()

    def kill(self) -> None:
        """`end`, waiting for nothing."""
        self._stop_checking_balance()
        self.requests.kill()

    async def balance_leaders(self) -> None:
        """Have preferred replicas lead again, where too many do not; and look again later."""
        assert self._leader_balance is not None
        self._check_balance_in(self._leader_balance.interval_seconds)
        wanted = partitions_to_give_back(self.context, self._leader_balance.percentage)
        if wanted:
            logger.info("%d partitions get their preferred leaders again", len(wanted))
            await self.partitions.move_online(wanted, ElectionStrategy.PREFERRED)

    def _check_balance_in(self, seconds: float) -> None:
        if self._leader_balance is not None:
            loop = asyncio.get_running_loop()
            self._balance_timer = loop.call_later(seconds, self._post, "leader balance", self.balance_leaders)

    def _stop_checking_balance(self) -> None:
        if self._balance_timer is not None:
            self._balance_timer.cancel()

    def discard_batch(self) -> None:
        """Forget what brokers were about to be told."""
        self._batch.take()

    def _has_no_live_replica(self, partition: TopicPartition) -> bool:
        replicas = self.context.assignment(partition).replicas
        return not any(self.context.is_replica_online(broker_id, partition) for broker_id in replicas)

    async def _allows_unclean(self, topics: Iterable[str]) -> Mapping[str, bool]:
        allowed = {}
        for topic in topics:
            try:
                setting = (await self._tree.config("topics", topic)).get("unclean.leader.election.enable")
            except ZnodeDecodeError as error:  # rather no leader than one that costs records
                logger.error("topic %s: no unclean leader election, its settings cannot be read: %s", topic, error)
                setting = "false"
            allowed[topic] = self._unclean_by_default() if setting is None else setting.strip().lower() == "true"
        return allowed

    def _on_answer(self, broker_id: int, request: ControlRequest, response: ControlResponse) -> None:
        self._answers.received(broker_id, request, response)
