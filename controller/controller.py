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
from functools import partial
from random import Random
from typing import TypeVar
from uuid import UUID

from ..protocol.errors import BrokerNotAvailableError, ErrorCode, KafkaError, NotControllerError, StaleBrokerEpochError
from ..protocol.messages.leader_and_isr import LeaderAndIsrResponse
from ..protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from ..protocol.messages.update_metadata import UpdateMetadataResponse
from ..storage.topic_partition import TopicPartition
from . import znodes
from .broker_channel import BrokerChannel, BrokerQueue, ControlRequest, ControlResponse
from .cluster_tree import ClusterTree, ControllerMovedError
from .context import ControllerContext
from .election_request import ElectionRequest, outcome
from .leader_election import ElectionStrategy
from .metadata_store import EventType, MetadataStoreError, NodeExistsError, SessionEvent, WatchEvent
from .partition_state_machine import PartitionStateMachine
from .reassignment import refusal
from .replica_assignment import ReplicaAssignment
from .replica_state_machine import ReplicaStateMachine
from .request_batch import RequestBatch
from .state_tables import PartitionReplica, PartitionState
from .topic_deletion import TopicDeletion
from .topic_ids import new_topic_id
from .znodes import BrokerInfo, ControllerInfo, Features, FeatureStatus, TopicInfo, ZnodeDecodeError

__all__ = ["Controller"]

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
Handler = Callable[[], Awaitable[object]]

RETRY_SECONDS = 1.0
_UNWATCHED = object()


