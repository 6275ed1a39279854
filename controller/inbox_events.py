"""Handles the notifications and requests that brokers and tools write into the tree.

These are Kafka's LogDirEventNotification, IsrChangeNotification, ZkPartitionReassignment and ReplicaLeaderElection
events.
"""

import logging
from collections.abc import Awaitable, Callable

from ..base.topic_partition import TopicPartition
from .broker_events import BrokerEvents
from .broker_requests import BrokerRequests
from .context import ControllerContext
from .controller_inbox import ControllerInbox
from .election_request import ElectionRequest
from .leader_election import ElectionStrategy
from .partition_state_machine import PartitionStateMachine
from .reassignment_steps import ReassignmentSteps
from .tree.cluster_tree import ClusterTree
from .tree.metadata_store import WatchEvent
from .tree.znodes import ISR_CHANGE_PATH, LOG_DIR_EVENT_PATH

__all__ = ["InboxEvents"]

logger = logging.getLogger(__name__)


class InboxEvents:
    """Called within the controller's events only; ``post`` queues an event when a watch fires."""

    def __init__(
        self,
        context: ControllerContext,
        tree: ClusterTree,
        inbox: ControllerInbox,
        requests: BrokerRequests,
        brokers: BrokerEvents,
        partitions: PartitionStateMachine,
        reassignments: ReassignmentSteps,
        post: Callable[[str, Callable[[], Awaitable[object]]], None],
    ) -> None:
        self._context = context
        self._tree = tree
        self._inbox = inbox
        self._requests = requests
        self._brokers = brokers
        self._partitions = partitions
        self._reassignments = reassignments
        self._post = post

    async def clear(self) -> None:
        """At the start of a term: remove notifications for earlier controllers, because the new term reads all states
        and asks all brokers anyway. Watch for new ones."""
        version = self._context.epoch_version
        events = await self._inbox.log_dir_events(self._on_log_dir_event)
        await self._inbox.forget(LOG_DIR_EVENT_PATH, list(events), version)
        changes = await self._inbox.changed_isrs(self._on_isr_change)
        await self._inbox.forget(ISR_CHANGE_PATH, list(changes), version)

    async def resume(self) -> None:
        """Late in the start of a term: begin waiting reassignments, and continue unfinished ones."""
        begun = await self._begin_reassignments()
        under_way = self._context.partitions_being_reassigned
        await self._reassignments.resume([partition for partition in under_way if partition not in begun])

    def _on_reassignments(self, _event: WatchEvent) -> None:
        self._post("reassignment asked for", self._begin_reassignments)

    async def _begin_reassignments(self) -> list[TopicPartition]:
        """Also runs when the node shrinks because a part is done; reassignments under way are left alone."""
        wishes = await self._inbox.reassignments(self._on_reassignments)
        return [] if wishes is None else await self._reassignments.begin_requested(wishes)

    async def resume_elections(self) -> None:
        """Last in the start of a term."""
        await self._elect_preferred()

    def _on_elections(self, _event: WatchEvent) -> None:
        self._post("preferred leader election asked for", self._elect_preferred)

    async def _elect_preferred(self) -> None:
        """Try each partition once, then remove the request so that another can be written."""
        wishes = await self._inbox.preferred_elections(self._on_elections)
        if wishes is None:
            return
        request = ElectionRequest.of(self._context, wishes, ElectionStrategy.PREFERRED)
        for partition, error in request.refused.items():
            logger.info("no preferred leader is elected for %s: %s", partition, error)
        await self._partitions.move_online(request.electable, ElectionStrategy.PREFERRED)
        await self._inbox.end_preferred_elections(self._context.epoch_version)

    def _on_log_dir_event(self, _event: WatchEvent) -> None:
        self._post("log directory failed", self._log_dirs_failed)

    async def _log_dirs_failed(self) -> None:
        events = await self._inbox.log_dir_events(self._on_log_dir_event)
        self._brokers.log_dirs_failed(dict.fromkeys(broker for broker in events.values() if broker is not None))
        await self._inbox.forget(LOG_DIR_EVENT_PATH, list(events), self._context.epoch_version)

    def _on_isr_change(self, _event: WatchEvent) -> None:
        self._post("ISRs changed", self._isrs_changed)

    async def _isrs_changed(self) -> None:
        """Read the states that leaders older than Kafka 2.7 have written themselves, and tell every broker."""
        changes = await self._inbox.changed_isrs(self._on_isr_change)
        changed: dict[TopicPartition, None] = {}
        for partitions in changes.values():
            changed |= dict.fromkeys(partitions or ())
        known = [partition for partition in changed if self._context.leadership(partition) is not None]
        for partition, leadership in (await self._tree.partition_states(known)).items():
            self._context.put_leadership(partition, leadership)
        if known:
            self._requests.tell_all_brokers(known)
        await self._reassignments.complete_where_in_sync(known)
        await self._inbox.forget(ISR_CHANGE_PATH, list(changes), self._context.epoch_version)
