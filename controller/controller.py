"""The controller: one queue of events over what is known of the cluster (Kafka's KafkaController).

Every change comes as an event: a watch fired, a broker answered, someone asks for something. Events are handled one at
a time, in order; a handler awaits the metadata tree but never a broker, nor another event. So what a handler knows
does not change under it, except in the tree, where each of its writes is conditional on the controller epoch.

Every broker runs this; it acts only on the one that holds /controller.
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
from .election_request import ElectionRequest, outcome
from .isr_rules import IsrChange
from .leader_election import ElectionStrategy
from .producer_ids import ProducerIdBlocks, ProducerIdsExhaustedError
from .tree.cluster_tree import ClusterTree, ControllerMovedError
from .tree.leader_and_isr import LeaderAndIsr
from .tree.metadata_store import (
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
        self._events: deque[tuple[str, Handler]] = deque()
        self._asked: dict[asyncio.Future[Any], None] = {}
        """What `call` has not answered yet."""
        self._event_waiting = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._busy = False
        self._has_session = True
        self._can_write = True
        self._retry: asyncio.TimerHandle | None = None

        # While controller
        self.active_controller_id = -1
        self.is_active = False
        self._term = self._new_term()

    @property
    def context(self) -> ControllerContext:
        """What is known of the cluster; nothing when another broker is controller."""
        return self._term.context

    # -- life

    async def start(self) -> None:
        """Take part in the election; returns when there is a controller, and, if it is this broker, when it has taken
        the roles that it gave itself. Others are not waited for: one that is gone or out of reach, and is registered
        yet, is to keep this one from nothing. When the connection to the metadata store breaks meanwhile, it returns
        earlier, and the election is held again by itself."""
        self._tree.store.on_session_event(self._on_session_event)
        self._task = asyncio.get_running_loop().create_task(self._run(), name="controller")
        with suppress(NotControllerError):
            await self.call("election", self._elect)
        await self._drained(self.broker_id)

    async def stop(self) -> None:
        """Stop acting as controller, and leave /controller if we have it."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self._events.clear()
        for result in list(self._asked):
            result.set_exception(NotControllerError("This broker is stopping."))
        await self._step_down()
        if self._retry is not None:
            self._retry.cancel()

    def kill(self) -> None:
        """End as a crash does: /controller stays, nobody is told."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        if self._retry is not None:
            self._retry.cancel()
        self._events.clear()
        self.is_active = False
        self._term.kill()

    async def drained(self) -> None:
        """Wait until the events and broker requests at hand are done. For tests."""
        await self._drained(None)

    async def _drained(self, broker_id: int | None) -> None:
        """Of the requests those to one broker, or to all."""
        while True:
            await self.call("barrier", _nothing)
            requests = self._term.requests
            if not self._events and not self._busy and requests.are_answered(broker_id):
                return
            await requests.drained(broker_id)

    # -- what others may ask

    def is_queued_for_deletion(self, topic: str) -> bool:
        return self.is_active and self.context.is_queued_for_deletion(topic)

    def is_being_deleted(self, topic: str) -> bool:
        """As `is_queued_for_deletion`, but not when that waits for a broker to come back."""
        return self.is_queued_for_deletion(topic) and topic not in self.context.topics_ineligible_for_deletion

    async def caught_up(self) -> None:
        """Wait until what is queued now is done. Whoever was just elected does not know the cluster before that, and
        says so by nothing else. NotControllerError."""
        await self.call("barrier", _nothing)

    def topic_name(self, topic_id: UUID) -> str | None:
        return self.context.topic_name(topic_id)

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[TopicPartition]:
        """Move leaderships away from a broker about to stop; gives the partitions it still leads that another could.
        NotControllerError; StaleBrokerEpochError and BrokerNotAvailableError as Kafka's; RequestTimedOutError, at
        once, while the metadata store is away: nothing can be elected."""

        async def shut_down() -> list[TopicPartition]:
            self._expect_active()
            if broker_id not in self.context.live_or_shutting_down_ids:
                raise BrokerNotAvailableError(f"Broker id {broker_id} does not exist.")
            if broker_epoch != -1 and broker_epoch < self.context.broker_epoch(broker_id):
                raise StaleBrokerEpochError(f"broker epoch {broker_epoch} of broker {broker_id} is over")
            return await self._term.brokers.controlled_shutdown(broker_id)

        if self.is_active and not self._can_write:
            raise RequestTimedOutError("The metadata store is away, no leader can be elected now.")
        return await self.call("controlled shutdown", shut_down)

    async def elect_leaders(
        self, partitions: Iterable[TopicPartition], strategy: ElectionStrategy
    ) -> dict[TopicPartition, int | KafkaError]:
        """Elect leaders on demand, PREFERRED or UNCLEAN. Gives the leader that each got, or why there was no election.
        NotControllerError."""

        async def elect() -> dict[TopicPartition, int | KafkaError]:
            self._expect_active()
            request = ElectionRequest.of(self.context, partitions, strategy)
            await self._term.partitions.move_online(request.electable, strategy)
            elected = {partition: outcome(self.context, partition, strategy) for partition in request.electable}
            return elected | request.refused

        return await self.call("leader election", elect)

    async def reassign(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Begin to move partitions to other replicas; None: back to where they were. Gives an error where it was
        refused. NotControllerError."""

        async def begin() -> dict[TopicPartition, KafkaError | None]:
            self._expect_active()
            return await self._term.reassignments.begin(targets)

        return await self.call("reassignment", begin)

    async def reassignments(
        self, partitions: Iterable[TopicPartition] | None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """The reassignments under way: all, or those of ``partitions``. NotControllerError."""

        async def look_up() -> dict[TopicPartition, ReplicaAssignment]:
            self._expect_active()
            asked = self.context.partitions_being_reassigned if partitions is None else partitions
            found = {partition: self.context.assignment(partition) for partition in asked}
            return {partition: assignment for partition, assignment in found.items() if assignment.is_being_reassigned}

        return await self.call("reassignments", look_up)

    async def alter_partitions(
        self, broker_id: int, broker_epoch: int, changes: Mapping[TopicPartition, IsrChange]
    ) -> dict[TopicPartition, LeaderAndIsr | KafkaError]:
        """What broker ``broker_id`` wants to change of partitions it leads (AlterPartition). Gives by partition the
        state that holds now, with its new partition epoch, or one of `isr_change.decide`'s errors.
        NotControllerError; StaleBrokerEpochError: the broker is not registered, or under another epoch."""

        async def alter() -> dict[TopicPartition, LeaderAndIsr | KafkaError]:
            self._expect_active()
            self._expect_broker(broker_id, broker_epoch)
            return await self._term.alter_partition.alter(broker_id, changes)

        return await self.call("ISR changes", alter)

    async def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> ProducerIdBlock:
        """A block of producer ids that nobody had before (AllocateProducerIds). NotControllerError;
        BrokerIdNotRegisteredError; StaleBrokerEpochError; UnknownServerError: none are left."""

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

    def unclean_election_allowed(self, topic: str | None = None) -> None:
        """Settings allow it from now on, for one topic or (None) by default: elect leaders where there is none."""

        async def elect() -> None:
            logger.info("unclean leader election is allowed now: %s", topic or "all topics that do not say otherwise")
            await self._term.partitions.bring_online(topic)

        self._when_active("unclean leader election allowed", elect)

    async def call(self, name: str, handler: Callable[[], Awaitable[Result]]) -> Result:
        """Run ``handler`` as an event and give its result. Never from within an event."""
        if self._task is None:
            raise NotControllerError("This broker's controller has ended.")
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._asked[result] = None
        result.add_done_callback(self._asked.pop)

        async def run() -> None:
            try:
                value = await handler()
            except asyncio.CancelledError:
                result.cancel()
                raise
            except (ControllerMovedError, ConnectionLossError, SessionExpiredError) as error:
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
        self._events.append((name, handler))
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
        while True:
            while self._events:
                name, handler = self._events.popleft()
                self._busy = True
                await self._handle(name, handler)
                self._busy = False
            self._event_waiting.clear()
            await self._event_waiting.wait()

    async def _handle(self, name: str, handler: Handler) -> None:
        try:
            await handler()
        except ControllerMovedError as error:
            logger.info("controller: another broker was elected (%s)", error)
            await self._resign_and_elect()
        except (MetadataStoreError, ZnodeDecodeError) as error:
            # The context may be behind the tree now. Start over from the tree, with a new controller epoch.
            logger.error("controller: event '%s' failed, broker %d resigns: %s", name, self.broker_id, error)
            await self._step_down()
        except Exception as error:
            # Our own bug. What is known of the cluster may be wrong now: nobody may be told of it.
            logger.exception("controller: event '%s' failed", name)
            self._term.discard_batch()
            self._fatal(error)

    def _on_session_event(self, event: SessionEvent) -> None:
        self._can_write = event in (SessionEvent.CONNECTED, SessionEvent.RENEWED)
        if event is SessionEvent.EXPIRED:
            self._has_session = False
            self.is_active = False  # whatever stands in the queue: /controller is or will be another's
            self._post("session expired", self._resign)

    def stand_for_election(self) -> None:
        """This broker is registered again, in a new session (Kafka's RegisterBrokerAndReelect): take part again."""
        self._has_session = True
        self._post("election", self._elect)

    # -- election

    async def _elect(self) -> None:
        if not self._has_session:
            return
        current = await self._tree.controller(self._on_controller_changed)
        if current is not None and current.session_id == self._tree.store.session_id and not self.is_active:
            # An election of which the answer was lost, or a resignation that could not be written.
            await self._tree.withdraw(current)
            current = await self._tree.controller(self._on_controller_changed)
        if current is not None:
            self.active_controller_id = current.info.broker_id
            return
        try:
            election = await self._tree.elect(ControllerInfo(self.broker_id, self._clock_ms()))
        except ControllerMovedError:
            current = await self._tree.controller()
            self.active_controller_id = current.info.broker_id if current else -1
            return
        self._term = self._new_term()
        self.context.epoch = election.epoch
        self.context.epoch_version = election.epoch_version
        self.active_controller_id = self.broker_id
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
        """Leave /controller to whoever is able, and stand for election again a little later."""
        version = self.context.epoch_version
        was_active = self.is_active
        await self._resign()
        if self._retry is not None:
            self._retry.cancel()
        self._retry = asyncio.get_running_loop().call_later(RETRY_SECONDS, self._post, "election", self._elect)
        if was_active and self._can_write:  # else it would wait; what stays is withdrawn, or goes with the session
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
        self.active_controller_id = -1
        await self._term.end()
        self._term = self._new_term()

    def _expect_broker(self, broker_id: int, broker_epoch: int) -> None:
        """One that is up, in this very life."""
        if not self.context.is_of_broker_epoch(broker_id, broker_epoch):
            raise StaleBrokerEpochError(f"Broker {broker_id} is not registered with broker epoch {broker_epoch}.")

    def _expect_active(self) -> None:
        if not self.is_active:
            raise NotControllerError("This broker is not the controller.")


async def _nothing() -> None:
    return None