class Controller:
    """``channel_to`` makes the channel to a broker. ``fatal`` is called when the controller cannot go on: with the
    embedded store there is no other broker to take over. ``on_deletion_settled`` hears of each topic
    whose deletion is done, nodes and all, or has to wait for a broker."""

    def __init__(
        self,
        *,
        broker_id: int,
        tree: ClusterTree,
        channel_to: Callable[[BrokerInfo], BrokerChannel],
        inter_broker_listener: str,
        unclean_by_default: Callable[[], bool],
        delete_topic_enable: bool,
        clock_ms: Callable[[], int],
        random: Random,
        fatal: Callable[[Exception], None],
        on_deletion_settled: Callable[[str], None] = lambda _topic: None,
    ) -> None:
        # Fixed
        self.broker_id = broker_id
        self._tree = tree
        self._channel_to = channel_to
        self._inter_broker_listener = inter_broker_listener
        self._unclean_by_default = unclean_by_default
        self._delete_topic_enable = delete_topic_enable
        self._clock_ms = clock_ms
        self._random = random
        self._fatal = fatal
        self._on_deletion_settled = on_deletion_settled

        # The queue
        self._events: deque[tuple[str, Handler]] = deque()
        self._event_waiting = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._busy = False
        self._retry: asyncio.TimerHandle | None = None

        # While controller
        self.active_controller_id = -1
        self.is_active = False
        self._queues: dict[int, BrokerQueue] = {}
        self._watched_topics: dict[str, object] = {}
        self._watched_brokers: dict[int, object] = {}
        self._reset()

    def _reset(self) -> None:
        self.context = ControllerContext()
        self._batch = RequestBatch(self.context, self.broker_id, self._inter_broker_listener)
        self._partitions = PartitionStateMachine(
            self.context, self._tree, self._batch, self._flush, self._allows_unclean
        )
        self._replicas = ReplicaStateMachine(self.context, self._tree, self._batch, self._flush)
        self._deletion = TopicDeletion(
            self.context,
            self._tree,
            self._batch,
            self._flush,
            self._partitions,
            self._replicas,
            enabled=self._delete_topic_enable,
            on_settled=self._on_deletion_settled,
        )
        self._watched_topics.clear()
        self._watched_brokers.clear()

    # -- life

    async def start(self) -> None:
        """Take part in the election; returns when there is a controller, and, if it is this broker, when all that
        brokers had to be told at its start was answered."""
        self._tree.store.on_session_event(self._on_session_event)
        self._task = asyncio.get_running_loop().create_task(self._run(), name="controller")
        await self.call("election", self._elect)
        await self.drained()

    async def stop(self) -> None:
        """Stop acting as controller, and leave /controller if we have it."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self._events.clear()
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
        for queue in self._queues.values():
            queue.kill()

    async def drained(self) -> None:
        """Wait until the events and broker requests at hand are done. For the start, and for tests."""
        while True:
            await self.call("barrier", _nothing)
            if not self._events and not self._busy and all(queue.is_idle for queue in self._queues.values()):
                return
            for queue in list(self._queues.values()):
                await queue.drained()

    # -- what others may ask

    def is_queued_for_deletion(self, topic: str) -> bool:
        return self.is_active and self.context.is_queued_for_deletion(topic)

    def is_being_deleted(self, topic: str) -> bool:
        """As `is_queued_for_deletion`, but not when that waits for a broker to come back."""
        return self.is_queued_for_deletion(topic) and topic not in self.context.topics_ineligible_for_deletion

    def topic_name(self, topic_id: UUID) -> str | None:
        return self.context.topic_name(topic_id)

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[TopicPartition]:
        """Move leaderships away from a broker about to stop; gives the partitions it still leads that another could.
        NotControllerError; StaleBrokerEpochError and BrokerNotAvailableError as Kafka's."""

        async def shut_down() -> list[TopicPartition]:
            self._expect_active()
            if broker_id not in self.context.live_or_shutting_down_ids:
                raise BrokerNotAvailableError(f"Broker id {broker_id} does not exist.")
            if broker_epoch != -1 and broker_epoch < self.context.broker_epoch(broker_id):
                raise StaleBrokerEpochError(f"broker epoch {broker_epoch} of broker {broker_id} is over")
            return await self._controlled_shutdown(broker_id)

        return await self.call("controlled shutdown", shut_down)

    async def elect_leaders(
        self, partitions: Iterable[TopicPartition], strategy: ElectionStrategy
    ) -> dict[TopicPartition, int | KafkaError]:
        """Elect leaders on demand, PREFERRED or UNCLEAN. Gives the leader that each got, or why there was no election.
        NotControllerError."""

        async def elect() -> dict[TopicPartition, int | KafkaError]:
            self._expect_active()
            request = ElectionRequest.of(self.context, partitions, strategy)
            await self._partitions.move_online(request.electable, strategy)
            elected = {partition: outcome(self.context, partition, strategy) for partition in request.electable}
            return elected | request.refused

        return await self.call("leader election", elect)

    async def reassign(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Move partitions to other replicas; None: back to where they were. Gives an error where it was refused.
        NotControllerError."""

        async def answer() -> dict[TopicPartition, KafkaError | None]:
            self._expect_active()
            return {partition: refusal(self.context, partition, target) for partition, target in targets.items()}

        return await self.call("reassignment", answer)

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

    def unclean_election_allowed(self, topic: str | None = None) -> None:
        """Settings allow it from now on, for one topic or (None) by default: elect leaders where there is none."""

        async def elect() -> None:
            logger.info("unclean leader election is allowed now: %s", topic or "all topics that do not say otherwise")
            await self._partitions.bring_online(topic)

        self._when_active("unclean leader election allowed", elect)

    async def call(self, name: str, handler: Callable[[], Awaitable[Result]]) -> Result:
        """Run ``handler`` as an event and give its result. Never from within an event."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            try:
                value = await handler()
            except asyncio.CancelledError:
                result.cancel()
                raise
            except ControllerMovedError as error:
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
            self._batch.take()
            self._fatal(error)

    def _on_session_event(self, event: SessionEvent) -> None:
        if event is SessionEvent.EXPIRED:
            self._post("session expired", self._resign)

    # -- election

    async def _elect(self) -> None:
        current = await self._tree.controller(self._on_controller_changed)
        if current is not None:
            self.active_controller_id = current[0].broker_id
            return
        try:
            election = await self._tree.elect(ControllerInfo(self.broker_id, self._clock_ms()))
        except ControllerMovedError:
            current = await self._tree.controller()
            self.active_controller_id = current[0].broker_id if current else -1
            return
        self._reset()
        self.context.epoch = election.epoch
        self.context.epoch_version = election.epoch_version
        self.active_controller_id = self.broker_id
        self.is_active = True
        logger.info("broker %d is controller, controller epoch %d", self.broker_id, election.epoch)
        await self._take_over()

    def _on_controller_changed(self, _event: WatchEvent) -> None:
        self._post("controller changed", self._controller_changed)

    async def _controller_changed(self) -> None:
        if self.is_active:
            current = await self._tree.controller(self._on_controller_changed)
            if current is not None and current[0].broker_id == self.broker_id:
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
        if was_active:
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
        queues, self._queues = self._queues, {}
        for queue in queues.values():
            await queue.close()
        self._reset()

    async def _take_over(self) -> None:
        """Read the tree, watch it, tell the brokers, go on with what an earlier controller left."""
        await self._enable_features()
        brokers = await self._tree.brokers(self._on_brokers_changed)
        for info, broker_epoch in brokers.values():
            self._add_broker(info, broker_epoch)
        await self._watch_brokers(brokers)
        await self._load_topics(await self._tree.topics(self._on_topics_changed))
        states = await self._tree.partition_states(self.context.all_partitions)
        for partition, leadership in states.items():
            self.context.put_leadership(partition, leadership)
        await self._deletion.start(await self._tree.topics_to_delete(self._on_deletions_changed))
        # Brokers must know each other before they are told whom to follow.
        self._tell_everyone(())
        # Of partitions with a live replica they hear with its role.
        leaderless = [p for p in self.context.partitions_with_leaders if self._has_no_live_replica(p)]
        if leaderless:
            self._batch.add_update_metadata(self.context.live_or_shutting_down_ids, leaderless)
        self._replicas.start()
        await self._partitions.start()
        await self._deletion.resume()

    def _has_no_live_replica(self, partition: TopicPartition) -> bool:
        replicas = self.context.assignment(partition).replicas
        return not any(self.context.is_replica_online(broker_id, partition) for broker_id in replicas)

    async def _enable_features(self) -> None:
        wanted = Features(status=FeatureStatus.ENABLED)
        try:
            await self._tree.store.create(znodes.FEATURE_PATH, wanted.encode())
        except NodeExistsError:
            data, stat = await self._tree.store.get(znodes.FEATURE_PATH)
            current = Features.decode(data)
            kept = Features(current.levels if current.status is FeatureStatus.ENABLED else {})
            if kept != current:
                await self._tree.store.set(znodes.FEATURE_PATH, kept.encode(), stat.version)

    # -- brokers

    def _on_brokers_changed(self, _event: WatchEvent) -> None:
        self._when_active("brokers changed", self._brokers_changed)

    async def _brokers_changed(self) -> None:
        current = await self._tree.brokers(self._on_brokers_changed)
        known = self.context.live_or_shutting_down_ids
        new = [b for b in current if b not in known]
        dead = [b for b in known if b not in current]
        bounced = [b for b in known if b in current and current[b][1] > self.context.broker_epoch(b)]
        if not (new or dead or bounced):
            return
        logger.info("brokers: new %s, gone %s, restarted %s, live %s", new, dead, bounced, sorted(current))
        if new:
            await self._brokers_started({b: current[b] for b in new})
        if bounced:
            await self._brokers_failed(bounced)
            await self._brokers_started({b: current[b] for b in bounced})
        if dead:
            await self._brokers_failed(dead)

    async def _brokers_started(self, brokers: Mapping[int, tuple[BrokerInfo, int]]) -> None:
        existing = self.context.live_or_shutting_down_ids
        for info, broker_epoch in brokers.values():
            self.context.offline_dir_replicas.pop(info.broker_id, None)
            self._add_broker(info, broker_epoch)
        self._batch.add_update_metadata(existing, ())
        self._flush()
        self._batch.add_update_metadata(brokers, self.context.partitions_with_leaders)
        self._flush()
        replicas = self.context.replicas_on(brokers)
        self._replicas.move_online(r for r in replicas if not self.context.is_queued_for_deletion(r.topic))
        await self._partitions.bring_online()
        await self._deletion.resume_for(dict.fromkeys(replica.topic for replica in replicas))
        await self._watch_brokers(brokers)

    async def _brokers_failed(self, broker_ids: Iterable[int]) -> None:
        for broker_id in broker_ids:
            self.context.offline_dir_replicas.pop(broker_id, None)
            self.context.shutting_down.pop(broker_id, None)
            self.context.remove_broker(broker_id)
            queue = self._queues.pop(broker_id, None)
            if queue is not None:
                await queue.close()
        await self._replicas_offline(self.context.replicas_on(broker_ids))

    async def _replicas_offline(self, replicas: Iterable[PartitionReplica]) -> None:
        """Their broker or log directory failed: elect other leaders, shrink ISRs."""
        replicas = list(replicas)
        self._partitions.move(self.context.partitions_with_offline_leader, PartitionState.OFFLINE)
        elected = await self._partitions.bring_online()
        kept = [replica for replica in replicas if not self.context.is_queued_for_deletion(replica.topic)]
        await self._replicas.move_offline(kept)
        await self._deletion.fail(replicas)
        if not kept and not elected:
            self._tell_everyone(())

    def _add_broker(self, info: BrokerInfo, broker_epoch: int) -> None:
        self.context.put_broker(info, broker_epoch)
        self._queues[info.broker_id] = BrokerQueue(info.broker_id, self._channel_to(info), self._on_send_failure)

    async def _watch_brokers(self, broker_ids: Iterable[int]) -> None:
        for broker_id in broker_ids:
            if broker_id not in self._watched_brokers:
                self._watched_brokers[broker_id] = None
                await self._tree.broker(broker_id, partial(self._on_broker_changed, broker_id))

    def _on_broker_changed(self, broker_id: int, event: WatchEvent) -> None:
        if self._watched_brokers.pop(broker_id, _UNWATCHED) is _UNWATCHED:
            return  # one of an earlier term as controller
        if event.type is EventType.DELETED:
            return  # the watch on all brokers tells
        self._when_active("broker changed", partial(self._broker_changed, broker_id))

    async def _broker_changed(self, broker_id: int) -> None:
        """Its listeners or features changed while it is up."""
        self._watched_brokers[broker_id] = None
        current = await self._tree.broker(broker_id, partial(self._on_broker_changed, broker_id))
        known = self.context.broker(broker_id)
        if current is None or known is None or current[0] == known:
            return
        self.context.put_broker(current[0], self.context.broker_epoch(broker_id))
        self._tell_everyone(())

    async def _controlled_shutdown(self, broker_id: int) -> list[TopicPartition]:
        logger.info("broker %d is shutting down", broker_id)
        self.context.shutting_down[broker_id] = None
        led: list[TopicPartition] = []
        followed: list[TopicPartition] = []
        for replica in self.context.replicas_on([broker_id]):
            partition = replica.partition
            leadership = self.context.leadership(partition)
            if (
                leadership is None
                or len(self.context.assignment(partition).replicas) < 2
                or self.context.is_queued_for_deletion(partition.topic)
            ):
                continue
            (led if leadership.leader_and_isr.leader == broker_id else followed).append(partition)
        await self._partitions.move_online(led, ElectionStrategy.CONTROLLED_SHUTDOWN)
        for partition in followed:
            self._batch.add_stop_replica([broker_id], partition, delete=False)
        self._flush()
        await self._replicas.move_offline(PartitionReplica(partition, broker_id) for partition in followed)
        return self.context.partitions_led_by(broker_id)

    # -- topics

    def _on_topics_changed(self, _event: WatchEvent) -> None:
        self._when_active("topics changed", self._topics_changed)

    async def _topics_changed(self) -> None:
        present = await self._tree.topics(self._on_topics_changed)
        gone = [topic for topic in self.context.topics if topic not in set(present)]
        for topic in gone:
            self.context.remove_topic(topic)
        new = await self._load_topics([topic for topic in present if not self.context.has_topic(topic)])
        if new:
            logger.info("new topics: %s", ", ".join(info.topic for info in new))
            await self._create_partitions([p for info in new for p in self.context.partitions_of(info.topic)])

    async def _load_topics(self, topics: Iterable[str]) -> list[TopicInfo]:
        """Read topics into the context and watch them; give an id to those that have none."""
        wanted = list(topics)
        watches = {}
        for topic in wanted:
            if topic not in self._watched_topics:
                self._watched_topics[topic] = None
                watches[topic] = partial(self._on_topic_changed, topic)
        infos = []
        for info in await self._tree.topic_infos(wanted, watches):
            if info.topic_id is None:
                info = TopicInfo(info.topic, new_topic_id(self._random), info.partitions)
                await self._tree.set_assignments(info, self.context.epoch_version)
            self.context.put_topic(info.topic, info.topic_id, info.partitions)
            for index, assignment in info.partitions.items():
                if assignment.is_being_reassigned:
                    self.context.partitions_being_reassigned[TopicPartition(info.topic, index)] = None
            infos.append(info)
        return infos

    def _on_topic_changed(self, topic: str, _event: WatchEvent) -> None:
        if self._watched_topics.pop(topic, _UNWATCHED) is _UNWATCHED:
            return  # one of an earlier term as controller
        self._when_active("topic changed", partial(self._topic_changed, topic))

    async def _topic_changed(self, topic: str) -> None:
        """Its partitions may have become more."""
        watches = {}
        if self.context.has_topic(topic):
            self._watched_topics[topic] = None
            watches[topic] = partial(self._on_topic_changed, topic)
        for info in await self._tree.topic_infos([topic], watches):
            known = self.context.topic_assignments(topic)
            added = {index: a for index, a in info.partitions.items() if index not in known}
            if not added or not known:
                continue
            if self.context.is_queued_for_deletion(topic):
                logger.warning("topic %s is being deleted: partitions %s are not added", topic, sorted(added))
                kept = TopicInfo(topic, info.topic_id, {i: a for i, a in info.partitions.items() if i in known})
                await self._tree.set_assignments(kept, self.context.epoch_version)
                continue
            logger.info("topic %s has new partitions: %s", topic, sorted(added))
            for index, assignment in added.items():
                self.context.put_assignment(TopicPartition(topic, index), assignment)
            await self._create_partitions([TopicPartition(topic, index) for index in added])

    async def _create_partitions(self, partitions: list[TopicPartition]) -> None:
        self._partitions.move(partitions, PartitionState.NEW)
        replicas = self.context.replicas_of(partitions)
        self._replicas.move_new(replicas)
        await self._partitions.move_online(partitions, ElectionStrategy.OFFLINE)
        self._replicas.move_online(replicas)

    def _on_deletions_changed(self, _event: WatchEvent) -> None:
        self._when_active("topic deletions changed", self._deletions_changed)

    async def _deletions_changed(self) -> None:
        marked = await self._tree.topics_to_delete(self._on_deletions_changed)
        unknown = [topic for topic in marked if not self.context.has_topic(topic)]
        if unknown:
            logger.warning("topics %s are to be deleted but do not exist", ", ".join(unknown))
            await self._tree.unmark_for_deletion(unknown, self.context.epoch_version)
        await self._deletion.enqueue(topic for topic in marked if self.context.has_topic(topic))

    async def _allows_unclean(self, topics: Iterable[str]) -> Mapping[str, bool]:
        allowed = {}
        for topic in topics:
            setting = (await self._tree.config("topics", topic)).get("unclean.leader.election.enable")
            allowed[topic] = self._unclean_by_default() if setting is None else setting.strip().lower() == "true"
        return allowed

    # -- telling brokers

    def _tell_everyone(self, partitions: Iterable[TopicPartition]) -> None:
        self._batch.add_update_metadata(self.context.live_or_shutting_down_ids, partitions)
        self._flush()

    def _flush(self) -> None:
        for broker_id, request in self._batch.take():
            self._queues[broker_id].put(request, partial(self._on_response, broker_id, request))

    def _on_send_failure(self, broker_id: int, request: ControlRequest, error: Exception) -> None:
        logger.error("controller: %s to broker %d failed", type(request).__name__, broker_id, exc_info=error)
        if isinstance(request, StopReplicaRequest):
            response = StopReplicaResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
            self._on_response(broker_id, request, response)

    def _on_response(self, broker_id: int, request: ControlRequest, response: ControlResponse) -> None:
        epoch = self.context.epoch
        match response:
            case LeaderAndIsrResponse():
                handler: Handler = partial(self._leader_and_isr_answered, broker_id, response)
            case StopReplicaResponse():
                assert isinstance(request, StopReplicaRequest)
                handler = partial(self._stop_replica_answered, broker_id, request, response)
            case UpdateMetadataResponse():
                if response.error_code != ErrorCode.NONE:
                    logger.error("broker %d refused metadata: error %d", broker_id, response.error_code)
                return

        async def run() -> None:
            if self.context.epoch == epoch:
                await handler()

        self._when_active(f"{type(response).__name__} of broker {broker_id}", run)

    async def _leader_and_isr_answered(self, broker_id: int, response: LeaderAndIsrResponse) -> None:
        if response.error_code != ErrorCode.NONE:
            logger.error("broker %d refused LeaderAndIsr: error %d", broker_id, response.error_code)
            return
        before = self.context.offline_dir_replicas.get(broker_id, set())
        offline = set(before)
        newly_offline: list[TopicPartition] = []
        for partition, error_code in self._partition_errors(response):
            if error_code == ErrorCode.KAFKA_STORAGE_ERROR:
                if partition not in offline:
                    newly_offline.append(partition)
                offline.add(partition)
            elif error_code == ErrorCode.NONE:
                offline.discard(partition)
            else:
                logger.error("broker %d could not take its role in %s: error %d", broker_id, partition, error_code)
        self.context.offline_dir_replicas[broker_id] = offline
        if newly_offline:
            logger.warning("broker %d has %d replicas in failed log directories", broker_id, len(newly_offline))
            await self._replicas_offline(PartitionReplica(partition, broker_id) for partition in newly_offline)

    def _partition_errors(self, response: LeaderAndIsrResponse) -> Iterable[tuple[TopicPartition, int]]:
        for topic in response.topics:
            name = self.context.topic_name(topic.topic_id)
            if name is not None:
                for error in topic.partition_errors:
                    yield TopicPartition(name, error.partition_index), error.error_code
        for error in response.partition_errors:
            yield TopicPartition(error.topic_name, error.partition_index), error.error_code

    async def _stop_replica_answered(
        self, broker_id: int, request: StopReplicaRequest, response: StopReplicaResponse
    ) -> None:
        errors = {
            TopicPartition(error.topic_name, error.partition_index): error.error_code
            for error in response.partition_errors
        }
        deleted: list[PartitionReplica] = []
        failed: list[PartitionReplica] = []
        for topic in request.topic_states:
            for state in topic.partition_states:
                if not state.delete_partition or not self.context.is_queued_for_deletion(topic.topic_name):
                    continue
                replica = PartitionReplica(TopicPartition(topic.topic_name, state.partition_index), broker_id)
                error_code = response.error_code or errors.get(replica.partition, ErrorCode.NONE)
                (deleted if error_code == ErrorCode.NONE else failed).append(replica)
        if failed:
            logger.error("broker %d could not delete %s", broker_id, [str(r.partition) for r in failed])
            await self._deletion.fail(failed)
        if deleted:
            await self._deletion.complete(deleted)

    def _expect_active(self) -> None:
        if not self.is_active:
            raise NotControllerError("This broker is not the controller.")


async def _nothing() -> None:
    return None
