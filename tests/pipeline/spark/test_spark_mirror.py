"""Tests of the job `mirror` on real Spark between two real brokers: each record once, with a map of offsets."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from support.clients.produced import KEEPS_OLD_RECORDS, START_MS, Produced, numbered, produce
from support.clients.row_count import RowCount
from support.clients.topics import create_topic, delete_records
from support.processes.broker_process import BrokerProcess
from support.spark.gathered_rows import need_columns
from support.spark.pipeline_job import pipeline_job
from support.spark.spark_rows import found_in, loaded, with_retry

need_columns()

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The target cluster."""
    with BrokerProcess(tmp_path_factory.mktemp("other"), KEEPS_OLD_RECORDS) as broker:
        yield broker.bootstrap_servers


class Mirroring:
    """Mirrors one topic repeatedly."""

    def __init__(self, spark: "SparkSession", source: str, target: str, root: Path) -> None:
        self._spark = spark
        self.source = source
        self.target = target
        self.root = root

    def run(self, topic: str, **options: Any) -> int:
        """Mirrors everything available; returns the number of micro-batches."""
        from pybroker.pipeline.mirror.mirror import Mirror
        from pybroker.pipeline.options.kafka_settings import reader_settings

        given = {"kafka.bootstrap.servers": self.source, "subscribe": topic, "startingOffsets": "earliest"}
        given |= {name: str(value) for name, value in options.items()}
        settings = reader_settings({"bootstrap.servers": self.target})

        def run() -> int:
            mirror = Mirror(self._spark, given, settings, str(self.root), prefix="of.")
            mirror.start(available_now=True).awaitTermination()
            return mirror.batches

        return with_retry(run)

    def found(self, topic: str) -> list[Produced]:
        """Returns the rows at the target, with the name of the source topic."""
        frame = loaded(self._spark.read, self.target, subscribe=f"of.{topic}", includeHeaders="true")
        return [row._replace(topic=topic) for row in found_in(frame)]

    def translated(self, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        from pybroker.pipeline.mirror.offset_map import read_runs, translated

        return translated(read_runs(self._spark, str(self.root / "map")), offsets)


@pytest.fixture
def mirroring(spark: "SparkSession", servers: str, other: str, tmp_path: Path) -> Mirroring:
    return Mirroring(spark, servers, other, tmp_path / "mirror")


def test_mirrored_records_equal_the_source_and_offsets_are_mapped(mirroring: Mirroring, topic: str) -> None:
    """The target has too few partitions; the source has lost its first records."""
    create_topic(mirroring.source, topic, 3)
    create_topic(mirroring.target, f"of.{topic}", 1)
    records = [
        each._replace(headers=(("n", b"%d" % number), ("none", None)) if number % 3 == 0 else ())
        for number, each in enumerate(numbered(topic, [0, 2], 40))
    ]
    records.append(Produced(topic, 2, -1, START_MS, None, None))
    rows = produce(mirroring.source, records)
    delete_records(mirroring.source, topic, 0, before=5)
    left = [row._replace(offset=row.offset - 5) if row.partition == 0 else row for row in rows]
    assert mirroring.run(topic) == 1
    assert mirroring.found(topic) == [row for row in left if row.offset >= 0]
    one, none, two = (TopicPartition(topic, number) for number in range(3))
    assert mirroring.translated({one: 12, two: 99, none: 0}) == {one: 7, two: 21}
    assert mirroring.translated({one: 0}) == {one: 0}


def test_old_micro_batches_of_the_map_are_merged_and_still_translated(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pybroker.pipeline.mirror import map_parts
    from pybroker.pipeline.mirror.offset_map import finished_parts, read_runs, translated, write_runs
    from pybroker.pipeline.mirror.partition_mirror import MappedRun

    monkeypatch.setattr(map_parts, "WIDTH", 3)
    root = str(tmp_path / "map, of all")

    def write(batch_id: int) -> None:
        run = MappedRun("t", 0, 10 * batch_id, 20 * batch_id, 10)
        write_runs(spark, root, batch_id, spark.sparkContext.parallelize([run], 1))

    for batch_id in range(7):
        write(batch_id)
    write(6)
    assert [(part.first, part.last) for part in finished_parts(spark, root)] == [(0, 2), (3, 5), (6, 6)]
    assert len(list(Path(root).iterdir())) == 6, "parts that were merged stay until the next merge"
    found = translated(read_runs(spark, root), {TopicPartition("t", 0): 15})
    assert found == {TopicPartition("t", 0): 25}
    assert read_runs(spark, root).count() == 7
    with pytest.raises(FileExistsError, match="of another checkpoint"):
        write(2)


def test_mirror_continues_after_a_killed_task(servers: str, other: str, topic: str) -> None:
    """Its successor finds the written records, although the source has lost some of them since."""
    from pybroker.client.target_cluster import TargetCluster
    from pybroker.pipeline.appending.sequenced_batches import ProducerIdentity
    from pybroker.pipeline.mirror.partition_mirror import (
        MappedRun,
        MirrorRange,
        MirrorTarget,
        PartitionMirror,
        mirror_range,
    )
    from pybroker.pipeline.options.kafka_settings import reader_settings
    from pybroker.pipeline.options.read_options import stream_options
    from pybroker.pipeline.topics.offset_ranges import OffsetRange
    from pybroker.protocol.records.compression import Codec

    for each in (servers, other):
        create_topic(each, topic, 1)
    rows = produce(servers, numbered(topic, [0], 20))
    at = TopicPartition(topic, 0)
    produce(other, numbered(topic, [0], 2))
    settings = reader_settings({"bootstrap.servers": other})
    with TargetCluster(settings) as cluster:
        identity = ProducerIdentity(cluster.new_producer_id(), 4)
    target = MirrorTarget(settings, Codec.NONE, 150)
    task = MirrorRange(OffsetRange(at, 0, 20), at, 2)
    killed = PartitionMirror(task, target, identity)
    for row in rows[:13]:
        killed.add(row.offset, (row.timestamp, row.key, row.value, row.headers))
    killed._append.wait()
    killed.close()
    there = sum(run.rows for run in killed.runs)
    assert 3 < there < 13
    produce(other, numbered(topic, [0], 3))
    delete_records(servers, topic, 0, before=3)
    source = stream_options({"kafka.bootstrap.servers": servers, "subscribe": topic, "failOnDataLoss": "false"})
    expected = [MappedRun(*at, 3, 5, there - 3), MappedRun(*at, there, there + 5, 20 - there)]
    assert list(mirror_range(task, source, target, identity)) == expected
    assert list(mirror_range(task, source, target, identity)) == expected, "all of it is there"


def test_mirror_refuses_target_topic_with_log_append_time(mirroring: Mirroring, topic: str) -> None:
    create_topic(mirroring.source, topic, 1)
    create_topic(mirroring.target, f"of.{topic}", 1, {"message.timestamp.type": "LogAppendTime"})
    produce(mirroring.source, numbered(topic, [0], 2))
    with pytest.raises(Exception, match=f"of.{topic} has message.timestamp.type=LogAppendTime"):
        mirroring.run(topic)
    assert mirroring.found(topic) == []


def test_mirror_within_a_cluster_is_refused_if_it_would_copy_its_copies(
    spark: "SparkSession", servers: str, topic: str, tmp_path: Path
) -> None:
    from pybroker.pipeline.mirror.mirror import Mirror
    from pybroker.pipeline.mirror.topic_rules import MirrorError
    from pybroker.pipeline.options.kafka_settings import reader_settings

    def mirror(prefix: str, **subscription: str) -> Mirror:
        source = {"kafka.bootstrap.servers": servers, **subscription}
        return Mirror(spark, source, reader_settings({"bootstrap.servers": servers}), str(tmp_path), prefix=prefix)

    with pytest.raises(MirrorError, match="source and target are the same cluster: set a prefix"):
        mirror("", subscribe="t").start(available_now=True)
    create_topic(servers, topic, 1)
    with pytest.raises(MirrorError, match=f"the mirror reads of.{topic}, its copy of {topic}:"):
        mirror("of.", subscribePattern=topic).start(available_now=True)
    mirror("of.", subscribePattern=f"^{topic}$")._check_clusters()


ROWS_TO_KILL_AT = 160
ROWS_A_BATCH = 80
RUNS_WHEN_LONG = 3


def mirror_through_kills(spark: "SparkSession", directory: Path, rounds: int, seed: int) -> None:
    """Each round kills both brokers, then a task's process, then the driver; the last run finishes the rest."""
    from pybroker.pipeline.jobs.mirror_command import mirror_job, parser, target_settings

    chance = random.Random(seed)
    with (
        BrokerProcess(directory / "source", KEEPS_OLD_RECORDS) as source,
        BrokerProcess(directory / "target", KEEPS_OLD_RECORDS) as target,
        ExitStack() as of_end,
    ):
        create_topic(source.bootstrap_servers, "t", 2)
        create_topic(target.bootstrap_servers, "of.t", 2)
        expected: list[Produced] = []
        killed: Counter[str] = Counter(dict.fromkeys(("broker", "task", "driver"), 0))
        rows = of_end.enter_context(closing(RowCount(target.bootstrap_servers, "of.t", 2)))
        arguments = ["--source", source.bootstrap_servers, "--target", target.bootstrap_servers]
        arguments += ["--topics", "t", "--prefix", "of.", "--checkpoint", str(directory / "mirror")]
        arguments += ["--available-now", "--max-records", str(ROWS_A_BATCH)]
        for _ in range(rounds):
            expected += produce(source.bootstrap_servers, numbered("t", [0, 1], ROWS_TO_KILL_AT, first=len(expected)))
            with pipeline_job(directory / "said", "mirror", *arguments) as job:
                job.await_that(rows.more(1), "rows")
                for broker in (target, source):
                    killed["broker"] += not job.has_ended
                    broker.kill()
                    broker.start()
                killed["task"] += job.kill_a_worker()
                job.await_that(rows.more(chance.randint(1, ROWS_A_BATCH)), "rows after all that")
                killed["driver"] += not job.has_ended
        options = parser().parse_args(arguments)
        assert with_retry(lambda: mirror_job(spark, target_settings(options), options)) == 0
        mirroring = Mirroring(spark, source.bootstrap_servers, target.bootstrap_servers, directory / "mirror")
        assert mirroring.found("t") == sorted(expected, key=lambda row: (row.partition, row.offset))
        ends = {TopicPartition("t", number): ROWS_TO_KILL_AT // 2 * rounds for number in range(2)}
        assert mirroring.translated(ends) == ends
        assert all(killed.values()), f"while the job was at work: {killed}"


def test_each_record_is_mirrored_once_after_kills_of_brokers_task_and_driver(
    spark: "SparkSession", tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mirror_through_kills(spark, tmp_path, 1, seed=1)
    assert "done: " in capfd.readouterr().err


@pytest.mark.long
def test_each_record_is_mirrored_once_after_many_kills(
    spark: "SparkSession", tmp_path: Path, kill_rounds: int, kill_seed: int
) -> None:
    rounds = -(-kill_rounds // RUNS_WHEN_LONG)
    for seed in range(kill_seed, kill_seed + RUNS_WHEN_LONG):
        mirror_through_kills(spark, tmp_path / str(seed), rounds, seed)
