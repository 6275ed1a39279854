"""DescribeLogDirs and AlterReplicaLogDirs over real directories."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.base.yielding import ITEMS_BETWEEN_YIELDS
from pybroker.broker.apis.cluster.alter_replica_log_dirs import AlterReplicaLogDirs
from pybroker.broker.apis.cluster.describe_log_dirs import DescribeLogDirs
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pybroker.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from pybroker.storage.files.files import DiskSpace, Files
from support.in_process.group_handlers import call, versions
from support.in_process.replicas import TOPIC, TP, Replicas, batch_of, fetch_from, values_in
from support.time.loop_turns import turns_during

OTHER = TopicPartition("other", 0)
ELSEWHERE = TopicPartition("elsewhere", 0)


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    """Two log directories with a partition in each."""
    replicas = Replicas(tmp_path, log_dirs=[tmp_path / "a", tmp_path / "b"])
    await replicas.order(TP)
    await replicas.order(OTHER, topic_id=None)
    replicas.known.add(ELSEWHERE)
    yield replicas
    replicas.close()


# -- DescribeLogDirs


async def describe(
    replicas: Replicas, topics: dict[str, list[int]] | None, version: int = 4
) -> list[DescribeLogDirsResult]:
    asked = None
    if topics is not None:
        asked = [DescribableLogDirTopic(topic=topic, partitions=indexes) for topic, indexes in topics.items()]
    handler = DescribeLogDirs(replicas.logs, replicas.partitions, replicas.run_in_pool)
    response: DescribeLogDirsResponse = await call(handler, version, DescribeLogDirsRequest(topics=asked))
    assert response.error_code == ErrorCode.NONE
    return response.results


def contents(result: DescribeLogDirsResult) -> list[tuple[str, int, int, int]]:
    """Topic, partition, size and lag of each replica in a directory."""
    return [
        (topic.name, partition.partition_index, partition.partition_size, partition.offset_lag)
        for topic in result.topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_LOG_DIRS))
async def test_every_version_describes_directories_with_their_replicas_and_sizes(
    replicas: Replicas, tmp_path: Path, version: int
) -> None:
    records = batch_of(b"some", b"values")
    replicas.append(records)
    first, second = await describe(replicas, None, version)
    assert [first.log_dir, second.log_dir] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert (contents(first), contents(second)) == ([(TOPIC, 0, len(records), 0)], [("other", 0, 0, 0)])
    for result in (first, second):
        assert result.error_code == ErrorCode.NONE
        assert (result.total_bytes >= result.usable_bytes > 0) if version >= 4 else (result.total_bytes == -1)


async def test_describe_log_dirs_describes_the_requested_partitions_only(replicas: Replicas) -> None:
    first, second = await describe(replicas, {"other": [0, 9], "nowhere": [0]})
    assert (contents(first), contents(second)) == ([], [("other", 0, 0, 0)])
    assert [contents(result) for result in await describe(replicas, {})] == [[], []]


async def test_the_lag_of_a_log_without_a_role_is_unknown(replicas: Replicas) -> None:
    replicas.logs.get_or_create(TopicPartition("stray", 0), True)
    found = {entry[0]: entry[3] for result in await describe(replicas, None) for entry in contents(result)}
    assert found == {TOPIC: 0, "other": 0, "stray": -1}


async def test_a_failed_directory_is_described_with_an_error_alone(replicas: Replicas) -> None:
    replicas.logs.directories.failed(replicas.logs.directories.all[0], "gone", OSError("gone"))
    first, second = await describe(replicas, None)
    assert (first.error_code, first.total_bytes, first.usable_bytes) == (ErrorCode.KAFKA_STORAGE_ERROR, -1, -1)
    assert contents(first) == []
    assert (second.error_code, contents(second)) == (ErrorCode.NONE, [("other", 0, 0, 0)])


class UnmeasurableFiles(Files):
    def disk_space(self, path: str) -> DiskSpace:
        raise OSError("no such file system")


async def test_a_file_system_that_cannot_be_measured_is_an_error_of_its_directory(replicas: Replicas) -> None:
    replicas.logs.files = UnmeasurableFiles()
    assert [(result.error_code, result.topics) for result in await describe(replicas, None)] == [
        (ErrorCode.UNKNOWN_SERVER_ERROR, [])
    ] * 2


# -- AlterReplicaLogDirs


async def move(
    replicas: Replicas, path: Path | str, *partitions: TopicPartition, version: int = 2
) -> dict[TopicPartition, ErrorCode]:
    topics = [AlterReplicaLogDirTopic(name=topic, partitions=[index]) for topic, index in partitions]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(path), topics=topics)])
    response = await call(
        AlterReplicaLogDirs(replicas.logs, replicas.partitions, replicas.run_in_pool), version, request
    )
    return {
        TopicPartition(topic.topic_name, partition.partition_index): ErrorCode(partition.error_code)
        for topic in response.results
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", versions(ApiKey.ALTER_REPLICA_LOG_DIRS))
async def test_moving_a_partition_to_its_own_directory_succeeds(
    replicas: Replicas, tmp_path: Path, version: int
) -> None:
    assert await move(replicas, tmp_path / "a", TP, version=version) == {TP: ErrorCode.NONE}


async def test_a_partition_is_moved_with_all_its_records(replicas: Replicas, tmp_path: Path) -> None:
    replicas.append(batch_of(b"some", b"values"))
    assert await move(replicas, tmp_path / "b", TP, OTHER) == dict.fromkeys((TP, OTHER), ErrorCode.NONE)
    assert replicas.logs.directory_of(TP) == str(tmp_path / "b")
    replicas.append(batch_of(b"more"))
    results, _ = replicas.fetch(fetch_from(0))
    assert results is not None
    assert values_in(results[0][1].records) == [b"some", b"values", b"more"]


class NeverRuns:
    """Moves begin and then wait."""

    def submit(self, step: Callable[[], None]) -> None:
        pass

    def later(self, delay_ms: int, callback: Callable[[], None]) -> None:
        pass


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_LOG_DIRS))
async def test_a_move_in_progress_is_described_with_its_lag(replicas: Replicas, tmp_path: Path, version: int) -> None:
    records = batch_of(b"some", b"values")
    replicas.append(records)
    replicas.logs.moves.start(NeverRuns())
    assert await move(replicas, tmp_path / "b", TP) == {TP: ErrorCode.NONE}
    first, second = await describe(replicas, {TOPIC: [0]}, version)
    assert (contents(first), contents(second)) == ([(TOPIC, 0, len(records), 0)], [(TOPIC, 0, 0, 2)])
    assert [result.topics[0].partitions[0].is_future_key for result in (first, second)] == [False, True]


async def test_the_directory_of_a_partition_that_is_not_here_yet_is_remembered(
    replicas: Replicas, tmp_path: Path
) -> None:
    new = TopicPartition("new", 0)
    for path in ("b", "a"):  # the last request counts; the directories are equally full
        assert await move(replicas, tmp_path / path, new) == {new: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    replicas.logs.get_or_create(TopicPartition("filler", 0), is_new=True)
    assert replicas.logs.directory_of(TopicPartition("filler", 0)) == str(tmp_path / "a")
    await replicas.order(new, topic_id=None)
    assert replicas.logs.directory_of(new) == str(tmp_path / "a")


@pytest.mark.parametrize("path", ["/nowhere", "", "a", "{directory}/a/"])
async def test_a_directory_must_be_spelled_as_in_log_dirs(replicas: Replicas, tmp_path: Path, path: str) -> None:
    named = path.format(directory=tmp_path)
    unknown = TopicPartition("nowhere", 0)
    assert await move(replicas, named, TP, unknown) == dict.fromkeys((TP, unknown), ErrorCode.LOG_DIR_NOT_FOUND)


async def test_alter_replica_log_dirs_refuses_long_names_and_missing_partitions(
    replicas: Replicas, tmp_path: Path
) -> None:
    too_long, unknown = TopicPartition("x" * 215, 0), TopicPartition("nowhere", 0)
    assert await move(replicas, tmp_path / "a", too_long, unknown, ELSEWHERE) == {
        too_long: ErrorCode.INVALID_TOPIC_EXCEPTION,
        unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ELSEWHERE: ErrorCode.REPLICA_NOT_AVAILABLE,
    }


async def test_no_partition_moves_to_or_from_a_failed_directory(replicas: Replicas, tmp_path: Path) -> None:
    replicas.logs.directories.failed(replicas.logs.directories.all[0], "gone", OSError("gone"))
    storage_error = ErrorCode.KAFKA_STORAGE_ERROR
    assert await move(replicas, tmp_path / "a", OTHER) == {OTHER: storage_error}
    assert await move(replicas, tmp_path / "b", TP) == {TP: storage_error}


async def test_very_many_refused_moves_leave_the_event_loop_free_and_are_logged_in_one_line(
    replicas: Replicas, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wishes = [TopicPartition("unknown", number) for number in range(10 * ITEMS_BETWEEN_YIELDS)]
    assert await turns_during(move(replicas, tmp_path / "c", *wishes)) > 10
    assert [record.getMessage() for record in caplog.records] == [
        f"unknown-0 not moved to log directory {tmp_path / 'c'}: Log directory {tmp_path / 'c'} is not one of this "
        f"broker's (and {len(wishes) - 1} other partitions)"
    ]
