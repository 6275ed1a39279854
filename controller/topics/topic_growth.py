"""Adds partitions to a topic (CreatePartitions; Kafka's ZkAdminManager.createPartitions).

It checks the request and writes it into the tree; the controller's watch does the rest.
"""

import logging
from collections.abc import Callable, Sequence

from ...base.frozen import frozen
from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from ...protocol.errors import (
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    NotControllerError,
    ReassignmentInProgressError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from ...protocol.replica_assignment import BrokerRack, IncompleteRacksError, assign_replicas
from ..tree.cluster_tree import ClusterTree
from ..tree.metadata_store import BadVersionError, Check, NoNodeError, Operation, SetData
from ..tree.replica_assignment import ReplicaAssignment
from ..tree.znodes import CONTROLLER_PATH, TopicInfo, topic_path
from .partition_limit import PartitionLimit
from .permit import Permit, permit_all
from .topic_names import check_directory_names, is_internal_topic, is_legal_topic_name

__all__ = ["MorePartitions", "TopicGrowth"]

logger = logging.getLogger(__name__)

_FIXED = {
    CONSUMER_OFFSETS_TOPIC: "groups",
    TRANSACTION_STATE_TOPIC: "transactional ids",
    SHARE_GROUP_STATE_TOPIC: "share partitions",
}
"""The topics that never get more partitions, and what their partitions store."""


@frozen
class MorePartitions:
    """``count``: partitions of the topic in total. ``assignments``: the brokers of each new partition; None: chosen
    here."""

    topic: str
    count: int
    assignments: Sequence[tuple[int, ...]] | None = None


class TopicGrowth:
    """Runs on the controller. ``live_brokers``: the brokers that can get replicas."""

    def __init__(
        self, tree: ClusterTree, live_brokers: Callable[[], list[BrokerRack]], partition_limit: PartitionLimit
    ) -> None:
        self._tree = tree
        self._live_brokers = live_brokers
        self._partition_limit = partition_limit

    async def grow(
        self, request: MorePartitions, *, validate_only: bool = False, beside: int = 0, permit: Permit = permit_all
    ) -> int:
        """Write new partitions into the tree; returns how many. They get leaders a little later.

        The limit on partitions counts ``beside`` further partitions, of other topics in the same request. Raises
        UnknownTopicOrPartitionError, InvalidPartitionsError, InvalidReplicaAssignmentError,
        InvalidReplicationFactorError, ReassignmentInProgressError, PolicyViolationError, NotControllerError.
        """
        while True:
            try:
                return await self._grow(request, validate_only, beside, permit)
            except (BadVersionError, NoNodeError) as error:
                if error.operation_index == 0:
                    raise NotControllerError("The controller has changed.") from error
                # The topic was changed concurrently, perhaps by another growth: repeat the checks.

    async def _grow(self, request: MorePartitions, validate_only: bool, beside: int, permit: Permit) -> int:
        info, version = await self._read(request.topic)
        _check_count(info, request.count)
        if request.topic in _FIXED:
            raise InvalidPartitionsError(
                f"Topic '{request.topic}' cannot get more partitions: {_FIXED[request.topic]} would move to other "
                "partitions without their state."
            )
        added = request.count - len(info.partitions)
        self._partition_limit.check_at_once(added)
        check_directory_names(request.topic, request.count)
        if not is_internal_topic(request.topic):
            self._partition_limit.check(beside + added)
        new = self._new_assignment(info, request)
        if validate_only:
            return added
        permit(added)
        controller = await self._tree.controller()
        if controller is None:
            raise NotControllerError("There is no controller.")
        grown = TopicInfo(info.topic, info.topic_id, {**info.partitions, **new})
        operations: list[Operation] = [
            Check(CONTROLLER_PATH, controller.version),
            SetData(info.path, grown.encode(), version),
        ]
        await self._tree.store.multi(operations)
        logger.info("topic %s: from %d to %d partitions", info.topic, len(info.partitions), request.count)
        return added

    async def _read(self, topic: str) -> tuple[TopicInfo, int]:
        """The topic and the version of its node."""
        if not is_legal_topic_name(topic):
            raise _unknown(topic)
        try:
            data, stat = await self._tree.store.get(topic_path(topic))
        except NoNodeError as error:
            raise _unknown(topic) from error
        info = TopicInfo.decode(topic, data)
        if any(assignment.is_being_reassigned for assignment in info.partitions.values()):
            raise ReassignmentInProgressError(f"A partition reassignment is in progress for the topic '{topic}'.")
        return info, stat.version

    def _new_assignment(self, info: TopicInfo, request: MorePartitions) -> dict[int, ReplicaAssignment]:
        """The replicas of the new partitions only."""
        first_index = len(info.partitions)
        first = info.partitions.get(0)
        if first is None:
            raise UnknownServerError(f"Topic '{info.topic}' has no partition 0.")
        brokers = self._live_brokers()
        if request.assignments is not None:
            _check_assignments(request, first_index, len(first.replicas), {broker.broker_id for broker in brokers})
            return {first_index + i: ReplicaAssignment(replicas) for i, replicas in enumerate(request.assignments)}
        # Continue the pattern of the first partitions.
        behind = [i for i, broker in enumerate(brokers) if broker.broker_id >= first.replicas[0]]
        try:
            assigned = assign_replicas(
                brokers,
                request.count - first_index,
                len(first.replicas),
                _nothing_random,
                start_index=behind[0] if behind else 0,
                first_partition=first_index,
            )
        except IncompleteRacksError as error:
            raise UnknownServerError(str(error)) from error
        return {index: ReplicaAssignment(replicas) for index, replicas in assigned.items()}


def _check_count(info: TopicInfo, count: int) -> None:
    present = len(info.partitions)
    if count < present:
        raise InvalidPartitionsError(
            f"Topic currently has {present} partitions, which is higher than the requested {count}."
        )
    if count == present:
        raise InvalidPartitionsError(f"Topic already has {present} partitions.")


def _check_assignments(request: MorePartitions, first_index: int, replication_factor: int, live: set[int]) -> None:
    assert request.assignments is not None
    unknown = sorted({broker for replicas in request.assignments for broker in replicas} - live)
    if unknown:
        raise InvalidReplicaAssignmentError(f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}.")
    added = request.count - first_index
    if len(request.assignments) != added:
        raise InvalidReplicaAssignmentError(
            f"Increasing the number of partitions by {added} but {len(request.assignments)} assignments provided."
        )
    for index, replicas in enumerate(request.assignments, first_index):
        if not replicas:
            raise InvalidReplicaAssignmentError(f"Cannot have replication factor of 0 for partition id {index}.")
        if len(set(replicas)) != len(replicas):
            raise InvalidReplicaAssignmentError(
                f"Duplicate brokers not allowed in replica assignment: {', '.join(map(str, replicas))}"
                f" for partition id {index}."
            )
    odd = [
        index for index, replicas in enumerate(request.assignments, first_index) if len(replicas) != replication_factor
    ]
    if odd:
        raise InvalidReplicaAssignmentError(
            f"Inconsistent replication factor between partitions: partition 0 has {replication_factor},"
            f" partitions {odd} have another."
        )


def _unknown(topic: str) -> UnknownTopicOrPartitionError:
    return UnknownTopicOrPartitionError(f"The topic '{topic}' does not exist.")


def _nothing_random(below: int) -> int:
    raise AssertionError("a start index needs no random numbers")
