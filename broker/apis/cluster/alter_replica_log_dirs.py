"""AlterReplicaLogDirs (KIP-113): move a replica to another log directory of this broker.

Behaviour, as in Kafka:
- The response comes when the move has begun (`storage/store/log_mover.py`). DescribeLogDirs shows its progress.
- For a partition that this broker does not have, it remembers the directory and creates the log there later. The
  response is an error all the same.

v1 throttling after the response (KIP-219) · v2 flexible.
"""

import logging

from ....base.acls import AclOperation
from ....base.topic_partition import MAX_FILE_NAME_LENGTH, TopicPartition
from ....base.yielding import with_yields
from ....protocol.errors import (
    ErrorCode,
    InvalidTopicError,
    KafkaError,
    KafkaStorageError,
    LogDirNotFoundError,
    NotLeaderOrFollowerError,
)
from ....protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from ....replication.partition_set import PartitionSet
from ....replication.run_in_pool import RunInPool
from ....storage.store.log_store import LogStore
from ...requests.context import RequestContext
from ...requests.partitions_by_topic import partitions_by_topic

__all__ = ["AlterReplicaLogDirs"]

logger = logging.getLogger(__name__)

_FUTURE_SUFFIX_LENGTH = len(".00000000000000000000000000000000-future")
"""During a move the replica's new directory has such a suffix."""


class AlterReplicaLogDirs:
    """Handles AlterReplicaLogDirs requests."""

    def __init__(self, logs: LogStore, partitions: PartitionSet, run_in_pool: RunInPool) -> None:
        self._logs = logs
        self._partitions = partitions
        self._run_in_pool = run_in_pool

    async def __call__(
        self, context: RequestContext, request: AlterReplicaLogDirsRequest
    ) -> AlterReplicaLogDirsResponse:
        context.require_on_cluster(AclOperation.ALTER)
        wanted = {
            TopicPartition(topic.name, index): directory.path
            for directory in request.dirs
            for topic in directory.topics
            for index in topic.partitions
        }
        codes: dict[TopicPartition, ErrorCode] = {}
        refusals = _Refusals()
        async for partition, path in with_yields(wanted.items()):
            codes[partition] = await self._code(partition, path, refusals)
        refusals.log()
        return AlterReplicaLogDirsResponse(
            results=[
                AlterReplicaLogDirTopicResult(
                    topic_name=topic,
                    partitions=[
                        AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
                        for index, code in partitions
                    ],
                )
                for topic, partitions in partitions_by_topic(codes).items()
            ]
        )

    async def _code(self, partition: TopicPartition, path: str, refusals: "_Refusals") -> ErrorCode:
        try:
            self._check(partition, path)
            await self._run_in_pool(lambda: self._logs.moves.begin(partition, path))
        except NotLeaderOrFollowerError:
            return ErrorCode.REPLICA_NOT_AVAILABLE
        except KafkaError as error:
            refusals.note(partition, path, error)
            return ErrorCode(error.code)
        return ErrorCode.NONE

    def _check(self, partition: TopicPartition, path: str) -> None:
        """Raises KafkaError unless this broker has the partition and may move it to ``path``, which must be spelled
        as in ``log.dirs``."""
        if len(str(partition)) + _FUTURE_SUFFIX_LENGTH > MAX_FILE_NAME_LENGTH:
            raise InvalidTopicError(
                f"Partition {partition} cannot move: the copy's directory name would be longer than "
                f"{MAX_FILE_NAME_LENGTH} characters"
            )
        directory = next((each for each in self._logs.directories.all if each.path == path), None)
        if directory is None:
            raise LogDirNotFoundError(f"Log directory {path} is not one of this broker's")
        if not directory.is_online:
            raise KafkaStorageError(f"Log directory {path} is offline")
        if self._partitions.get(partition) is None and not self._partitions.is_offline(partition):
            self._logs.creation.prefer_directory(partition, path)
        self._partitions.require(partition)


class _Refusals:
    """The partitions of one request that could not be moved. They are logged in one line."""

    def __init__(self) -> None:
        self._first: tuple[TopicPartition, str, KafkaError] | None = None
        self._count = 0

    def note(self, partition: TopicPartition, path: str, error: KafkaError) -> None:
        self._first = self._first or (partition, path, error)
        self._count += 1

    def log(self) -> None:
        if self._first is not None:
            more = f" (and {self._count - 1} other partitions)" if self._count > 1 else ""
            partition, path, error = self._first
            logger.warning("%s not moved to log directory %s: %s%s", partition, path, error, more)
