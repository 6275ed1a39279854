"""The controller: handles one queue of events that change the state of the cluster (Kafka's KafkaController).

Every change is an event: a watch fired, a broker responded, a client requested something. Events are handled one at a
time, in order. A handler awaits the metadata tree, but never a broker or another event. So the controller's state does
not change under a handler; the tree may, and therefore each write is conditional on the controller epoch.

Every broker runs a controller; it is active only on the broker that holds /controller.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from ..base.topic_partition import TopicPartition
from ..protocol.errors import (
    BrokerIdNotRegisteredError,
    BrokerNotAvailableError,
    FeatureUpdateFailedError,
    KafkaError,
    NotControllerError,
    RequestTimedOutError,
    StaleBrokerEpochError,
    UnknownServerError,
)
from .broker_channel import ChannelTo
from .context import ControllerContext
from .controller_settings import ControllerSettings
from .controller_term import ControllerTerm
from .controller_times import ControllerTimes
from .election_request import ElectionRequest, outcome
from .features import FeatureUpdate, why_refused
from .isr_rules import IsrChange
from .leader_election import ElectionStrategy
from .producer_ids import ProducerIdBlocks, ProducerIdsExhaustedError
from .tree import znodes
from .tree.cluster_tree import AnotherControllerError, ClusterTree
from .tree.feature_node import levels_with, read_features
from .tree.leader_and_isr import LeaderAndIsr
from .tree.metadata_store import (
    BadVersionError,
    ConnectionLossError,
    MetadataStoreError,
    SessionEvent,
    SessionExpiredError,
    WatchEvent,
)
from .tree.replica_assignment import ReplicaAssignment
from .tree.znodes import ControllerInfo, ProducerIdBlock, ZnodeDecodeError

__all__ = ["Controller"]

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
Handler = Callable[[], Awaitable[object]]

RETRY_SECONDS = 1.0


class Controller:
    """One controller for the life of the broker; it is active while this broker holds /controller.

    ``channel_to`` makes the channel to a broker. ``fatal`` is called when the controller cannot go on: with the
    embedded store no other broker can take over. ``on_deletion_settled`` is called with each topic whose deletion is
    complete, nodes included, or has to wait for a broker.
    """

    def __init__(
        self,
        settings: ControllerSettings,
        tree: ClusterTree,
        *,
        channel_to: ChannelTo,
        clock_ms: Callable[[], int],
        random: Random,
        fatal: Callable[[Exception], None],
        on_deletion_settled: Callable[[str], None] = lambda _topic: None,
    ) -> None:
        self.broker_id = settings.broker_id
        self._tree = tree
        self._producer_ids = ProducerIdBlocks(tree)
        self._clock_ms = clock_ms
        self._fatal = fatal
        self._new_term = partial(
            ControllerTerm,
            settings,
            tree,
            channel_to=channel_to,
            random=random,
            on_deletion_settled=on_deletion_settled,
            post=self._post_of_term,
        )

        # The queue
        self._events: deque[tuple[str, Handler, float]] = deque()
        """The name, the handler, and the time of the loop at which it was queued."""
        self.times = ControllerTimes()
        self._pending_calls: dict[asyncio.Future[Any], None] = {}
        """Calls that have no result yet."""
        self._event_waiting = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._busy = False
        self._has_session = True
        self._can_write = True
        self._retry: asyncio.TimerHandle | None = None

        # While controller
        self.is_active = False
        self._term = self._new_term()
        self._unclean_before = 0

    @property
    def unclean_elections(self) -> int:
        """Elections of a leader outside the ISR, in all terms of this broker."""
        return self._unclean_before + self._term.partitions.unclean_elections

    @property
    def context(self) -> ControllerContext:
        """The state of the cluster; empty when another broker is controller."""
        return self._term.context

    @property
    def waiting_events(self) -> int:
        """The events in the queue, without the one that is being handled."""
        return len(self._events)

    # -- life

    async def start(self) -> None:
        """Take part in the election; returns when there is a controller.

        If this broker is elected, it returns when this broker has applied the LeaderAndIsr that it sent to itself as
        controller. It does not wait for other brokers, which may be registered but unreachable. If the connection to
        the metadata store breaks, it returns earlier, and the election is repeated later.
        """
        self._tree.store.on_session_event(self._on_session_event)
        self._task = asyncio.get_running_loop().create_task(self._run(), name="controller")
        with suppress(NotControllerError):
            await self.call("election", self._elect)
        await self._drained(self.broker_id)

    async def stop(self) -> None:
        """Stop being controller, and give up /controller if this broker holds it."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self._events.clear()
        for result in list(self._pending_calls):
            result.set_exception(NotControllerError("This broker is stopping."))
        await self._step_down()
        if self._retry is not None:
            self._retry.cancel()

    def kill(self) -> None:
        """End as a crash does: /controller stays, no broker is told."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        if self._retry is not None:
            self._retry.cancel()
        self._events.clear()
        self.is_active = False
        self._term.kill()

    async def drained(self) -> None:
        """Wait until all queued events and requests to brokers are done. For tests."""
        await self._drained(None)

    async def _drained(self, broker_id: int | None) -> None:
        """Wait for events, and for requests to one broker or (None) to all."""
        while True:
            await self.call("barrier", _nothing)
            requests = self._term.requests
            if not self._events and not self._busy and requests.are_answered(broker_id):
                return
            await requests.drained(broker_id)

    # -- requests of other parts

    def is_queued_for_deletion(self, topic: str) -> bool:
        return self.is_active and self.context.is_queued_for_deletion(topic)

    def is_being_deleted(self, topic: str) -> bool:
        """Like `is_queued_for_deletion`, but False while the deletion waits for a broker to come back."""
        return self.is_queued_for_deletion(topic) and topic not in self.context.topics_ineligible_for_deletion

    async def caught_up(self) -> None:
        """Wait until every event queued now is done: a newly elected controller does not know the cluster before that.
        Raises NotControllerError."""
        await self.call("barrier", _nothing)

    def topic_name(self, topic_id: UUID) -> str | None:
        return self.context.topic_name(topic_id)

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[TopicPartition]:
        """Move leaderships away from a broker that is about to stop.

        Returns the partitions it still leads although another replica could. Raises NotControllerError; as in Kafka,
        StaleBrokerEpochError and BrokerNotAvailableError; and RequestTimedOutError, at once, while the metadata store
        is unreachable and no leader can be elected.
        """

        async def shut_down() -> list[TopicPartition]:
            self._expect_active()
            if broker_id not in self.context.live_or_shutting_down_ids:
                raise BrokerNotAvailableError(f"Broker id {broker_id} does not exist.")
            if broker_epoch != -1 and broker_epoch < self.context.broker_epoch(broker_id):
                raise StaleBrokerEpochError(f"broker epoch {broker_epoch} of broker {broker_id} is outdated")
            return await self._term.brokers.controlled_shutdown(broker_id)

        if self.is_active and not self._can_write:
            raise RequestTimedOutError("The metadata store is unreachable, no leader can be elected now.")
        return await self.call("controlled shutdown", shut_down)

    async def elect_leaders(
        self, partitions: Iterable[TopicPartition], strategy: ElectionStrategy
    ) -> dict[TopicPartition, int | KafkaError]:
        """Elect leaders on demand, PREFERRED or UNCLEAN. Returns by partition the new leader, or why there was no
        election. Raises NotControllerError."""

        async def elect() -> dict[TopicPartition, int | KafkaError]:
            self._expect_active()
            request = ElectionRequest.of(self.context, partitions, strategy)
            await self._term.partitions.move_online(request.electable, strategy)
            elected = {partition: outcome(self.context, partition, strategy) for partition in request.electable}
            return elected | request.refused

        return await self.call("leader election", elect)

    async def reassign(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None], *, may_change_factor: bool = True
    ) -> dict[TopicPartition, KafkaError | None]:
        """Begin to move partitions to other replicas; a target of None cancels the move. Returns by partition the
        error, or None. Raises NotControllerError. ``may_change_factor``: the number of replicas may change."""

        async def begin() -> dict[TopicPartition, KafkaError | None]:
            self._expect_active()
            return await self._term.reassignments.begin(targets, may_change_factor=may_change_factor)

        return await self.call("reassignment", begin)

    async def reassignments(
        self, partitions: Iterable[TopicPartition] | None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """The reassignments under way, of all partitions or of ``partitions``. Raises NotControllerError."""

        async def look_up() -> dict[TopicPartition, ReplicaAssignment]:
            self._expect_active()
            asked = self.context.partitions_being_reassigned if partitions is None else partitions
            found = {partition: self.context.assignment(partition) for partition in asked}
            return {partition: assignment for partition, assignment in found.items() if assignment.is_being_reassigned}

        return await self.call("reassignments", look_up)

    async def alter_partitions(
        self, broker_id: int, broker_epoch: int, changes: Mapping[TopicPartition, IsrChange]
    ) -> dict[TopicPartition, LeaderAndIsr | KafkaError]:
        """Change partitions that broker ``broker_id`` leads (AlterPartition).

        Returns by partition the new state, with its new partition epoch, or an error of `isr_rules.decide`. Raises
        NotControllerError, and StaleBrokerEpochError when the broker is not registered with this epoch.
        """

        async def alter() -> dict[TopicPartition, LeaderAndIsr | KafkaError]:
            self._expect_active()
            self._expect_broker(broker_id, broker_epoch)
            return await self._term.alter_partition.alter(broker_id, changes)

        return await self.call("ISR changes", alter)

    async def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> ProducerIdBlock:
        """A block of producer ids never given before (AllocateProducerIds). Raises NotControllerError,
        BrokerIdNotRegisteredError, StaleBrokerEpochError, and UnknownServerError when no ids are left."""

        async def allocate() -> ProducerIdBlock:
            self._expect_active()
            if broker_id not in self.context.live_or_shutting_down_ids:
                raise BrokerIdNotRegisteredError(f"Broker {broker_id} is not registered.")
            self._expect_broker(broker_id, broker_epoch)
            try:
                return await self._producer_ids.next_block(broker_id)
            except ProducerIdsExhaustedError as error:
                raise UnknownServerError(str(error)) from error

        return await self.call("producer ids", allocate)

    async def update_feature(self, update: FeatureUpdate, *, validate_only: bool) -> str | None:
        """Change the level of a feature, or only check whether it may be changed. Returns why it may not.

        Raises NotControllerError, and FeatureUpdateFailedError when another writer was faster.
        """

        async def run() -> str | None:
            self._expect_active()
            features, version = await read_features(self._tree.store)
            current_level = features.levels.get(update.feature, 0)
            reason = why_refused(update, current_level, self.context.live_or_shutting_down)
            if reason is None and not validate_only and update.level != current_level:
                changed = levels_with(features, update.feature, update.level)
                try:
                    await self._tree.store.set(znodes.FEATURE_PATH, changed.encode(), version)
                except BadVersionError as error:
                    raise FeatureUpdateFailedError("The features were changed by another writer.") from error
            return reason

        return await self.call("feature update", run)

    def unclean_election_allowed(self, topic: str | None = None) -> None:
        """Elect missing leaders after a setting allowed it, for one topic or (None) by default."""

        async def elect() -> None:
            logger.info("unclean leader election is allowed now: %s", topic or "all topics without their own setting")
            await self._term.partitions.bring_online(topic)

        self._when_active("unclean leader election allowed", elect)

    async def call(self, name: str, handler: Callable[[], Awaitable[Result]]) -> Result:
        """Run ``handler`` as an event and return its result. Must not be called within an event."""
        if self._task is None:
            raise NotControllerError("The controller of this broker has stopped.")
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._pending_calls[result] = None
        result.add_done_callback(self._pending_calls.pop)

        async def run() -> None:
            try:
                value = await handler()
            except asyncio.CancelledError:
                result.cancel()
                raise
            except (AnotherControllerError, ConnectionLossError, SessionExpiredError) as error:
                if not result.done():
                    result.set_exception(NotControllerError(str(error)))
                raise
            except Exception as error:
                if not result.done():
                    result.set_exception(error)
            else:
                if not result.done():
                    result.set_result(value)

        self._post(name, run)
        return await result

    # -- the queue

    def _post(self, name: str, handler: Handler) -> None:
        self._events.append((name, handler, asyncio.get_running_loop().time()))
        self._event_waiting.set()

    def _when_active(self, name: str, handler: Handler) -> None:
        async def run() -> None:
            if self.is_active:
                await handler()

        self._post(name, run)

    def _post_of_term(self, term: ControllerTerm, name: str, handler: Handler) -> None:
        async def run() -> None:
            if self.is_active and self._term is term:
                await handler()

        self._post(name, run)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while self._events:
                name, handler, queued_s = self._events.popleft()
                self._busy = True
                began_s = loop.time()
                await self._handle(name, handler)
                self._busy = False
                self.times.waiting.add(began_s - queued_s)
                self.times.handled(name, loop.time() - began_s)
            self._event_waiting.clear()
            await self._event_waiting.wait()

    async def _handle(self, name: str, handler: Handler) -> None:
        try:
            await handler()
        except AnotherControllerError as error:
            logger.info("controller: another broker was elected (%s)", error)
            await self._resign_and_elect()
        except (MetadataStoreError, ZnodeDecodeError) as error:
            # The context may be behind the tree now: start over from the tree, with a new controller epoch.
            logger.error("controller: event '%s' failed, broker %d resigns: %s", name, self.broker_id, error)
            await self._step_down()
        except Exception as error:
            # A bug. The context may be wrong now, so no broker may be told about it.
            logger.exception("controller: event '%s' failed", name)
            self._term.discard_batch()
            self._fatal(error)

    def _on_session_event(self, event: SessionEvent) -> None:
        self._can_write = event in (SessionEvent.CONNECTED, SessionEvent.RENEWED)
        if event is SessionEvent.EXPIRED:
            self._has_session = False
            self.is_active = False  # at once, because /controller belongs, or will belong, to another broker
            self._post("session expired", self._resign)

    def stand_for_election(self) -> None:
        """Take part in elections again, after a registration in a new session (Kafka's RegisterBrokerAndReelect)."""
        self._has_session = True
        self._post("election", self._elect)

    # -- election

    async def _elect(self) -> None:
        if not self._has_session:
            return
        current = await self._tree.controller(self._on_controller_changed)
        if current is not None and current.session_id == self._tree.store.session_id and not self.is_active:
            # The response to an election was lost, or a resignation could not be written.
            await self._tree.withdraw(current)
            current = await self._tree.controller(self._on_controller_changed)
        if current is not None:
            return
        try:
            election = await self._tree.elect(ControllerInfo(self.broker_id, self._clock_ms()))
        except AnotherControllerError:
            return
        self._begin_term()
        self.context.epoch = election.epoch
        self.context.epoch_version = election.epoch_version
        self.is_active = True
        logger.info("broker %d is controller, controller epoch %d", self.broker_id, election.epoch)
        await self._term.take_over()

    def _on_controller_changed(self, _event: WatchEvent) -> None:
        self._post("controller changed", self._controller_changed)

    async def _controller_changed(self) -> None:
        if self.is_active:
            current = await self._tree.controller(self._on_controller_changed)
            if current is not None and current.session_id == self._tree.store.session_id:
                return
            await self._resign()
        await self._elect()

    async def _step_down(self) -> None:
        """Give up /controller, and stand for election again a little later."""
        version = self.context.epoch_version
        was_active = self.is_active
        await self._resign()
        if self._retry is not None:
            self._retry.cancel()
        self._retry = asyncio.get_running_loop().call_later(RETRY_SECONDS, self._post, "election", self._elect)
        # Without the session the call would wait; the node is withdrawn later, or ends with the session.
        if was_active and self._can_write:
            try:
                await self._tree.resign(version)
            except MetadataStoreError as error:
                logger.warning("controller: /controller stays until the session ends: %s", error)

    async def _resign_and_elect(self) -> None:
        await self._resign()
        self._post("election", self._elect)

    async def _resign(self) -> None:
        if self.is_active:
            logger.info("broker %d is no longer controller", self.broker_id)
        self.is_active = False
        await self._term.end()
        self._begin_term()

    def _begin_term(self) -> None:
        self._unclean_before = self.unclean_elections
        self._term = self._new_term()

    def _expect_broker(self, broker_id: int, broker_epoch: int) -> None:
        """Raises StaleBrokerEpochError unless the broker is registered with this epoch."""
        if not self.context.is_of_broker_epoch(broker_id, broker_epoch):
            raise StaleBrokerEpochError(f"Broker {broker_id} is not registered with broker epoch {broker_epoch}.")

    def _expect_active(self) -> None:
        if not self.is_active:
            raise NotControllerError("This broker is not the controller.")


async def _nothing() -> None:
    return None
