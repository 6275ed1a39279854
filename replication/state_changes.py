"""Carries out the controller's orders (LeaderAndIsr, StopReplica): which replicas are here, which lead, which go.

One order at a time. Creating logs and writing leader epochs touches files, so it happens in the worker pool and on the
logs' strands. Roles change on the event loop, at once for each partition:

    to lead:    log exists ► fence and epoch start on the strand ► leader, with the LEO of the strand ► the appends that
                clients have sent meanwhile
    to follow:  follower at once, waiting requests fail ► fence on the strand ► fetch
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from ..base.topic_partition import TopicPartition
from ..config.topic_config import TopicConfig
from ..protocol.errors import (
    ControllerMovedError,
    ErrorCode,
    FencedLeaderEpochError,
    InconsistentTopicIdError,
    KafkaError,
    KafkaStorageError,
    UnknownTopicOrPartitionError,
)
from ..protocol.sentinels import EPOCH_DURING_DELETE, NO_LEADER, NO_LEADER_EPOCH
from ..storage.errors import NoSpaceError
from ..storage.log.log import Log
from ..storage.store.log_store import LogStore
from .full_directories import FullDirectories
from .leader.replication_throttle import is_named
from .partition.hosted_partition import HostedPartition, settle
from .partition.partition import Partition
from .partition.partition_state import PartitionState
from .partition_set import PartitionSet

__all__ = ["Leadership", "LeadershipListener", "ReplicaStop", "StateChanges"]

logger = logging.getLogger(__name__)

_NAMED_IN_A_LINE = 3


class Leadership(NamedTuple):
    """A partition, and the leader epoch in which its leadership began or ended here."""

    topic_partition: TopicPartition
    leader_epoch: int


class ReplicaStop(NamedTuple):
    """An order to stop a replica, and to delete its log."""

    topic_partition: TopicPartition
    leader_epoch: int
    delete: bool


LeadershipListener = Callable[[Sequence[Leadership], Sequence[Leadership]], None]
"""``(elected, resigned)``: coordinators load and unload what the partitions hold. A partition that resigned because its
topic is deleted has EPOCH_DURING_DELETE: a later topic of that name counts its leader epochs anew."""


class Following(Protocol):
    """The part of `ReplicaFetchers` that is used here."""

    def follow(self, hosted: HostedPartition, leader_id: int) -> None: ...
    def unfollow(self, topic_partition: TopicPartition) -> None: ...
    def topic_id_assigned(self, topic_partition: TopicPartition) -> None: ...
    def end_idle(self) -> None: ...


class StateChanges:
    """Carries out the controller's orders on ``partitions``. Its methods are called on the event loop.

    ``fetchers`` keep the followed partitions a copy of their leaders'; None: there are no other brokers.
    """

    def __init__(
        self,
        broker_id: int,
        partitions: PartitionSet,
        logs: LogStore,
        *,
        topic_settings: Callable[[str], TopicConfig],
        is_alive: Callable[[int], bool],
        isr_of: Callable[[TopicPartition], Iterable[int]],
        replica_lag_time_max_ms: int,
        run_in_pool: Callable[[Callable[[], Any]], Awaitable[Any]],
        fetchers: Following | None = None,
    ) -> None:
        self._broker_id = broker_id
        self._fetchers = fetchers
        self._partitions = partitions
        self._logs = logs
        self._topic_settings = topic_settings
        self._is_alive = is_alive
        self._lag_max_ms = replica_lag_time_max_ms
        self._run_in_pool = run_in_pool
        self._one_at_a_time = asyncio.Lock()
        self._listeners: list[LeadershipListener] = []
        self._checkpointed: dict[TopicPartition, int] = {}
        self._wanting_space: dict[TopicPartition, PartitionState] = {}
        self._epochs_unwritten: dict[TopicPartition, HostedPartition] = {}
        self.full_directories = FullDirectories(
            broker_id, partitions, logs, is_alive=is_alive, isr_of=isr_of, run_in_pool=run_in_pool
        )
        self.controller_epoch = -1
        partitions.suspension.on_change(self._suspension_changed)

    def on_leadership(self, listener: LeadershipListener) -> None:
        """Call ``listener`` with each leadership that begins or ends here, in the same iteration of the loop. So no
        request is answered under a leadership that is over, however long the rest of the order takes."""
        self._listeners.append(listener)

    async def load_high_watermarks(self) -> None:
        """Read the checkpoints of the last run; call it before the first order."""
        self._checkpointed = dict(await self._run_in_pool(self._logs.read_high_watermarks))

    # -- LeaderAndIsr -------------------------------------------------------------------------------------------------

    async def become_leader_or_follower(
        self, states: Sequence[PartitionState], controller_epoch: int
    ) -> dict[TopicPartition, ErrorCode]:
        """Take the roles that the controller gives; a code for each partition, NONE also where nothing is new.

        A replica in a full log directory is KAFKA_STORAGE_ERROR if another broker can take its place: the controller
        then treats it as lost until it asks again (see `FullDirectories`). Otherwise a log for which the disk has no
        space is LEADER_NOT_AVAILABLE, and is created later, see `retry_for_space`. When the log exists but the start of
        the leader epoch cannot be written, the partition is led and refuses appends until it can.

        Raises ControllerMovedError when an older controller than the last one sent the order.
        """
        async with self._one_at_a_time:
            self._check_controller(controller_epoch)
            return await self._take_roles(states)

    def lacks_log(self, topic_partition: TopicPartition) -> bool:
        """Whether the log has to be created before this broker can lead or follow."""
        return self._logs.get(topic_partition) is None and not self._partitions.is_offline(topic_partition)

    async def retry_for_space(self) -> None:
        """Take the roles that waited for disk space, as far as there is space now."""
        await self.full_directories.look_for_space()
        if self._wanting_space or self._epochs_unwritten:
            async with self._one_at_a_time:
                await self._take_roles(list(self._wanting_space.values()))
                for hosted in list(self._epochs_unwritten.values()):
                    await self._write_epochs(hosted)

    async def _write_epochs(self, hosted: HostedPartition) -> None:
        """Write the leader epochs for which there was no space; their partitions then accept appends."""
        topic_partition = hosted.topic_partition
        if self._partitions.get(topic_partition) is hosted:
            try:
                await hosted.run(lambda log: log.write_epochs())
            except NoSpaceError:
                return
            except KafkaError as error:
                logger.warning("%s: its leader epochs are not written: %s", topic_partition, error)
        self._epochs_unwritten.pop(topic_partition, None)

    async def _take_roles(self, states: Sequence[PartitionState]) -> dict[TopicPartition, ErrorCode]:
        codes = await asyncio.gather(*(self._take_role(state) for state in states))
        elected: list[Leadership] = []
        following: list[Leadership] = []
        for state, (code, is_new) in zip(states, codes, strict=True):
            if code is ErrorCode.NONE and is_new:
                change = Leadership(state.topic_partition, state.leader_epoch)
                (elected if state.leader == self._broker_id else following).append(change)
        _log_roles("leading", elected)
        _log_roles("following", following)
        if self._fetchers is not None:
            self._fetchers.end_idle()
        return {state.topic_partition: code for state, (code, _) in zip(states, codes, strict=True)}

    def _check_controller(self, controller_epoch: int) -> None:
        if controller_epoch < self.controller_epoch:
            raise ControllerMovedError(
                f"the order is of controller epoch {controller_epoch}, the latest known is {self.controller_epoch}"
            )
        self.controller_epoch = controller_epoch

    async def _take_role(self, state: PartitionState) -> tuple[ErrorCode, bool]:
        """Returns the code, and whether the leader epoch was new."""
        waited = self._wanting_space.pop(state.topic_partition, None)
        makes_way = self.full_directories.makes_way(state.topic_partition, state.isr)
        self.full_directories.answered(state.topic_partition, makes_way=makes_way)
        try:
            if makes_way:
                await self._make_way(state)
                return ErrorCode.KAFKA_STORAGE_ERROR, False
            hosted = await self._host(state)
            if hosted is None:
                return ErrorCode.NONE, False
            hosted.partition.controller_epoch = self.controller_epoch
            if state.leader == self._broker_id:
                with hosted.hold_appends():
                    await self._lead(hosted, state)
            else:
                await self._follow(hosted, state)
        except NoSpaceError as error:
            if self.full_directories.others_in(state.isr):
                self.full_directories.answered(state.topic_partition, makes_way=True)
                return ErrorCode.KAFKA_STORAGE_ERROR, False
            self._wanting_space[state.topic_partition] = state
            if waited is not state:
                logger.error(
                    "%s: leader epoch %d waits for space: %s", state.topic_partition, state.leader_epoch, error
                )
            return ErrorCode.LEADER_NOT_AVAILABLE, False
        except KafkaError as error:
            logger.warning("%s: cannot take leader epoch %d: %s", state.topic_partition, state.leader_epoch, error)
            return error.code, False
        return ErrorCode.NONE, True

    async def _make_way(self, state: PartitionState) -> None:
        """Give up the role in a full log directory, if the controller has given it a new one. Raises KafkaError."""
        hosted = await self._host(state)
        if hosted is None:
            return  # the controller stops the replica when it has elected another leader
        partition = hosted.partition
        partition.controller_epoch = self.controller_epoch
        self._unfollow(hosted.topic_partition)
        partition.become_follower(state)
        partition.resign()
        self._partitions.wakeups.leadership_lost(hosted)
        self._tell([], [Leadership(hosted.topic_partition, state.leader_epoch)])
        await hosted.run(lambda log: log.fence(state.leader_epoch))

    async def _host(self, state: PartitionState) -> HostedPartition | None:
        """The partition with its log, opened or created; None when ``state`` brings nothing new. Raises KafkaError."""
        topic_partition = state.topic_partition
        if self._partitions.is_offline(topic_partition):
            raise KafkaStorageError("its log directory is offline")
        hosted = self._partitions.get(topic_partition)
        if hosted is not None:
            if not _agree(state.topic_id, hosted.log.topic_id):
                raise InconsistentTopicIdError(f"it has topic id {hosted.log.topic_id}, not {state.topic_id}")
            known_epoch = hosted.partition.leader_epoch
            if state.leader_epoch < known_epoch:
                raise ControllerMovedError(
                    f"LeaderAndIsr has leader epoch {state.leader_epoch}, this broker knows {known_epoch}"
                )
            is_stopped = hosted.partition.role is None and state.leader != self._broker_id
            if state.leader_epoch == known_epoch and not is_stopped:
                if state.leader == self._broker_id:
                    self._partitions.suspension.resume([hosted])
                if hosted.log.topic_id is None and state.topic_id is not None:
                    await self._open_log(state)  # the controller got topic ids by an upgrade, without an election
                    hosted.partition.topic_id = hosted.log.topic_id
                    if self._fetchers is not None:
                        self._fetchers.topic_id_assigned(topic_partition)
                return None
        if self._broker_id not in state.replicas:
            raise UnknownTopicOrPartitionError(f"broker {self._broker_id} is not in {state.replicas}")
        if hosted is not None:
            return hosted
        return self._new_hosted(state, await self._open_log(state))

    async def _open_log(self, state: PartitionState) -> Log:
        """The log, created if necessary, with its topic id."""
        try:
            log: Log = await self._run_in_pool(
                lambda: self._logs.get_or_create(state.topic_partition, state.is_new, state.topic_id)
            )
        except ValueError as error:  # the log on disk belongs to an earlier topic of that name
            raise InconsistentTopicIdError(str(error)) from error
        return log

    def _new_hosted(self, state: PartitionState, log: Log) -> HostedPartition:
        topic_partition = state.topic_partition
        strand = self._logs.strand(topic_partition)
        if strand is None:  # the directory failed meanwhile
            raise KafkaStorageError("its log directory is offline")
        partition = Partition(
            topic_partition, self._broker_id, replica_lag_time_max_ms=self._lag_max_ms, is_alive=self._is_alive
        )
        settings = self._topic_settings(topic_partition.topic)
        partition.attach_log(log, self._checkpointed.get(topic_partition, 0), settings.int("min.insync.replicas"))
        hosted = HostedPartition(partition, log, strand)
        self._apply_settings(hosted)
        self._partitions.host(hosted)
        return hosted

    async def _lead(self, hosted: HostedPartition, state: PartitionState) -> None:
        leader_epoch = state.leader_epoch

        def begin(log: Log) -> int:
            # Successive elections may leave followers with epochs later than any record here: noting the start of
            # ours, even without a record, lets them find out where to cut. On a full disk it is noted in memory: the
            # log takes no record before it is written, so that a crash loses nothing by which replicas could differ.
            log.fence(leader_epoch)
            try:
                log.assign_epoch_start(leader_epoch)
            except NoSpaceError as error:
                logger.error("%s: leading, but no appends are taken yet: %s", hosted.topic_partition, error)
            return log.log_end_offset

        self._unfollow(hosted.topic_partition)
        epoch_start_offset: int = await hosted.run(begin)
        partition = hosted.partition
        if self._partitions.get(hosted.topic_partition) is not hosted:
            raise KafkaStorageError("its log directory failed meanwhile")
        # Again: an abandoned order to follow starts its fetcher when its fence runs, before ours.
        self._unfollow(hosted.topic_partition)
        if not hosted.log.are_epochs_written:
            self._epochs_unwritten[hosted.topic_partition] = hosted
        partition.become_leader(state, epoch_start_offset, self._partitions.monotonic_ms())
        logger.debug(
            "%s: leader in leader epoch %d from offset %d, partition epoch %d, HW %d, ISR %s",
            hosted.topic_partition,
            leader_epoch,
            epoch_start_offset,
            state.partition_epoch,
            partition.high_watermark,
            state.isr,
        )
        self._partitions.wakeups.high_watermark_moved(hosted)
        self._partitions.wakeups.leadership_changed(hosted)
        if partition.is_leader:
            self._tell([Leadership(hosted.topic_partition, leader_epoch)], [])

    async def _follow(self, hosted: HostedPartition, state: PartitionState) -> None:
        self._unfollow(hosted.topic_partition)
        hosted.partition.become_follower(state)
        logger.debug(
            "%s: follower of %d in leader epoch %d, partition epoch %d, LEO %d, HW %d",
            hosted.topic_partition,
            state.leader,
            state.leader_epoch,
            state.partition_epoch,
            hosted.log.log_end_offset,
            hosted.partition.high_watermark,
        )
        self._partitions.wakeups.leadership_lost(hosted)
        if not hosted.partition.is_leader:
            self._tell([], [Leadership(hosted.topic_partition, state.leader_epoch)])
        fenced: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def begin_to_fetch(outcome: Exception | None) -> None:
            # Also when nobody awaits the order any more: a controller on this broker resigns, and under the same epoch
            # the next one brings nothing new.
            try:
                if not isinstance(outcome, Exception):
                    self._fetch(hosted, state)
            except Exception as error:  # a bug: the order ends, and the next ones run
                outcome = error
                raise
            finally:
                settle(fenced, outcome)

        # Not before: by then records of an earlier leader, or of this broker's leadership, are in the log or refused.
        hosted.strand.submit(lambda log: log.fence(state.leader_epoch), begin_to_fetch)
        await fenced

    def _fetch(self, hosted: HostedPartition, state: PartitionState) -> None:
        """Start the fetcher, unless there was another order since."""
        partition = hosted.partition
        is_in_force = partition.leader_epoch == state.leader_epoch and partition.leader_id == state.leader
        is_here = self._partitions.get(hosted.topic_partition) is hosted
        if is_here and is_in_force and state.leader != NO_LEADER and self._fetchers is not None:
            self._fetchers.follow(hosted, state.leader)

    def _unfollow(self, topic_partition: TopicPartition) -> None:
        if self._fetchers is not None:
            self._fetchers.unfollow(topic_partition)

    # -- StopReplica --------------------------------------------------------------------------------------------------

    async def stop_replicas(
        self, stops: Sequence[ReplicaStop], controller_epoch: int
    ) -> dict[TopicPartition, ErrorCode]:
        """Stop replicas, and delete the logs of those whose ``delete`` is set; a code for each.

        Raises ControllerMovedError as above.
        """
        async with self._one_at_a_time:
            self._check_controller(controller_epoch)
            outcomes = await asyncio.gather(*(self._stop(stop) for stop in stops))
            if self._fetchers is not None:
                self._fetchers.end_idle()
            return {stop.topic_partition: code for stop, code in zip(stops, outcomes, strict=True)}

    async def _stop(self, stop: ReplicaStop) -> ErrorCode:
        topic_partition = stop.topic_partition
        try:
            self._resign(stop)
            if stop.delete:
                # Also when nothing is hosted: the topic may have been deleted while this broker was down.
                await self._delete_log(topic_partition)
        except KafkaError as error:
            logger.warning("%s: not stopped: %s", topic_partition, error)
            return error.code
        return ErrorCode.NONE

    async def _delete_log(self, topic_partition: TopicPartition) -> None:
        """Returns when the log's directory has been renamed, so that a new log can be created under its name."""
        renamed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._checkpointed.pop(topic_partition, None)
        self._logs.deletion.delete_log(topic_partition, partial(settle, renamed))
        await renamed

    def _resign(self, stop: ReplicaStop) -> None:
        topic_partition = stop.topic_partition
        if self._partitions.is_offline(topic_partition):
            raise KafkaStorageError("its log directory is offline")
        self._wanting_space.pop(topic_partition, None)
        if stop.delete:
            self.full_directories.forget(topic_partition)
        hosted = self._partitions.get(topic_partition)
        if hosted is not None:
            known_epoch = hosted.partition.leader_epoch
            if stop.leader_epoch not in (NO_LEADER_EPOCH, EPOCH_DURING_DELETE) and stop.leader_epoch < known_epoch:
                raise FencedLeaderEpochError(
                    f"StopReplica has leader epoch {stop.leader_epoch}, this broker knows {known_epoch}"
                )
            self._unfollow(topic_partition)
            if stop.delete:
                self._partitions.forget(topic_partition)
            else:
                hosted.partition.resign()
                self._partitions.wakeups.leadership_lost(hosted)
            is_topic_deleted = stop.leader_epoch == EPOCH_DURING_DELETE
            epoch = EPOCH_DURING_DELETE if is_topic_deleted else known_epoch
            self._tell([], [Leadership(topic_partition, epoch)])

    # -- the rest -----------------------------------------------------------------------------------------------------

    def directory_failed(self, path: str, topic_partitions: Iterable[TopicPartition]) -> None:
        """A log directory went offline with these partitions (`LogDirectories.on_failure`)."""
        resigned = []
        for topic_partition in topic_partitions:
            hosted = self._partitions.get(topic_partition)
            if hosted is not None and hosted.partition.is_leader:
                resigned.append(Leadership(topic_partition, hosted.partition.leader_epoch))
            self._unfollow(topic_partition)
            self.full_directories.forget(topic_partition)
            self._partitions.mark_offline(topic_partition)
        self._tell([], resigned)

    def topic_settings_changed(self, topic: str) -> None:
        """Apply a topic's new settings. Its logs get theirs by `LogStore.update_topic_config`."""
        for hosted in self._partitions:
            if hosted.topic_partition.topic == topic:
                self._apply_settings(hosted)

    def default_settings_changed(self) -> None:
        """Apply the broker's new settings to topics without their own. Logs get theirs by `LogStore.update_config`."""
        for hosted in self._partitions:
            self._apply_settings(hosted)

    def _apply_settings(self, hosted: HostedPartition) -> None:
        settings = self._topic_settings(hosted.topic_partition.topic)
        hosted.partition.minimum_isr = settings.int("min.insync.replicas")
        hosted.allows_down_conversion = settings.boolean("message.downconversion.enable")
        number = hosted.topic_partition.partition
        throttled = settings.list("leader.replication.throttled.replicas")
        hosted.is_throttled_as_leader = is_named(throttled, number, self._broker_id)
        throttled = settings.list("follower.replication.throttled.replicas")
        hosted.is_throttled_as_follower = is_named(throttled, number, self._broker_id)

    async def checkpoint_high_watermarks(self) -> None:
        """Write the high watermarks; called every replica.high.watermark.checkpoint.interval.ms and at a clean stop."""
        high_watermarks = {hosted.topic_partition: hosted.partition.high_watermark for hosted in self._partitions}
        if high_watermarks:
            await self._run_in_pool(lambda: self._logs.checkpoints.write_high_watermarks(high_watermarks))

    def _suspension_changed(self, changed: Sequence[HostedPartition]) -> None:
        leaderships = [Leadership(hosted.topic_partition, hosted.partition.leader_epoch) for hosted in changed]
        if changed[0].partition.is_leader:
            self._tell(leaderships, [])
        else:
            self._tell([], leaderships)

    def _tell(self, elected: Sequence[Leadership], resigned: Sequence[Leadership]) -> None:
        if elected or resigned:
            for listener in self._listeners:
                listener(elected, resigned)


def _agree(first: UUID | None, second: UUID | None) -> bool:
    """Whether two topic ids can belong to one topic; None agrees with any."""
    return first is None or second is None or not first.int or first == second


def _log_roles(role: str, changes: Sequence[Leadership]) -> None:
    """Log one line for the order, however many partitions it concerns; each has its own line at level debug."""
    if changes:
        named = ", ".join(f"{partition} (leader epoch {epoch})" for partition, epoch in changes[:_NAMED_IN_A_LINE])
        more = f" and {len(changes) - _NAMED_IN_A_LINE} more" if len(changes) > _NAMED_IN_A_LINE else ""
        logger.info("%s %s%s", role, named, more)
