"""DescribeLogDirs (KIP-113): the log directories of this broker, their space, and the replicas in them.

v1 throttling after the response (KIP-219) · v2 flexible · v3 an error code for the whole request · v4 total and usable
bytes (KIP-827).
"""

from collections.abc import Collection

from ....base.acls import AclOperation
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ....protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from ....replication.partition_set import PartitionSet
from ....replication.run_in_pool import RunInPool
from ....storage.log.log import Log
from ....storage.store.log_directory import LogDirectory
from ....storage.store.log_store import LogStore
from ...requests.context import RequestContext
from ...requests.partitions_by_topic import partitions_by_topic

__all__ = ["DescribeLogDirs"]

_UNKNOWN_LAG = -1


class DescribeLogDirs:
    """Handles DescribeLogDirs requests."""

    def __init__(self, logs: LogStore, partitions: PartitionSet, run_in_pool: RunInPool) -> None:
        self._logs = logs
        self._partitions = partitions
        self._run_in_pool = run_in_pool

    async def __call__(self, context: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        context.require_on_cluster(AclOperation.DESCRIBE)
        wanted = None
        if request.topics is not None:
            wanted = {TopicPartition(each.topic, index) for each in request.topics for index in each.partitions}
        # A call to the file system may block.
        results = await self._run_in_pool(lambda: [self._directory(each) for each in self._logs.directories.all])
        for directory, result in zip(self._logs.directories.all, results, strict=True):
            if result.error_code == ErrorCode.NONE:
                result.topics = self._topics(directory, wanted)
        return DescribeLogDirsResponse(results=results)

    def _directory(self, directory: LogDirectory) -> DescribeLogDirsResult:
        """Runs in a worker thread. Of a failed directory the result has the path and an error only."""
        result = DescribeLogDirsResult(log_dir=directory.path)
        if not directory.is_online:
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            return result
        try:
            space = self._logs.files.disk_space(directory.path)
        except OSError:
            result.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
            return result
        result.total_bytes, result.usable_bytes = space
        return result

    def _topics(self, directory: LogDirectory, wanted: Collection[TopicPartition] | None) -> list[DescribeLogDirsTopic]:
        logs = {
            log.topic_partition: self._partition(log)
            for log in self._logs.logs_in(directory)
            if wanted is None or log.topic_partition in wanted
        }
        for move in self._logs.moves_to(directory):
            if wanted is None or move.topic_partition in wanted:
                logs[move.topic_partition] = DescribeLogDirsPartition(
                    partition_index=move.topic_partition.partition,
                    partition_size=move.future.size_bytes,
                    offset_lag=move.lag,
                    is_future_key=True,
                )
        return [
            DescribeLogDirsTopic(name=topic, partitions=[described for _, described in partitions])
            for topic, partitions in partitions_by_topic(logs).items()
        ]

    def _partition(self, log: Log) -> DescribeLogDirsPartition:
        hosted = self._partitions.get(log.topic_partition)
        lag = _UNKNOWN_LAG
        if hosted is not None:
            lag = max(0, hosted.partition.high_watermark - log.log_end_offset)
        return DescribeLogDirsPartition(
            partition_index=log.topic_partition.partition, partition_size=log.size_bytes, offset_lag=lag
        )
