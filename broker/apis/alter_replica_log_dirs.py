"""AlterReplicaLogDirs: move a replica to another log directory of this broker (KIP-113).

Moving is not built: where Kafka would begin to move, the answer is UNSUPPORTED_VERSION. A partition that is where it is
wanted is fine, and what Kafka refuses is refused with its codes. Nor is a directory remembered for a partition that is
yet to come; Kafka does so, and answers with an error all the same.

v1 throttling happens after the response (KIP-219) · v2 flexible.
"""

import logging

from ...protocol.errors import (
    ErrorCode,
    InvalidTopicError,
    KafkaError,
    KafkaStorageError,
    LogDirNotFoundError,
    NotLeaderOrFollowerError,
    UnsupportedVersionError,
)
from ...protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from ...replication.partition_set import PartitionSet
from ...storage.log_store import LogStore
from ...storage.topic_partition import TopicPartition
from .context import RequestContext
from .partitions_by_topic import partitions_by_topic

__all__ = ["AlterReplicaLogDirs"]

logger = logging.getLogger(__name__)

_MAX_NAME_LENGTH = 255
_FUTURE_SUFFIX_LENGTH = len(".00000000000000000000000000000000-future")
"""While it is moved, a replica is in a directory of such a name."""


class AlterReplicaLogDirs:
    """Handler."""

    def __init__(self, logs: LogStore, partitions: PartitionSet) -> None:
        self._logs = logs
        self._partitions = partitions

    def __call__(self, context: RequestContext, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
        """At once."""
        wanted = {
            TopicPartition(topic.name, index): directory.path
            for directory in request.dirs
            for topic in directory.topics
            for index in topic.partitions
        }
        codes = {partition: self._code(partition, path) for partition, path in wanted.items()}
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

    def _code(self, partition: TopicPartition, path: str) -> ErrorCode:
        try:
            self._check(partition, path)
        except NotLeaderOrFollowerError:
            return ErrorCode.REPLICA_NOT_AVAILABLE
        except KafkaError as error:
            logger.warning("%s is not moved to log directory %s: %s", partition, path, error)
            return ErrorCode(error.code)
        return ErrorCode.NONE

    def _check(self, partition: TopicPartition, path: str) -> None:
        """Raise unless the partition is in the log directory ``path``, which must be named as the broker names it."""
        if len(str(partition)) + _FUTURE_SUFFIX_LENGTH > _MAX_NAME_LENGTH:
            raise InvalidTopicError("The topic name is too long.")
        directory = next((each for each in self._logs.directories.all if each.path == path), None)
        if directory is None:
            raise LogDirNotFoundError(f"Log directory {path} is not one of this broker's")
        if not directory.is_online:
            raise KafkaStorageError(f"Log directory {path} is offline")
        self._partitions.require(partition)
        if self._logs.directory_of(partition) != path:
            raise UnsupportedVersionError("Moving replicas between log directories is not supported by this broker.")
