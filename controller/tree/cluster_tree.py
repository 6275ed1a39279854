"""Reads and writes Kafka's nodes on a `MetadataStore` as objects (Kafka's KafkaZkClient).

Writes of the controller take ``epoch_version``, the version of /controller_epoch at its election. They fail with
`AnotherControllerError` when another controller has been elected since.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from ...base.chunks import chunks
from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from . import znodes
from .config_tree import ConfigTree, ControllerNode, all_found
from .leader_and_isr import LeaderAndIsr, PartitionLeadership
from .metadata_store import (
    ANY_VERSION,
    BadVersionError,
    Check,
    ConnectionLossError,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    Operation,
    SetData,
    SetDataResult,
    Stat,
    Watch,
    ensure,
)
from .replica_assignment import ReplicaAssignment
from .znodes import BrokerInfo, ConfigEntity, ControllerInfo, TopicInfo, ZnodeDecodeError

__all__ = ["AnotherControllerError", "ClusterTree", "ControllerNode", "WonElection"]

logger = logging.getLogger(__name__)

Key = TypeVar("Key")

Item = TypeVar("Item")

OPERATIONS_PER_MULTI = 500
"""Keeps a multi well below ZooKeeper's limit of 1 MiB a request (``jute.maxbuffer``)."""
PARTITIONS_PER_MULTI = 200
"""Each takes two operations, and one more for its topic."""


class AnotherControllerError(Exception):
    """Another broker was elected controller; this broker must stop acting as controller."""


@frozen
class WonElection:
    """A won election: the controller epoch, and the version of its node."""

    epoch: int
    epoch_version: int


class ClusterTree(ConfigTree):
    """All methods may raise `MetadataStoreError`, readers `ZnodeDecodeError` too."""

    # -- persistent nodes

    async def create_persistent_paths(self) -> None:
        """Create the nodes that must exist at the start of a broker; retries after a lost connection."""
        missing: dict[str, None] = {}
        for path in znodes.PERSISTENT_PATHS:
            parts = path.split("/")
            for end in range(2, len(parts) + 1):
                missing["/".join(parts[:end])] = None
        present = await asyncio.gather(*(self.store.exists(path) for path in missing))
        wanted = [path for path, stat in zip(missing, present, strict=True) if stat is None]
        if not wanted:
            return
        try:
            await self.store.multi([Create(path) for path in wanted])
        except (
            NodeExistsError,
            ConnectionLossError,
        ):  # another broker did it, or the outcome is unknown
            for path in wanted:
                await self.ensure(path)

    async def ensure(self, path: str, data: bytes = b"") -> None:
        """Create ``path`` and its parents, unless they exist."""
        await ensure(self.store, path, data)

    # -- brokers

    async def brokers(self, watch: Watch | None = None) -> dict[int, tuple[BrokerInfo, int]]:
        """The registered brokers with their broker epochs. ``watch``: fires when one comes or goes."""
        names = await self.store.children(znodes.BROKER_IDS_PATH, watch)
        broker_ids = sorted(int(name) for name in names if name.isascii() and name.isdigit())
        reads = await all_found({b: self.store.get(znodes.broker_path(b)) for b in broker_ids})
        return _decodable(reads, lambda b, data, stat: (BrokerInfo.decode(b, data), stat.czxid))

    async def broker(self, broker_id: int, watch: Watch | None = None) -> tuple[BrokerInfo, int] | None:
        try:
            data, stat = await self.store.get(znodes.broker_path(broker_id), watch)
        except NoNodeError:
            return None
        return BrokerInfo.decode(broker_id, data), stat.czxid

    # -- the controller's election

    async def elect(self, info: ControllerInfo) -> WonElection:
        """Become controller: create /controller and increase /controller_epoch, in one transaction.

        Raises AnotherControllerError when another broker was faster.
        """
        epoch, version = await self._controller_epoch()
        try:
            _, counted = await self.store.multi(
                [
                    Create(znodes.CONTROLLER_PATH, info.encode(), ephemeral=True),
                    SetData(znodes.CONTROLLER_EPOCH_PATH, znodes.encode_number(epoch + 1), version),
                ]
            )
        except (NodeExistsError, BadVersionError) as error:
            raise AnotherControllerError(f"another broker was elected controller: {error}") from error
        assert isinstance(counted, SetDataResult)
        return WonElection(epoch + 1, counted.stat.version)

    async def resign(self, epoch_version: int) -> None:
        """Delete /controller, if the controller of ``epoch_version`` is still in office."""
        try:
            await self.controller_write([Delete(znodes.CONTROLLER_PATH)], epoch_version)
        except (AnotherControllerError, NoNodeError):
            return

    async def withdraw(self, node: ControllerNode) -> None:
        """Delete a leftover /controller of this broker."""
        try:
            await self.store.delete(znodes.CONTROLLER_PATH, node.version)
        except (NoNodeError, BadVersionError):
            return

    async def _controller_epoch(self) -> tuple[int, int]:
        try:
            data, stat = await self.store.get(znodes.CONTROLLER_EPOCH_PATH)
        except NoNodeError:
            await self.ensure(znodes.CONTROLLER_EPOCH_PATH, znodes.encode_number(0))
            data, stat = await self.store.get(znodes.CONTROLLER_EPOCH_PATH)
        return znodes.decode_number(znodes.CONTROLLER_EPOCH_PATH, data), stat.version

    # -- topics

    async def topics(self, watch: Watch | None = None) -> list[str]:
        return await self.store.children(znodes.TOPICS_PATH, watch)

    async def topics_version(self) -> int:
        """A number that changes whenever a topic is created or deleted."""
        stat = await self.store.exists(znodes.TOPICS_PATH)
        if stat is None:
            raise NoNodeError(znodes.TOPICS_PATH)
        return stat.cversion

    async def current_topics(self) -> list[str]:
        """`topics`, up to date. A ZooKeeper server may answer reads with old data, but not after a write through it;
        here a write that changes nothing."""
        await self.store.multi([Check(znodes.TOPICS_PATH, ANY_VERSION)])
        return await self.topics()

    async def topic_infos(self, topics: Iterable[str], watch_of: Mapping[str, Watch] | None = None) -> list[TopicInfo]:
        """The existing topics of ``topics``. ``watch_of``: by topic, fires when the topic's node changes."""
        watches = watch_of or {}
        reads = await all_found({t: self.store.get(znodes.topic_path(t), watches.get(t)) for t in topics})
        return list(_decodable(reads, lambda topic, data, _: TopicInfo.decode(topic, data)).values())

    async def topic_exists(self, topic: str) -> bool:
        return await self.store.exists(znodes.topic_path(topic)) is not None

    async def create_topic(self, info: TopicInfo, settings: Mapping[str, str]) -> None:
        """Write a new topic with its settings, in one transaction. The controller's watch then creates its partitions.
        Raises NodeExistsError."""
        config = ConfigEntity("topics", info.topic, settings)
        operations: list[Operation] = []
        # The condition is Kafka's for settings (KafkaZkClient.setOrCreateEntityConfigs), not the version of
        # /controller_epoch that the controller's own writes check: the two nodes cannot be read at once, so the epoch
        # of the controller just read is unknown. Each controller creates /controller with version 0, so the write is
        # refused only if there is no controller. A topic of a controller that was just replaced does no harm: the new
        # controller elects its leaders.
        controller = await self.controller()
        if controller is not None:
            operations.append(Check(znodes.CONTROLLER_PATH, controller.version))
        if await self.store.exists(config.path) is None:
            operations.append(Create(config.path, config.encode()))
        else:  # settings of an earlier topic of this name must not be inherited
            operations.append(SetData(config.path, config.encode()))
        operations.append(Create(info.path, info.encode()))
        await self.store.multi(operations)

    async def set_assignments(self, info: TopicInfo, epoch_version: int | None = None) -> None:
        """Write the partitions of a topic and their replicas; with ``epoch_version`` as a write of the controller."""
        if epoch_version is None:
            await self.store.set(info.path, info.encode())
        else:
            await self.controller_write([SetData(info.path, info.encode())], epoch_version)

    async def set_assignment(
        self, partition: TopicPartition, assignment: ReplicaAssignment, epoch_version: int
    ) -> None:
        """Write the replicas of one partition, as controller. Partitions added meanwhile stay. Raises NoNodeError
        when the topic is gone."""
        while True:
            data, stat = await self.store.get(znodes.topic_path(partition.topic))
            info = TopicInfo.decode(partition.topic, data)
            changed = TopicInfo(info.topic, info.topic_id, {**info.partitions, partition.partition: assignment})
            try:
                await self.controller_write([SetData(info.path, changed.encode(), stat.version)], epoch_version)
            except BadVersionError:
                continue
            return

    async def delete_topic(self, topic: str, epoch_version: int) -> None:
        """Delete all nodes of a topic, its mark for deletion last."""
        base = znodes.topic_path(topic)
        paths = await self._subtree(base)
        config = znodes.config_path("topics", topic)
        for path in (config, znodes.delete_topic_path(topic)):
            if await self.store.exists(path) is not None:
                paths.append(path)
        for chunk in chunks([Delete(path) for path in paths], OPERATIONS_PER_MULTI):
            await self.controller_write(chunk, epoch_version)

    async def _subtree(self, path: str) -> list[str]:
        """All nodes from ``path`` down, children before parents; empty if it does not exist."""
        try:
            names = await self.store.children(path)
        except NoNodeError:
            return []
        below = [await self._subtree(f"{path}/{name}") for name in names]
        return [node for nodes in below for node in nodes] + [path]

    # -- partition states

    async def partition_states(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, PartitionLeadership]:
        """The states of the partitions that have one."""
        return {partition: state for partition, (state, _) in (await self.written_states(partitions)).items()}

    async def written_states(
        self, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, tuple[PartitionLeadership, int]]:
        """`partition_states`, each with the zxid of its write."""
        reads = await all_found({p: self.store.get(znodes.partition_state_path(p)) for p in partitions})
        return _decodable(
            reads, lambda p, data, stat: (znodes.decode_partition_state(p, data, stat.version), stat.mzxid)
        )

    async def create_partition_states(
        self, states: Mapping[TopicPartition, PartitionLeadership], epoch_version: int
    ) -> dict[TopicPartition, PartitionLeadership]:
        """Write the first states of new partitions; returns those written (the others had a state)."""
        created: dict[TopicPartition, PartitionLeadership] = {}
        for chunk in chunks(list(states), PARTITIONS_PER_MULTI):
            operations = await self._missing_parents(chunk)
            operations += [_create_state(partition, states[partition]) for partition in chunk]
            try:
                await self.controller_write(operations, epoch_version)
            except NodeExistsError:
                created.update(await self._create_one_by_one({p: states[p] for p in chunk}, epoch_version))
            else:
                created.update((partition, states[partition]) for partition in chunk)
        return created

    async def _missing_parents(self, partitions: Iterable[TopicPartition]) -> list[Operation]:
        by_topic: dict[str, list[TopicPartition]] = {}
        for partition in partitions:
            by_topic.setdefault(partition.topic, []).append(partition)
        operations: list[Operation] = []
        listings = await all_found({topic: self.store.children(znodes.partitions_path(topic)) for topic in by_topic})
        for topic, topic_partitions in by_topic.items():
            present = set(listings.get(topic, ()))
            if topic not in listings:
                operations.append(Create(znodes.partitions_path(topic)))
            operations += [
                Create(znodes.partition_path(partition))
                for partition in topic_partitions
                if str(partition.partition) not in present
            ]
        return operations

    async def _create_one_by_one(
        self, states: Mapping[TopicPartition, PartitionLeadership], epoch_version: int
    ) -> dict[TopicPartition, PartitionLeadership]:
        created: dict[TopicPartition, PartitionLeadership] = {}
        for partition, state in states.items():
            operations = [*await self._missing_parents([partition]), _create_state(partition, state)]
            try:
                await self.controller_write(operations, epoch_version)
            except NodeExistsError:
                continue
            created[partition] = state
        return created

    async def update_partition_states(
        self, states: Mapping[TopicPartition, LeaderAndIsr], controller_epoch: int, epoch_version: int
    ) -> tuple[dict[TopicPartition, LeaderAndIsr], list[TopicPartition]]:
        """Write states, each only if its partition epoch is still that of the tree.

        Returns the written states, with their new partition epochs, and the partitions that another writer has changed,
        which the caller reads again and retries.
        """
        writes = {
            partition: self.store.multi(
                [
                    Check(znodes.CONTROLLER_EPOCH_PATH, epoch_version),
                    SetData(
                        znodes.partition_state_path(partition),
                        znodes.encode_partition_state(PartitionLeadership(state, controller_epoch)),
                        state.partition_epoch,
                    ),
                ]
            )
            for partition, state in states.items()
        }
        updated: dict[TopicPartition, LeaderAndIsr] = {}
        changed: list[TopicPartition] = []
        # All writes end even if one fails: a lost connection ends all writes under way.
        outcomes = await asyncio.gather(*writes.values(), return_exceptions=True)
        for partition, outcome in zip(writes, outcomes, strict=True):
            match outcome:
                case [_, SetDataResult(stat=stat)]:
                    updated[partition] = states[partition].with_partition_epoch(stat.version)
                case (BadVersionError() | NoNodeError()) as error if error.operation_index == 0:
                    raise AnotherControllerError(str(error)) from error
                case BadVersionError():
                    changed.append(partition)
                case NoNodeError():
                    pass  # the partition was deleted: neither written nor retried
                case BaseException() as error:
                    raise error
        return updated, changed

    # -- topic deletion

    async def topics_to_delete(self, watch: Watch | None = None) -> list[str]:
        return await self.store.children(znodes.DELETE_TOPICS_PATH, watch)

    async def is_marked_for_deletion(self, topic: str) -> bool:
        return await self.store.exists(znodes.delete_topic_path(topic)) is not None

    async def mark_for_deletion(self, topic: str) -> None:
        """Raises NodeExistsError when the topic is already marked."""
        await self.store.create(znodes.delete_topic_path(topic))

    async def unmark_for_deletion(self, topics: Iterable[str], epoch_version: int) -> None:
        for topic in topics:
            try:
                await self.controller_write([Delete(znodes.delete_topic_path(topic))], epoch_version)
            except NoNodeError:
                continue

    # -- notifications, controller's writes

    async def notify_of_log_dir_event(self, broker_id: int) -> None:
        """Notify the controller, which then asks the broker which of its replicas are lost."""
        await self.store.create(znodes.LOG_DIR_EVENT_PREFIX, znodes.encode_log_dir_event(broker_id), sequential=True)

    async def controller_write(self, operations: Sequence[Operation], epoch_version: int) -> None:
        """A transaction of the controller. Raises AnotherControllerError, or the first failed operation's error."""
        try:
            await self.store.multi([Check(znodes.CONTROLLER_EPOCH_PATH, epoch_version), *operations])
        except (BadVersionError, NoNodeError) as error:
            if error.operation_index == 0:
                raise AnotherControllerError(str(error)) from error
            raise


def _decodable(reads: Mapping[Key, tuple[bytes, Stat]], decode: Callable[[Key, bytes, Stat], Item]) -> dict[Key, Item]:
    """The decoded nodes, without those that cannot be decoded: these must not block the controller."""
    decoded: dict[Key, Item] = {}
    for key, (data, stat) in reads.items():
        try:
            decoded[key] = decode(key, data, stat)
        except ZnodeDecodeError as error:
            logger.error("node %s is ignored: %s", error.path, error.reason)
    return decoded


def _create_state(partition: TopicPartition, leadership: PartitionLeadership) -> Create:
    return Create(znodes.partition_state_path(partition), znodes.encode_partition_state(leadership))
